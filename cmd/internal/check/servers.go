// SPDX-License-Identifier: Apache-2.0

package check

import (
	"errors"
	"slices"
	"strings"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
)

// serversDo is what to do about servers of which nothing is listed: they are away, or refuse, and
// the kind of directory says which.
const serversDo = "look whether the servers of --bus run, whether this host reaches them, and what they refuse"

// problemDo is what to do about a problem of servers that answer.
const problemDo = "look at what it names: the servers answer, and all else that they have is found"

// fileDo is what to do about a file that is needed to ask them, and does not answer.
const fileDo = "look after the file system of the file: its disk, its server, or its mount"

// crowdedDo is what to do about more entries than programs follow.
const crowdedDo = "remove entries that no program of yours announces, and use a name for each part of the bus (etcd://HOST/NAME)"

// slowServers is how long a list of all entries takes where nothing is wrong.
const slowServers = time.Second

// lookAtServers looks at a directory that is no folder. An entry that it lists is one that
// is renewed: it knows which are not, and has taken them out.
func (l *looker) lookAtServers(s *seen) {
	start := time.Now()
	entries, err := l.list()
	s.servers = &serversSeen{problems: problems(err), entries: len(entries), took: time.Since(start)}
	own := l.own()
	for _, e := range entries {
		if e.Role == directory.Publisher || e.Role == directory.Receiver {
			s.add(entrySeen{Found: file.Found{Name: e.Instance, Entry: e}, moved: true}, own)
		}
	}
	sortEntries(s.entries)
}

// stillListed looks again, and forgets the entries that have gone meanwhile.
func (l *looker) stillListed(s *seen) {
	entries, err := l.list()
	if err != nil {
		return // what was seen first stands
	}
	there := make(map[string]bool, len(entries))
	for _, e := range entries {
		there[e.Instance] = true
	}
	s.entries = slices.DeleteFunc(s.entries, func(e entrySeen) bool { return !there[e.Entry.Instance] })
}

// problems returns what was joined to err by errors.Join, or else err.
func problems(err error) []error {
	if err == nil {
		return nil
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var texts []string
		for _, part := range several.Unwrap() {
			texts = append(texts, part.Error())
		}
		if strings.Join(texts, "\n") == err.Error() { // and no other text has them in it
			return several.Unwrap()
		}
	}
	return []error{err}
}

// judgeServers says what a directory that is no folder says of itself.
func judgeServers(s *seen) []Finding {
	if s.servers == nil {
		return nil
	}
	f := &findings{group: "directory"}
	for _, err := range s.servers.problems {
		switch {
		case errors.Is(err, directory.ErrCrowded):
			f.add(Error, "directory-problem", s.bus, crowdedDo, "%s", cli.Text(err))
		case errors.As(err, new(*tool.FileSilentError)):
			f.add(Error, "directory-unreachable", s.bus, fileDo, "%s: programs of this host find no others now, and connections that there are stay", cli.Text(err))
		case s.listed():
			f.add(Warning, "directory-problem", s.bus, problemDo, "%s", cli.Text(err))
		default:
			f.add(Error, "directory-unreachable", s.bus, serversDo,
				"%s: programs of this host find no others now, and connections that there are stay", cli.Text(err))
		}
	}
	if s.servers.took > slowServers && s.listed() {
		f.add(Warning, "directory-slow", s.bus, "look at its servers, and at the network between",
			"to list its entries took %v: programs find each other late", short(s.servers.took))
	}
	f.ok(s.bus, "it answers this host; %s in %v", count(s.servers.entries, "entry", "entries"), short(s.servers.took))
	return f.sorted()
}
