// SPDX-License-Identifier: Apache-2.0

package discovery_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tagbus/bus/internal/discovery"
	"tagbus/bus/internal/workqueue"
)

type keptUser struct {
	name    string
	absence discovery.Absence
	since   int
}

// Of those that are absent the ones that left first are forgotten; those that are here, or are
// going, count or not, and stay.
func TestKept(t *testing.T) {
	work := workqueue.New(func(func()) bool { return true })
	users := make(map[string]*keptUser)
	var forgotten []string
	looks := 0
	k := discovery.Kept[*keptUser]{
		Users: users, Work: &work, Most: 2,
		Of: func(u *keptUser) (discovery.Absence, time.Time) {
			looks++
			return u.absence, time.Unix(int64(u.since), 0)
		},
		Forget: func(u *keptUser) int {
			delete(users, u.name)
			forgotten = append(forgotten, u.name)
			return 1
		},
	}
	leave := func(absence discovery.Absence, since ...int) {
		for _, s := range since {
			u := &keptUser{fmt.Sprint(s), absence, s}
			users[u.name] = u
			k.Left()
		}
	}
	users["here"] = &keptUser{"here", discovery.Here, 0}
	leave(discovery.Absent, 5, 3)
	if looks > 0 {
		t.Errorf("looked %d times at so many that all are kept", looks)
	}
	leave(discovery.Absent, 4)
	if want := []string{"3"}; !slices.Equal(forgotten, want) {
		t.Errorf("forgot %q, want %q", forgotten, want)
	}
	leave(discovery.Going, 1)
	if len(forgotten) != 1 || len(users) != 4 {
		t.Errorf("forgot %q, %d are kept; want that one that is going stays", forgotten, len(users))
	}
	users["5"].absence = discovery.Here // it has come back
	leave(discovery.Absent, 6)
	if len(forgotten) != 1 {
		t.Errorf("forgot %q, want none, since one has come back", forgotten)
	}
	leave(discovery.Absent, 2)
	if want := []string{"3", "2"}; !slices.Equal(forgotten, want) {
		t.Errorf("forgot %q, want %q", forgotten, want)
	}
}
