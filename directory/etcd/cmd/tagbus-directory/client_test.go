// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tagbus/bus/directory"
	_ "tagbus/directory/etcd"
	"tagbus/tags"
)

// expiry is how long clients of the tests may give no sign of life.
const expiry = 3 * time.Second

// runClient is a process that uses a directory as a publisher and as a subscriber do. It
// watches, and obeys what is on standard input: announce INSTANCE, update INSTANCE,
// large INSTANCE TAGS, withdraw INSTANCE. It ends with standard input.
func runClient(args []string) int {
	d, err := directory.Open(args[0], directory.Settings{Expiry: expiry})
	if err != nil {
		fmt.Println("open:", err)
		return 1
	}
	var mutex sync.Mutex
	say := func(format string, args ...any) {
		mutex.Lock()
		defer mutex.Unlock()
		fmt.Println(strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; "))
	}
	stop, err := d.Watch(func(e directory.Event) {
		switch e.Kind {
		case directory.Problem:
			say("problem %s: %v", e.Entry.Instance, e.Err)
		case directory.Gone:
			say("gone %s. (%v)", e.Entry.Instance, e.Err)
		default:
			say("%v %s.", e.Kind, e.Entry.Instance)
		}
	})
	if err != nil {
		fmt.Println("watch:", err)
		return 1
	}
	say("watches")
	known := make(map[string]directory.Registration)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		say("done %s: %v", lines.Text(), obey(d, known, words))
	}
	stop()
	say("closed: %v", d.Close())
	return 0
}

// obey does what a line says.
func obey(d directory.Directory, known map[string]directory.Registration, words []string) error {
	instance := words[1]
	switch words[0] {
	case "announce":
		r, err := d.Announce(entry(instance, 1))
		known[instance] = r
		return err
	case "large":
		n, _ := strconv.Atoi(words[2])
		if r := known[instance]; r != nil {
			return r.Update(entry(instance, n))
		}
		r, err := d.Announce(entry(instance, n))
		if err == nil {
			known[instance] = r
		}
		return err
	case "withdraw":
		return known[instance].Withdraw()
	default:
		return errors.New("unknown command")
	}
}

// entry returns an entry with n tags at random, that no compression makes shorter.
func entry(instance string, n int) directory.Entry {
	served := make([]tags.Tag, 0, n)
	for range n {
		served = append(served, tags.Tag(rand.Uint64()))
	}
	return directory.Entry{
		Instance: instance, Host: "pc-07", PID: os.Getpid(), Backend: "tcp",
		Addresses: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:53100")},
		Tags:      tags.Of(served...), PageBytes: 65536, MaxMessageBytes: 1 << 20,
	}
}

// client is a running one.
type client struct{ *program }

// newClient starts one that watches.
func newClient(t *testing.T, name, url string, before ...string) *client {
	t.Helper()
	c := &client{launch(t, name, "client", before, url)}
	c.await(0, "watches")
	return c
}

// order makes the client do something, and returns once it has, with what it says of it.
func (c *client) order(words string) string {
	c.t.Helper()
	from := c.mark()
	if _, err := fmt.Fprintln(c.stdin, words); err != nil {
		c.t.Fatalf("%s: %v", c.name, err)
	}
	return strings.TrimPrefix(c.await(from, "done "+words+": ").text, "done "+words+": ")
}

// announce makes the client announce an instance.
func (c *client) announce(instance string) {
	c.t.Helper()
	if got := c.order("announce " + instance); got != "<nil>" {
		c.t.Fatalf("%s: announce %s: got %s, want nil", c.name, instance, got)
	}
}

// leave makes the client end in order.
func (c *client) leave() {
	c.t.Helper()
	if err := c.stdin.Close(); err != nil {
		c.t.Fatal(err)
	}
	if code := c.wait(); code != 0 {
		c.t.Errorf("%s: got exit code %d, want 0", c.name, code)
	}
}
