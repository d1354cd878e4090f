// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"syscall"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/bus/observer"
	"tagbus/bus/state"
	"tagbus/cmd/internal/tool"
	"tagbus/internal/stuck"
	"tagbus/netio"
	"tagbus/tags"
)

// wrong is something that is wrong with a bus.
type wrong struct {
	name string
	do   func(s *seen)
}

// failing makes the greeting of the first entry fail.
func failing(err error, connected time.Duration) func(*seen) {
	return func(s *seen) {
		g := &s.entries[0].greets[0]
		g.err, g.Greeting = err, observer.Greeting{Connected: connected}
		s.entries[0].first, s.entries[0].second = answerSeen{}, answerSeen{}
	}
}

// refused is the error of a dial.
func refused(err error) error {
	return &netio.OpError{Op: "open endpoint", Addr: netip.MustParseAddrPort("10.0.0.1:7000"), Err: err}
}

// loopback makes an entry announce that only.
func loopback(e *entrySeen) {
	e.Entry.Addresses = []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:7000")}
	e.greets[0].addr, e.greets[0].local = e.Entry.Addresses[0], true
}

// folderFails makes the folder one that cannot be looked at.
func folderFails(err error) func(*seen) {
	return func(s *seen) {
		s.folder, s.entries, s.asked = folderSeen{err: err}, nil, false
	}
}

// now changes the second answer of the first entry.
func now(change func(*state.State)) func(*seen) {
	return func(s *seen) { change(s.entries[0].second.state) }
}

// onServers puts the bus where it is in no folder.
func onServers(took time.Duration, err error) func(*seen) {
	return func(s *seen) {
		s.bus, s.folder = "etcd://a/x", folderSeen{}
		s.servers = &serversSeen{problems: problems(err), entries: len(s.entries), took: took}
		for i := range s.entries { // nothing is known of their files
			e := &s.entries[i]
			e.Found, e.moved, e.silent = file.Found{Name: e.Entry.Instance, Entry: e.Entry}, true, 0
		}
	}
}

var wrongs = []wrong{
	{"the servers do not answer", func(s *seen) {
		s.entries, s.asked = nil, false
		onServers(time.Second, errors.New("no server answers"))(s)
	}},
	{"the servers have problems", onServers(time.Millisecond, errors.Join(errors.New("key b is damaged"), fmt.Errorf("c: %w", errors.New("d"))))},
	{"a file of the servers' URL hangs", func(s *seen) {
		s.entries, s.asked = nil, false
		onServers(time.Second, &tool.FileSilentError{Bus: "etcds://a/x?ca=/mnt/ca.pem", Patience: time.Second, Note: stuck.Note{Path: "/mnt/ca.pem"}})(s)
	}},
	{"the servers have too many entries", onServers(time.Millisecond, fmt.Errorf("70000 of 65536: %w", directory.ErrCrowded))},
	{"the servers are slow", onServers(2300*time.Millisecond, nil)},
	{"the folder is missing", folderFails(&file.PathError{Path: "/bus", Err: file.ErrVanished, Hint: "x"})},
	{"the folder is a file", folderFails(&file.PathError{Path: "/bus", Err: file.ErrNotDirectory, Hint: "give the path of a folder"})},
	{"the folder fails", folderFails(errors.New("a\nb"))},
	{"the folder hangs", folderFails(errHangs)},
	{"the folder is slow", func(s *seen) { s.folder.took = 812 * time.Millisecond }},
	{"the folder can only be read", func(s *seen) {
		s.folder.write = &fs.PathError{Op: "open", Path: "/bus/x", Err: syscall.EACCES}
	}},
	{"the folder cannot be written", func(s *seen) { s.folder.write = &fs.PathError{Op: "write", Path: "/bus/x", Err: syscall.EIO} }},
	{"the folder has nearly too many entries", func(s *seen) { s.us.maxEntries = 2 }},
	{"the folder has too many entries", func(s *seen) { s.us.maxEntries = 1 }},
	{"the folder has too many names", func(s *seen) { s.folder.survey.Names, s.folder.survey.All = 4096, false }},
	{"the folder has other names", func(s *seen) {
		s.folder.survey.Passed, s.folder.survey.Others = 4, []string{"README", "a\x1bb", "c"}
	}},
	{"an entry is damaged", func(s *seen) {
		s.folder.survey.Files = []file.Found{{Name: "x.jsonl", Err: &file.PathError{Path: "/bus/x.jsonl", Err: file.ErrDamaged, Hint: "remove the file"}}}
	}},
	{"the disk is full", func(s *seen) { s.folder.system.free = 4096 }},
	{"the disk is nearly full", func(s *seen) { s.folder.system.free = 20 << 20 }},
	{"the disk has no files left", func(s *seen) { s.folder.system.freeFiles = 3 }},
	{"the disk has few files left", func(s *seen) { s.folder.system.freeFiles = 500 }},
	{"the folder is on NFS", func(s *seen) { s.folder.system.nfs = true }},
	{"the clock of the folder is behind", func(s *seen) { s.folder.ahead = -3200 * time.Millisecond }},
	{"the clock of the folder is far ahead", func(s *seen) { s.folder.ahead = time.Minute }},
	{"the bus is empty", func(s *seen) { s.entries = nil }},
	{"a process has ended", func(s *seen) { s.entries[0].Ended, s.entries[0].silent = true, 3*time.Minute }},
	{"an entry has expired", func(s *seen) {
		failing(refused(syscall.ECONNREFUSED), 0)(s)
		s.entries[0].moved, s.entries[0].silent = false, time.Hour
	}},
	{"an entry is not renewed", func(s *seen) { s.entries[0].moved, s.entries[0].silent = false, time.Minute }},
	{"two instances have one name", func(s *seen) { s.entries[0].Entry.Name = "felix-2" }},
	{"two entries have one address", func(s *seen) { s.entries[0].Entry.Addresses[0] = s.entries[1].Entry.Addresses[0] }},
	{"the backend needs more files than this command may have", func(s *seen) {
		s.backend, s.asked, s.us.backend = fmt.Errorf("reactor: create timer: %w", syscall.EMFILE), false, "auto"
		for i := range s.entries {
			s.entries[i].greets = nil
			s.entries[i].first, s.entries[i].second = answerSeen{}, answerSeen{}
		}
	}},
	{"the backend cannot be used", func(s *seen) {
		s.backend, s.asked, s.us.backend = netio.ErrNotBuiltIn, false, "rdma"
		for i := range s.entries {
			s.entries[i].greets = nil
			s.entries[i].first, s.entries[i].second = answerSeen{}, answerSeen{}
		}
	}},
	{"the backend differs", failing(&bus.BackendError{Theirs: "rdma:verbs", Ours: "tcp"}, 0)},
	{"the bus has certificates, and this command has none", failing(&bus.BackendError{Theirs: "tls", Ours: "tcp"}, 0)},
	{"this command has a certificate, and the bus has none", failing(&bus.BackendError{Theirs: "tcp", Ours: "tls"}, 0)},
	{"another host announces loopback", func(s *seen) {
		failing(refused(syscall.ECONNREFUSED), 0)(s)
		loopback(&s.entries[0])
	}},
	{"another host that shares the network announces loopback", func(s *seen) { loopback(&s.entries[0]) }},
	{"one of this host announces loopback, and others do not", func(s *seen) {
		s.entries[0].Entry.Host, s.entries[0].Entry.Role = "here", directory.Receiver
		loopback(&s.entries[0])
	}},
	{"an address refuses", failing(refused(syscall.ECONNREFUSED), 0)},
	{"an address refuses, and another one does not", func(s *seen) {
		e := &s.entries[0]
		e.greets = append([]greetSeen{{addr: netip.MustParseAddrPort("172.17.0.1:7000"), done: true, err: refused(syscall.ECONNREFUSED)}}, e.greets...)
	}},
	{"an address cannot be reached", failing(refused(syscall.EHOSTUNREACH), 0)},
	{"an address cannot be dialed", failing(refused(syscall.EINVAL), 0)},
	{"an address does not answer", failing(fmt.Errorf("%w: no connection", observer.ErrTimeout), 0)},
	{"an address has left this host", func(s *seen) {
		failing(fmt.Errorf("%w: no connection", observer.ErrTimeout), 0)(s)
		s.entries[0].Entry.Host, s.entries[0].greets[0].local = s.us.host, false
	}},
	{"an address does not answer the system", failing(refused(context.DeadlineExceeded), 0)},
	{"an address says nothing", failing(fmt.Errorf("%w: it takes connections and says nothing", observer.ErrNotTagbus), time.Millisecond)},
	{"an address closes connections", failing(fmt.Errorf("%w: it closes the connection: %w", observer.ErrNotTagbus, io.EOF), time.Millisecond)},
	{"an address is of something else", failing(fmt.Errorf("%w: it closes the connection: %w", observer.ErrNotTagbus, netio.ErrMessageLength), time.Millisecond)},
	{"an address speaks another version", func(s *seen) {
		failing(nil, time.Millisecond)(s)
		s.entries[0].greets[0].Protocol = 7
	}},
	{"an address is of another instance", func(s *seen) {
		failing(nil, time.Millisecond)(s)
		s.entries[0].greets[0].Greeting = observer.Greeting{Protocol: observer.ProtocolVersion, Instance: "I9", Name: "felix\x1b9"}
	}},
	{"an address fails", failing(errors.New("odd"), 0)},
	{"an address is slow", func(s *seen) { s.entries[0].greets[0].Took = 1340 * time.Millisecond }},
	{"a policy cannot be read again", now(func(a *state.State) { a.AccessFailing = true })},
	{"an entry is one of too many", now(func(a *state.State) { a.EntryCrowded = true })},
	{"an entry cannot be renewed", now(func(a *state.State) { a.EntryFailing = true })},
	{"a clock is ahead", func(s *seen) {
		s.entries[0].first.state.Time = noon.Add(1500 * time.Millisecond)
		s.entries[0].second.state.Time = noon.Add(2500 * time.Millisecond)
	}},
	{"a clock is far behind", func(s *seen) {
		s.entries[0].first.state.Time = noon.Add(-time.Hour)
		s.entries[0].second.state.Time = noon.Add(time.Second - time.Hour)
	}},
	{"a clock seems to differ because the answer was slow", func(s *seen) {
		for _, a := range []*answerSeen{&s.entries[0].first, &s.entries[0].second} {
			a.took, a.state.Time = 4*time.Second, a.at.Add(2*time.Second)
		}
	}},
	{"versions differ", now(func(a *state.State) { a.Program = "v1.1.0" })},
	{"an instance is too old to tell", func(s *seen) {
		s.entries[0].greets[0].Refused = "unknown role"
		s.entries[0].first, s.entries[0].second = answerSeen{err: fmt.Errorf("%w: unknown role", observer.ErrNotObservable)}, answerSeen{}
	}},
	{"no instance lets this command ask", func(s *seen) {
		for i := range s.entries {
			s.entries[i].first, s.entries[i].second = answerSeen{err: fmt.Errorf("observe: %w: no rule such as {}", observer.ErrDenied)}, answerSeen{}
		}
	}},
	{"all instances are too old to tell", func(s *seen) {
		for i := range s.entries {
			s.entries[i].first, s.entries[i].second = answerSeen{err: fmt.Errorf("%w: unknown role", observer.ErrNotObservable)}, answerSeen{}
		}
	}},
	{"an instance does not answer", func(s *seen) {
		s.entries[0].first, s.entries[0].second = answerSeen{took: 2 * time.Second, err: fmt.Errorf("%w: x", observer.ErrTimeout)}, answerSeen{}
	}},
	{"an instance answers wrong", func(s *seen) {
		s.entries[0].first, s.entries[0].second = answerSeen{err: bus.ErrProtocol}, answerSeen{}
	}},
	{"large packets are dropped", func(s *seen) { s.entries[0].small = true }},
	{"large packets would be dropped, but the address is of this host", func(s *seen) {
		s.entries[0].small, s.entries[0].greets[0].local = true, true
	}},
	{"a peer is stalled", now(func(a *state.State) {
		a.Stalled, a.Peers = 2, []state.Peer{{Instance: "S1", Name: "disk", Host: "pc-9", StalledSince: noon}, {Instance: "S2"}}
	})},
	{"a queue is full", now(func(a *state.State) {
		a.Fullest, a.Peers = 1, []state.Peer{{Instance: "S1", QueueLimit: new(200), Lanes: []state.Lane{{Queued: 100, QueueLimit: 100}, {QueueLimit: 100}}}}
	})},
	{"a peer takes nothing from one look to the next", func(s *seen) {
		s.entries[0].first.state.Peers = []state.Peer{{Instance: "S1", Name: "disk", Queued: new(100), Pages: 7}, {Instance: "S2", Queued: new(100), Pages: 7}, {Instance: "S3", Pages: 7}}
		s.entries[0].second.state.Peers = []state.Peer{{Instance: "S1", Name: "disk", Queued: new(900), Pages: 7}, {Instance: "S2", Queued: new(100), Pages: 8}, {Instance: "S3", Pages: 7}}
	}},
	{"peers were silent", now(func(a *state.State) {
		a.Silent, a.Gone = 2, []state.Peer{{Instance: "S1", Name: "disk", Host: "pc-9"}}
	})},
	{"peers went without goodbye", now(func(a *state.State) {
		const lost = "bus: nothing heard for 6s; raise HeartbeatTimeout if it may be silent for longer"
		back := func(p state.Peer) state.Peer { p.Reason, p.Ended = "", time.Time{}; return p }
		went := func(name, host string, ago time.Duration) state.Peer {
			return state.Peer{Instance: "gone-" + name, Name: name, Host: host, Ended: noon.Add(-ago), Reason: lost}
		}
		orderly := went("orderly", "pc-9", time.Second)
		orderly.Reason = ""
		again := back(went("again", "pc-9", time.Second))
		again.Instance = "another"
		same := back(went("same", "", time.Second))
		a.Time, a.Connected, a.Peers = noon, 2, []state.Peer{again, same}
		a.Gone = []state.Peer{
			went("disk", "pc-9", 20*time.Second), went("again", "pc-9", time.Second), went("same", "", time.Second),
			orderly, went("", "pc-8", 9*time.Minute), went("old", "pc-9", 11*time.Minute),
		}
	})},
	{"a peer is quiet", now(func(a *state.State) {
		a.Time, a.Connected = noon, 3
		a.Peers = []state.Peer{
			{Instance: "S1", Name: "disk", Host: "pc-9", Heard: noon.Add(-4100 * time.Millisecond)},
			{Instance: "S2", Heard: noon.Add(-2100 * time.Millisecond)},
			{Instance: "S3"},
		}
	})},
	{"a peer went without goodbye, and not all that are there are known", now(func(a *state.State) {
		a.Time, a.Connected = noon, 5000
		a.Gone = []state.Peer{{Instance: "S1", Name: "disk", Host: "pc-9", Ended: noon.Add(-time.Second), Reason: "it broke"}}
	})},
	{"the pool is empty", now(func(a *state.State) { a.Sending.PoolFreePages = 0 })},
	{"the pool was empty", now(func(a *state.State) { a.Sending.PoolMinFreePages = 0 })},
	{"a peer is cut off again and again", now(func(a *state.State) {
		a.Time, a.Connected = noon, 1
		a.Peers = []state.Peer{{
			Instance: "S1", Name: "disk", Host: "pc-9", Broken: 12, StallsEnded: 12, FirstBroken: noon.Add(-time.Minute), LastBroken: noon.Add(-time.Second),
			BrokenReason: "bus: subscriber takes nothing for 5s",
		}}
	})},
	{"a peer has come back", now(func(a *state.State) {
		a.Time, a.Connected = noon, 1
		a.Peers = []state.Peer{{Instance: "S1", Name: "disk", Host: "pc-9", Broken: 1, FirstBroken: noon.Add(-time.Minute), LastBroken: noon.Add(-time.Minute), BrokenReason: "connection reset by peer"}}
	})},
	{"segments get lost", now(func(a *state.State) {
		a.Time, a.Connected = noon, 1
		a.Peers = []state.Peer{{Instance: "S1", Name: "disk", Host: "pc-9", Since: noon.Add(-time.Minute), Path: &state.Path{Segments: 12345, Retransmitted: 123}}}
	})},
	{"messages are lost", func(s *seen) {
		before, now := s.entries[0].first.state, s.entries[0].second.state
		before.Losses = []state.Loss{{Cause: state.Full, Messages: 5}}
		now.Losses = []state.Loss{{Cause: state.Full, Messages: 12}, {Cause: state.Memory, Messages: 1}}
		before.Peers = []state.Peer{{Instance: "S1", Name: "disk"}, {Instance: "S2"}}
		now.Peers = []state.Peer{{Instance: "S2"}, {Instance: "S1", Name: "disk", Losses: now.Losses[:1]}}
	}},
	{"messages were lost before", now(func(a *state.State) {
		a.Losses = []state.Loss{{Cause: state.Overflow, Messages: 9, First: noon.Add(-time.Hour), Last: noon.Add(-time.Minute)}}
		a.Gone = []state.Peer{{Instance: "S1", Name: "disk", Losses: a.Losses}}
	})},
	{"messages are unconfirmed", now(func(a *state.State) {
		a.Sending.Unconfirmed = 6176
		a.Gone = []state.Peer{{Instance: "S1", Name: "disk", Unconfirmed: 6170, Heard: noon.Add(-time.Minute), Ended: noon.Add(-54 * time.Second)}}
	})},
	{"connections break", now(func(a *state.State) { a.Broken = 1 })},
	{"there is no room", now(func(a *state.State) { a.Sending.Refusals = 17 })},
	{"messages become unconfirmed", now(func(a *state.State) { a.Sending.Unconfirmed = 3 })},
	{"two publishers have a tag", func(s *seen) { s.entries[1] = entryOf(2, "0x1f-0x2f") }},
	{"two receivers have a tag", func(s *seen) {
		s.entries[1] = entryOf(2, "0x10-0x11,0x20&0xfffffffffffffff0")
		s.entries[0].Entry.Role, s.entries[1].Entry.Role = directory.Receiver, directory.Receiver
	}},
	{"a publisher and a receiver have a tag", func(s *seen) {
		s.entries[1] = entryOf(2, "0x10-0x11")
		s.entries[1].Entry.Role = directory.Receiver
	}},
	{"a publisher has no tags", func(s *seen) { s.entries[0] = entryOf(1, "") }},
	{"many publishers have a tag", func(s *seen) {
		s.entries = nil
		for i := range 8 {
			s.entries = append(s.entries, entryOf(i+1, "0x10"))
		}
	}},
	{"sets have too many patterns", func(s *seen) {
		for i := range 32 {
			var all []tags.Set
			for j := range 256 {
				all = append(all, tags.Match(tags.Tag(0x10000+i*256+j), 0x1ffff))
			}
			e := entryOf(i+3, "")
			e.Entry.Tags = tags.Union(all...)
			s.entries = append(s.entries, e)
		}
	}},
	{"few files may be open", func(s *seen) { s.host.openFiles = 60 }},
	{"little memory may be locked", func(s *seen) { s.us.backend = "rdma" }},
	{"buffers of connections are small", func(s *seen) { s.host.receive, s.host.send = 1<<20, 212992 }},
	{"few connections may wait", func(s *seen) { s.host.backlog = 1 }},
	{"the congestion control paces", func(s *seen) { s.host.congestion = "bbr" }},
	{"nothing is known of the host", func(s *seen) { s.host = hostSeen{-1, -1, -1, -1, -1, ""} }},
	{"the check was interrupted", func(s *seen) { s.ended = context.Canceled }},
}
