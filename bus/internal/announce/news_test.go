// SPDX-License-Identifier: Apache-2.0

package announce_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/internal/announce"
)

func TestNews_Text(t *testing.T) {
	addr, why := netip.MustParseAddrPort("10.0.0.1:5"), errors.New("disk\nfull")
	crowded := fmt.Errorf("x: %w", directory.ErrCrowded)
	const second = 1499 * time.Millisecond
	for _, test := range []struct {
		news interface{ Text() string }
		want []string // parts of the text
	}{
		{announce.LeftOut{Has: 70, Named: 64}, []string{"has 70 addresses", "names 64"}},
		{announce.Gone{Addr: addr}, []string{"10.0.0.1:5, which is announced, is not"}},
		{announce.Gone{Addr: addr, Over: true, Lasted: second}, []string{"10.0.0.1:5 is an address of this host again, after 1.499s"}},
		{announce.Failing{Err: why}, []string{"cannot be renewed", "full"}},
		{announce.Failing{Err: why, Over: true, Lasted: second}, []string{"is renewed again, after 1.499s without", "full"}},
		{announce.Failing{Err: why, Unannounced: true}, []string{"is not in the directory yet", "full"}},
		{announce.Failing{Err: why, Unannounced: true, Over: true, Lasted: second}, []string{"is in the directory now, 1.499s late"}},
		{announce.Failing{Err: crowded}, []string{"may not find this one: x"}},
		{announce.Failing{Err: crowded, Over: true, Lasted: second}, []string{"follow the entries of the directory again, after 1.499s"}},
	} {
		got := test.news.Text()
		for _, part := range test.want {
			if !strings.Contains(got, part) || strings.Contains(got, "\n") {
				t.Errorf("got %q, want one line with %q", got, part)
			}
		}
	}
}
