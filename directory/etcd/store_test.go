// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"tagbus/bus/directory"
	"tagbus/bus/directory/codec"
	"tagbus/bus/directory/directorytest"
	"tagbus/directory/etcd"
	"tagbus/directory/etcd/internal/embedded"
	"tagbus/tags"
)

// scattered returns an entry whose bytes cannot be compressed much.
func scattered(instance string, count int) directory.Entry {
	e := directorytest.Entry(instance)
	random := rand.New(rand.NewPCG(1, 2))
	all := make([]tags.Tag, count)
	for i := range all {
		all[i] = tags.Tag(random.Uint64())
	}
	e.Tags = tags.Of(all...)
	return e
}

func bytesOf(t *testing.T, e directory.Entry) []byte {
	t.Helper()
	value, err := codec.Append(nil, e)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// TestDirectory_Announce_anEntryThatIsTooLarge is refused by name before it is sent: servers are not needed.
func TestDirectory_Announce_anEntryThatIsTooLarge(t *testing.T) {
	t.Parallel()
	d := open(t, embedded.New(t), quick)
	huge := scattered("a", 260_000)
	size := len(bytesOf(t, huge))
	if size < 3<<19 {
		t.Fatalf("got an entry of %d bytes, want more than 1.5 MiB", size)
	}
	_, err := d.Announce(huge)
	var large *etcd.TooLargeError
	if !errors.Is(err, etcd.ErrTooLarge) || !errors.As(err, &large) || large.Instance != "a" || large.Bytes != size || large.Limit != 1<<20 {
		t.Errorf("got %v, want a *TooLargeError of %d bytes", err, size)
	}
	a := directorytest.Announce(t, d, directorytest.Entry("a", 1))
	if err := a.Update(huge); !errors.Is(err, etcd.ErrTooLarge) {
		t.Errorf("got %v from Update, want ErrTooLarge", err)
	}
	// 4 MiB and 8 MiB.
	for _, many := range []int{620_000, 1_200_000} {
		_, err := d.Announce(scattered("b", many))
		if !errors.Is(err, etcd.ErrTooLarge) || !errors.Is(err, codec.ErrTooLarge) || !strings.Contains(err.Error(), "large: b: ") || !strings.Contains(err.Error(), "announce ranges") {
			t.Errorf("got %v for %d tags, more than the codec takes, want ErrTooLarge that names b, and what to do", err, many)
		}
	}
	if s := d.Stats(); s.Registrations != 1 {
		t.Errorf("got %d registrations, want 1", s.Registrations)
	}
}

// TestDirectory_Announce_anEntryAtTheLimit is announced: the servers take what this package lets through.
func TestDirectory_Announce_anEntryAtTheLimit(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	d := open(t, server, patient)
	e := scattered("a", 110_000)
	if size := len(bytesOf(t, e)); size > 1<<20 || size < 700_000 {
		t.Fatalf("got an entry of %d bytes, want nearly 1 MiB", size)
	}
	directorytest.Announce(t, d, e)
	if entries, err := open(t, server).List(); err != nil || len(entries) != 1 || !entries[0].Equal(e) {
		t.Errorf("got %d entries, %v, want the large one", len(entries), err)
	}
}

func TestDirectory_manyPages(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	client := server.Client()
	const many = 2*etcd.PageKeys + 7
	var puts []clientv3.Op
	for i := range many {
		e := directorytest.Entry(fmt.Sprintf("p%04d", i), tags.Tag(i))
		if i%40 == 0 {
			e = scattered(e.Instance, 110_000) // pages of fewer keys follow
		}
		puts = append(puts, clientv3.OpPut("/tagbus/test/e/"+e.Instance, string(bytesOf(t, e))))
	}
	for some := range slices.Chunk(puts, 40) {
		if _, err := client.Txn(t.Context()).Then(some...).Commit(); err != nil {
			t.Fatal(err)
		}
	}
	server.Put("/tagbus/test", "before the prefix")
	server.Put("/tagbus/test0", "after the prefix")
	d := open(t, server)
	entries, err := d.List()
	if err != nil || len(entries) != many {
		t.Fatalf("got %d entries, %v, want %d", len(entries), err, many)
	}
	for i, e := range entries {
		if want := fmt.Sprintf("p%04d", i); e.Instance != want {
			t.Fatalf("got entry %s, want %s", e.Instance, want)
		}
	}
	lists := uint64(0)
	for _, r := range d.Stats().Requests {
		if r.Kind == "list" {
			lists = r.Done
		}
	}
	if lists < 4 {
		t.Errorf("got %d requests for the list, want at least 3 pages and that for its end", lists)
	}
}

// TestDirectory_aPageThatIsTooLarge is asked for in smaller pages: rubbish hides no entry.
func TestDirectory_aPageThatIsTooLarge(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	client := server.Client()
	put := func(instance, value string) {
		if _, err := client.Put(context.Background(), "/tagbus/test/e/"+instance, value); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 40 {
		instance := fmt.Sprintf("a%02d", i)
		put(instance, string(bytesOf(t, directorytest.Entry(instance, 1))))
	}
	rubbish := strings.Repeat("x", 1<<20)
	for i := range 70 {
		put(fmt.Sprintf("b%02d", i), rubbish)
	}
	put("c", string(bytesOf(t, directorytest.Entry("c", 1))))
	d := open(t, server, func(c *etcd.Config) { c.RequestTimeout = time.Minute }) // 70 MB on a loaded machine
	entries, err := d.List()
	if len(entries) != 41 || !errors.Is(err, etcd.ErrDamaged) {
		t.Errorf("got %d entries, %.200v, want 41 and ErrDamaged", len(entries), err)
	}
}

// TestDirectory_moreEntriesThanAreKept is a problem, and ends when there is room.
func TestDirectory_moreEntriesThanAreKept(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	publisher := open(t, server, patient)
	var all []directory.Registration
	for i := range 30 {
		all = append(all, directorytest.Announce(t, publisher, directorytest.Entry(fmt.Sprintf("p%02d", i), 1)))
	}
	d := open(t, server)
	etcd.SetLimit(d, 20)
	entries, err := d.List()
	if len(entries) != 20 || !errors.Is(err, etcd.ErrTooMany) {
		t.Errorf("got %d entries, %v, want 20 and ErrTooMany", len(entries), err)
	}
	for _, r := range all[:12] {
		if err := r.Withdraw(); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "rest of the entries", func() bool { entries, err := d.List(); return err == nil && len(entries) == 18 })
}

// TestDirectory_serversThatAreFull keep what they have: it stays announced, and can be withdrawn.
func TestDirectory_serversThatAreFull(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t, embedded.Quota(4<<20))
	d := open(t, server, patient)
	a := directorytest.Announce(t, d, directorytest.Entry("a", 1))
	client := server.Client()
	for i := 0; ; i++ {
		if _, err := client.Put(context.Background(), fmt.Sprintf("/elsewhere/%d", i), strings.Repeat("x", 1<<18)); err != nil {
			break
		}
	}
	b := directorytest.Announce(t, d, directorytest.Entry("b", 1))
	if err := reportsOf(t, b).next(t); !errors.Is(err, etcd.ErrRefused) || !strings.Contains(err.Error(), "full") {
		t.Errorf("got report %v, want ErrRefused that says full", err)
	}
	if err := b.Withdraw(); err != nil {
		t.Errorf("got %v from Withdraw, want nil: there is nothing", err)
	}
	wantEntries(t, d, "a")
	if err := a.Withdraw(); err != nil {
		t.Errorf("got %v from Withdraw, want nil", err)
	}
	response, err := client.Get(context.Background(), "/tagbus/test/e/a")
	if err != nil || len(response.Kvs) != 0 {
		t.Errorf("got %v, %v, want no entry", response, err)
	}
}
