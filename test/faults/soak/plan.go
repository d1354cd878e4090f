// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/test/faults/internal/bed"
)

// The size of the site. Each half of it, plain and with TLS, is a bus of its own.
const (
	publishers  = 30
	subscribers = 60
	half        = 2

	// tagsEach is how many tags a publisher has: 5,000 in all, in as many groups as there are policies.
	tagsEach = 168
	groups   = 6
	inGroup  = tagsEach / groups

	// families is how many families there are in a half. A subscriber takes all publishers of its family, three of
	// them, and a publisher has six subscribers: each group of its tags goes out with all six policies.
	families = 5

	firstTag  = 0x10000
	firstPort = 7000

	// slots is room for the streams of a subscriber: three publishers, and those that were killed before it is told.
	slots = 8192

	// fast is how many times as often the first tag of each group comes.
	fast = 20
)

// Where what is not a publisher listens.
const (
	directoryAddress = bed.AddressB
	directoryPort    = "2379"
	webAddress       = bed.AddressB + ":8080"
)

// policies are those of the groups.
var policies = [groups]string{"block", "drop-newest", "drop-oldest", "latest", "sample:3", "disconnect:5s"}

// sizes are those of the messages of publishers. With the last one a subscriber that stands still fills its queue.
var sizes = [5]int{100, 200, 400, 800, 8000}

// plan makes all stations, in the order in which they start: those that look at the bus before it has work.
func (s *site) plan() {
	s.directory = s.add("directory", "directory", s.B, false, func(string) []string {
		return []string{filepath.Join(s.bin, "tagbus-directory"), "--data", s.data(), "--listen", directoryAddress, "--history", "5m", "--log-level", "warn"}
	})
	s.add("top", "top", s.A, true, func(string) []string {
		return append([]string{"sh", "-c", `exec "$@" >/dev/null`, "sh"}, s.tagbus("top", true, "top", "--json", "--timeout", "3s")...)
	})
	s.add("web", "web", s.B, false, func(string) []string { return s.tagbus("web", false, "web", "--listen", webAddress) })
	s.recorder = s.add("recorder", "recorder", s.B, false, func(string) []string {
		return s.tagbus("recorder", false, "record", "-q", "--force", "--policy", "drop-newest", "--keep-free", "10MiB", "--queue-bytes", "4MiB", "--name", "recorder", tagsOf(0)+","+tagsOf(half), s.recording())
	})
	for i := range publishers {
		s.publishers = append(s.publishers, s.planPublisher(i))
	}
	for i := range subscribers {
		s.subscribers = append(s.subscribers, s.planSubscriber(i))
	}
}

// add adds a station.
func (s *site) add(kind, name string, h bed.Host, tls bool, words func(string) []string) *station {
	st := &station{kind: kind, name: name, host: h, tls: tls, words: words}
	s.stations = append(s.stations, st)
	return st
}

// tagbus returns the command line of a command of tagbus.
func (s *site) tagbus(name string, tls bool, words ...string) []string {
	all := append([]string{filepath.Join(s.bin, "tagbus-etcd")}, words...)
	all = append(all, "--bus", bus(tls))
	if tls {
		all = append(all, "--cert", s.file(name, "pem"), "--key", s.file(name, "key"), "--ca", s.ca.File)
	}
	return all
}

// file returns a file of the certificate of a station.
func (s *site) file(name, extension string) string {
	return filepath.Join(s.Dir, "pki", name+"."+extension)
}

func bus(tls bool) string {
	name := "plain"
	if tls {
		name = "tls"
	}
	return "etcd://" + directoryAddress + ":" + directoryPort + "/" + name
}

// load returns the flags that publishers and subscribers have in common.
func (s *site) load(program, name, path string, tls bool) []string {
	words := []string{filepath.Join(s.bin, "faultload"), program, "-name", name, "-bus", bus(tls), "-record", path, "-vitals", "-expiry", "10s"}
	if !tls {
		return append(words, "-backend", "tcp")
	}
	return append(words, "-backend", "tls", "-cert", s.file(name, "pem"), "-key", s.file(name, "key"), "-ca", s.ca.File, "-look", "1s")
}

// planPublisher makes publisher i, of the plain half if i is even. A third of them stays for the whole time.
func (s *site) planPublisher(i int) *station {
	name, tls := fmt.Sprintf("pub%02d", i), i%half == 1
	st := s.add("publisher", name, s.A, tls, func(path string) []string {
		canary := ""
		if i == 0 {
			canary = s.canary
		}
		return append(s.load("publish", name, path, tls), "-canary", canary, "-listen", "0.0.0.0", "-port", strconv.Itoa(firstPort+i),
			"-first", strconv.Itoa(first(i)), "-tags", strconv.Itoa(tagsEach), "-groups", strconv.Itoa(groups), "-subscribers", "0",
			"-rate", fmt.Sprint(s.rate), "-fast", strconv.Itoa(fast), "-bytes", strconv.Itoa(sizes[i%len(sizes)]),
			"-queue-bytes", strconv.Itoa(256<<10), "-pool-bytes", strconv.Itoa(16<<20), "-drain", "20s")
	})
	st.stays = i/half%3 == 0
	return st
}

// planSubscriber makes subscriber i, of the plain half if i is even. A third is on the host of the publishers.
func (s *site) planSubscriber(i int) *station {
	name, tls, turn := fmt.Sprintf("sub%02d", i), i%half == 1, i/half/families
	host := s.B
	if turn%3 == 0 {
		host = s.A
	}
	st := s.add("subscriber", name, host, tls, nil)
	st.stays = i/half%3 == 0
	st.policy = func(tag uint64) string { return policies[(int(tag-firstTag)%tagsEach/inGroup+turn)%groups] }
	st.words = func(path string) []string {
		words := append(s.load("subscribe", name, path, tls), "-slots", strconv.Itoa(slots))
		sets := make(map[string][]string)
		for p, pub := range s.publishers {
			for group := 0; takes(st, pub) && group < groups; group++ {
				from := first(p) + group*inGroup
				policy := st.policy(uint64(from))
				sets[policy] = append(sets[policy], fmt.Sprintf("%#x-%#x", from, from+inGroup-1))
			}
		}
		for _, policy := range policies {
			words = append(words, "-take", policy+"="+strings.Join(sets[policy], ","))
		}
		return words
	}
	return st
}

// number returns that in the name of a publisher or subscriber.
func (st *station) number() int {
	n, err := strconv.Atoi(st.name[3:])
	if err != nil {
		panic(err) // it was made here
	}
	return n
}

// takes reports whether a subscriber takes the tags of a publisher: they are of one half and family.
func takes(subscriber, publisher *station) bool {
	a, b := subscriber.number(), publisher.number()
	return a%half == b%half && a/half%families == b/half%families
}

// first returns the first tag of a publisher.
func first(publisher int) int { return firstTag + publisher*tagsEach }

// tagsOf returns the tags of a publisher.
func tagsOf(publisher int) string {
	return fmt.Sprintf("%#x-%#x", first(publisher), first(publisher)+tagsEach-1)
}

// disks makes the disk of the recorder, which is soon full, and that of the directory, which no other work slows down.
//
// Errors: the system's.
func (s *site) disks() error {
	for folder, size := range map[string]string{filepath.Dir(s.recording()): "64m", s.data(): "512m"} {
		if err := unix.Mkdir(folder, 0o755); err != nil {
			return err
		}
		s.Undo(func() { _ = unix.Unmount(folder, unix.MNT_DETACH) })
		if err := unix.Mount("tmpfs", folder, "tmpfs", 0, "size="+size+",mode=0700"); err != nil {
			return err
		}
	}
	return nil
}

// data returns the folder of the directory.
func (s *site) data() string { return filepath.Join(s.Dir, "data") }

// recording returns the file of the recorder.
func (s *site) recording() string { return filepath.Join(s.Dir, "disk", "soak.tbr") }

// renewEvery is how often all certificates are renewed in the time for which they count.
const renewEvery = 3

// certificates issues those of all stations again.
func (s *site) certificates() {
	for _, st := range s.stations {
		if !st.tls {
			continue
		}
		s.with(func() {
			if _, _, err := s.ca.Issue(st.name, s.valid+time.Minute); err != nil {
				s.problemLocked("%v", err)
			}
		})
	}
}
