package bus

import (
	"errors"
	"slices"
	"testing"

	"tagbus/bus/directory"
	"tagbus/subscription"
	"tagbus/tags"
)

// entryUser notes what a follower tells it.
type entryUser struct {
	contactUser
	contact contact
	told    *[]string
}

func (u *entryUser) way() *contact { return &u.contact }

func (u *entryUser) take(e directory.Event) { *u.told = append(*u.told, "take "+e.Entry.Name) }

func (u *entryUser) gone() { *u.told = append(*u.told, "gone") }

func TestAFollowerKeepsAUserForEachEntryOfItsRole(t *testing.T) {
	var masks tags.Set
	for i := range tags.Tag(subscription.MaxMasks + 1) {
		masks = masks.Union(tags.Match(i, 0xfff))
	}
	entry := func(name string) directory.Entry {
		return directory.Entry{Instance: "x", Name: name, Role: directory.Receiver, Tags: tags.Of(1)}
	}
	large, foreign := entry("large"), entry("foreign")
	large.Tags, foreign.Role = masks, directory.Publisher
	for _, x := range []struct {
		name   string
		events []directory.Event
		want   []string
		users  int
	}{
		{"appears and changes", []directory.Event{{Kind: directory.Appeared, Entry: entry("a")}, {Kind: directory.Changed, Entry: entry("b")}}, []string{"new", "take a", "take b"}, 1},
		{"goes", []directory.Event{{Kind: directory.Appeared, Entry: entry("a")}, {Kind: directory.Gone, Entry: entry("a")}}, []string{"new", "take a", "gone"}, 1},
		{"goes and was not there", []directory.Event{{Kind: directory.Gone, Entry: entry("a")}}, nil, 0},
		{"another role", []directory.Event{{Kind: directory.Appeared, Entry: foreign}, {Kind: directory.Gone, Entry: foreign}}, nil, 0},
		{"a problem of another role", []directory.Event{{Kind: directory.Problem, Entry: foreign, Err: errors.New("bad")}}, []string{"bad"}, 0},
		{"too large, told once", []directory.Event{{Kind: directory.Appeared, Entry: large}, {Kind: directory.Changed, Entry: large}}, []string{"too large"}, 0},
		{"too large, told once, in spite of a problem with it", []directory.Event{{Kind: directory.Appeared, Entry: large}, {Kind: directory.Problem, Entry: large, Err: errors.New("bad")}, {Kind: directory.Changed, Entry: large}}, []string{"too large", "bad"}, 0},
		{"too large, gone, and there again", []directory.Event{{Kind: directory.Appeared, Entry: large}, {Kind: directory.Gone, Entry: large}, {Kind: directory.Appeared, Entry: large}}, []string{"too large", "too large"}, 0},
		{"too large, then not", []directory.Event{{Kind: directory.Appeared, Entry: large}, {Kind: directory.Changed, Entry: entry("a")}}, []string{"too large", "new", "take a"}, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			var got []string
			f := follower[*entryUser]{role: directory.Receiver, users: make(map[string]*entryUser)}
			f.create = func() *entryUser {
				got = append(got, "new")
				return &entryUser{told: &got}
			}
			f.event = func(e Event) {
				if errors.Is(e.Err, ErrEntryTooLarge) {
					got = append(got, "too large")
				} else {
					got = append(got, e.Err.Error())
				}
			}
			for _, e := range x.events {
				f.follow(e)
			}
			if !slices.Equal(got, x.want) {
				t.Errorf("got %q, want %q", got, x.want)
			}
			n := 0
			for c := range f.contacts {
				n++
				if c != &f.users["x"].contact {
					t.Error("yields another contact than that of the user")
				}
			}
			if n != x.users {
				t.Errorf("%d contacts, want %d", n, x.users)
			}
		})
	}
}
