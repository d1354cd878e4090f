// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestTheSlowestTestsAreNamed(t *testing.T) {
	var in strings.Builder
	for i := range 12 {
		fmt.Fprintf(&in, `{"Action":"pass","Package":"p","Test":"Test%d","Elapsed":%d.5}`+"\n", i, (i*7)%12)
	}
	in.WriteString(`{"Action":"pass","Package":"p","Test":"Test1/part","Elapsed":100}` + "\n")
	in.WriteString(`{"Action":"pass","Package":"p","Elapsed":200}` + "\n")
	var out strings.Builder
	if status := run(nil, strings.NewReader(in.String()), &out, &out); status != 0 {
		t.Fatalf("got status %d: %s", status, out.String())
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "slow: ") {
			got = append(got, strings.Join(strings.Fields(line), " "))
		}
	}
	if len(got) != mostSlow || got[0] != "slow: 11.5 s p Test5" || got[9] != "slow: 2.5 s p Test2" {
		t.Errorf("got %q, want the 10 slowest in order, without subtests and packages", got)
	}
}
