// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tagbus/bus/directory"
	"tagbus/bus/directory/codec"
	"tagbus/bus/directory/directorytest"
	"tagbus/directory/etcd"
	"tagbus/directory/etcd/internal/embedded"
)

// TestDirectory_keysThatAreNoEntries are problems that name the key, are bounded, and hide nothing.
func TestDirectory_keysThatAreNoEntries(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	const prefix = "/tagbus/test/e/"
	good := bytesOf(t, directorytest.Entry("good", 1))
	hostile := []string{
		prefix, prefix + "a/b", prefix + "../x", prefix + "\x00\x01\x1b[2J", prefix + "\xff\xfe",
		prefix + strings.Repeat("x", 70_000), prefix + "läuft",
	}
	for _, key := range hostile {
		server.Put(key, string(good))
	}
	server.Put(prefix+"other", string(good)) // an entry of another instance
	server.Put(prefix+"empty", "")
	server.Put(prefix+"newer", "\x02\x00")
	server.Put("/tagbus/test/elsewhere", "is none of our business")
	d := open(t, server)
	directorytest.Announce(t, d, directorytest.Entry("good", 1))
	entries, err := d.List()
	if len(entries) != 1 || entries[0].Instance != "good" {
		t.Errorf("got entries %v, want the good one", entries)
	}
	if !errors.Is(err, etcd.ErrDamaged) || !errors.Is(err, codec.ErrVersion) || !errors.Is(err, codec.ErrDamaged) {
		t.Errorf("got %v, want ErrDamaged with the causes", err)
	}
	if n := d.Stats().Problems; n != len(hostile)+3 {
		t.Errorf("got %d problems, want %d", n, len(hostile)+3)
	}
	for _, name := range []string{prefix + "other", prefix + "empty", prefix + "newer", "a/b"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %.200v, want it to name %s", err, name)
		}
	}
	if err != nil && (strings.Contains(err.Error(), "\x1b") || len(err.Error()) > 10_000) {
		t.Errorf("got %d bytes of text, or an escape in it, want it short and plain", len(err.Error()))
	}
	r, stop := directorytest.Watch(t, d)
	defer stop()
	r.Want(directory.Appeared, "good")
	for range len(hostile) + 3 {
		if e := r.Next(); e.Kind != directory.Problem {
			t.Errorf("got %v, want a problem", e)
		}
	}
	client := server.Client()
	for _, key := range append(hostile, prefix+"other", prefix+"empty", prefix+"newer") {
		if _, err := client.Delete(context.Background(), key); err != nil {
			t.Fatal(err)
		}
	}
	wantEntries(t, d, "good")
	r.WantNone()
}

// TestDirectory_badValuesAreBounded: a store full of rubbish makes as many problems as are of use.
func TestDirectory_badValuesAreBounded(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	client := server.Client()
	random := rand.New(rand.NewPCG(3, 4))
	good := bytesOf(t, scattered("x", 3_000))
	const bad = 2 * etcd.MaxBad
	for i := range bad {
		value := bytes.Clone(good[:random.IntN(len(good))]) // truncated, and with bits that have changed
		for range min(len(value), 20) {
			value[random.IntN(len(value))] ^= 1 << random.IntN(8)
		}
		if _, err := client.Put(context.Background(), fmt.Sprintf("/tagbus/test/e/bad%03d", i), string(value)); err != nil {
			t.Fatal(err)
		}
	}
	d := open(t, server)
	directorytest.Announce(t, d, directorytest.Entry("good", 1))
	entries, err := d.List()
	if len(entries) != 1 || entries[0].Instance != "good" || !errors.Is(err, etcd.ErrDamaged) {
		t.Errorf("got %v, %.200v, want the good entry and ErrDamaged", entries, err)
	}
	if n := d.Stats().Problems; n != etcd.MaxBad+1 {
		t.Errorf("got %d problems, want %d", n, etcd.MaxBad+1)
	}
}

// TestDirectory_aBadValueKeepsTheLastGoodEntry.
func TestDirectory_aBadValueKeepsTheLastGoodEntry(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	key := "/tagbus/test/e/a"
	server.Put(key, string(bytesOf(t, directorytest.Entry("a", 1))))
	d := open(t, server)
	r, stop := directorytest.Watch(t, d)
	defer stop()
	r.Want(directory.Appeared, "a")
	server.Put(key, "rubbish")
	if e := r.Want(directory.Problem, "a"); !errors.Is(e.Err, etcd.ErrDamaged) || !strings.Contains(e.Err.Error(), key) {
		t.Errorf("got %v, want ErrDamaged that names the key", e.Err)
	}
	server.Put(key, string(bytesOf(t, directorytest.Entry("a", 2))))
	r.Want(directory.Changed, "a")
	wantEntries(t, d, "a")
}
