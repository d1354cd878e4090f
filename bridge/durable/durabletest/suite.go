// SPDX-License-Identifier: Apache-2.0

// Package durabletest is the contract of durable.Log as tests.
package durabletest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"tagbus/bridge/durable"
	"tagbus/tags"
)

// Run tests an engine.
//
//   - open: opens another Log with the same records, which the suite closes; each test has a log of
//     its own, which is empty at first.
func Run(t *testing.T, begin func(t *testing.T) (open func() durable.Log)) {
	run(t, begin, (*bed).numbers)
}

// RunSplit tests an engine whose log has several parts, with the records of each key in one: the number of a record is refused as a
// place to begin or to end, and the parts are read in the order of time as far as that is known.
func RunSplit(t *testing.T, begin func(t *testing.T) (open func() durable.Log)) {
	run(t, begin, (*bed).noNumbers)
}

func run(t *testing.T, begin func(t *testing.T) (open func() durable.Log), numbers func(*bed)) {
	for _, test := range []struct {
		name string
		run  func(*bed)
	}{
		{"a record is stored behind the one that it names", (*bed).behind},
		{"a record behind another one is refused as a conflict", (*bed).conflict},
		{"the same record again is there once", (*bed).again},
		{"the last record of each key outlives the log", (*bed).tails},
		{"a reader gets what was asked for", (*bed).read},
		{"a reader goes on behind the last record of each part", (*bed).goesOn},
		{"a reader begins and ends at a number", numbers},
		{"a reader follows", (*bed).follow},
		{"a record may have as many bytes as the log says", (*bed).large},
		{"many records are on their way at once", (*bed).many},
		{"nothing is done after close", (*bed).closed},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := &bed{T: t, open: begin(t)}
			b.log = b.open()
			t.Cleanup(func() { b.close(b.log) })
			test.run(b)
		})
	}
}

// bed has a log.
type bed struct {
	*testing.T
	open func() durable.Log
	log  durable.Log
}

var (
	one   = durable.Key{Tag: 1, Instance: "ALICE"}
	other = durable.Key{Tag: 1, Instance: "BOB"}
	two   = durable.Key{Tag: tags.MaxTag, Instance: "ALICE"}
	odd   = durable.Key{Tag: 2, Instance: "a.b *>=\xff\u00e9"}
)

func (b *bed) close(log durable.Log) {
	b.Helper()
	if err := log.Close(); err != nil {
		b.Errorf("got %v from Close, want nil", err)
	}
}

// result is the outcome of an append.
type result struct {
	at  durable.Position
	err error
}

// begin appends, and returns where the outcome comes.
func (b *bed) begin(key durable.Key, after durable.Position, id string, data []byte) <-chan result {
	done := make(chan result, 2)
	b.log.Append(durable.Append{Key: key, After: after, ID: id, Data: data, Done: func(at durable.Position, err error) { done <- result{at, err} }})
	return done
}

// append appends text, and waits for the outcome.
func (b *bed) append(key durable.Key, after durable.Position, text string) (durable.Position, error) {
	b.Helper()
	r := <-b.begin(key, after, fmt.Sprintf("%d.%x.%s", key.Tag, key.Instance, text), []byte(text))
	return r.at, r.err
}

// must appends text, and fails the test unless it is stored.
func (b *bed) must(key durable.Key, after durable.Position, text string) durable.Position {
	b.Helper()
	at, err := b.append(key, after, text)
	if err != nil || at <= after {
		b.Fatalf("append %q behind %d: got %d, %v, want a later position", text, after, at, err)
	}
	return at
}

func (b *bed) wantLast(key durable.Key, at durable.Position, text string) {
	b.Helper()
	e, err := b.log.Last(b.Context(), key)
	if err != nil || e.Key != key || e.Position != at || string(e.Data) != text {
		b.Errorf("got %q at %d of %v, %v, want %q at %d", e.Data, e.Position, e.Key, err, text, at)
	}
}

func (b *bed) behind() {
	b.wantLast(one, 0, "")
	at := b.must(one, 0, "first")
	b.wantLast(one, at, "first")
	b.wantLast(other, 0, "")
	b.must(other, 0, "another key")
	at = b.must(one, at, "second")
	b.wantLast(one, at, "second")
	b.wantLast(odd, 0, "")
	at = b.must(odd, 0, "odd")
	b.wantLast(odd, at, "odd")
}

func (b *bed) conflict() {
	if _, err := b.append(one, 7, "behind nothing"); !errors.Is(err, durable.ErrConflict) {
		b.Errorf("got %v, want ErrConflict", err)
	}
	first := b.must(one, 0, "first")
	second := b.must(one, first, "second")
	for _, after := range []durable.Position{0, first, second + 100} {
		if _, err := b.append(one, after, fmt.Sprintf("behind %d", after)); !errors.Is(err, durable.ErrConflict) {
			b.Errorf("got %v behind %d, want ErrConflict", err, after)
		}
	}
	b.wantLast(one, second, "second")
}

func (b *bed) again() {
	first := b.must(one, 0, "first")
	// An engine may know it again, and may not.
	if at, err := b.append(one, 0, "first"); err == nil && at != first || err != nil && !errors.Is(err, durable.ErrConflict) {
		b.Errorf("got %d, %v, want %d or ErrConflict", at, err, first)
	}
	b.wantRead(durable.Query{}, "first")
}

func (b *bed) tails() {
	b.must(one, b.must(one, 0, "1"), "2")
	b.must(other, 0, "3")
	b.must(two, 0, "4")
	b.must(odd, 0, "5")
	second := b.open()
	defer b.close(second)
	for _, test := range []struct {
		set  tags.Set
		want []string
	}{
		{tags.Everything(), []string{"2", "3", "4", "5"}},
		{tags.Of(1, 2), []string{"2", "3", "5"}},
		{tags.Of(3), nil},
		{tags.Match(1, 1), []string{"2", "3", "4"}},
	} {
		var got []string
		for e, err := range second.Tails(b.Context(), test.set) {
			if err != nil {
				b.Fatal(err)
			}
			got = append(got, string(e.Data))
		}
		if slices.Sort(got); !slices.Equal(got, test.want) {
			b.Errorf("tags %v: got %q, want %q", test.set, got, test.want)
		}
	}
}

func (b *bed) large() {
	data := bytes.Repeat([]byte("tagbus"), b.log.MaxRecordBytes())[:b.log.MaxRecordBytes()]
	if r := <-b.begin(one, 0, "large", data); r.err != nil {
		b.Errorf("got %v for a record of %d bytes, want it to be stored", r.err, len(data))
	}
	if e, err := b.log.Last(b.Context(), one); err != nil || !bytes.Equal(e.Data, data) {
		b.Errorf("got %d bytes, %v, want all %d", len(e.Data), err, len(data))
	}
	if r := <-b.begin(two, 0, "larger", make([]byte, 64<<20)); !errors.Is(r.err, durable.ErrRefused) {
		b.Errorf("got %v for 64 MiB, want ErrRefused", r.err)
	}
}

func (b *bed) many() {
	const keys = 300
	var all []<-chan result
	key := func(i int) durable.Key { return durable.Key{Tag: tags.Tag(i), Instance: "ALICE"} }
	for i := range keys {
		all = append(all, b.begin(key(i), 0, fmt.Sprint(i), []byte("x")))
	}
	seen := make(map[durable.Position]bool)
	for i, done := range all {
		r := <-done
		if r.err != nil || r.at == 0 {
			b.Errorf("key %d: got %d, %v", i, r.at, r.err)
		}
		seen[r.at] = true
	}
	if len(seen) != keys {
		b.Errorf("got %d positions, want %d", len(seen), keys)
	}
}

func (b *bed) closed() {
	log := b.open()
	b.close(log)
	b.close(log)
	done := make(chan error, 1)
	log.Append(durable.Append{Key: one, ID: "x", Data: []byte("x"), Done: func(_ durable.Position, err error) { done <- err }})
	if err := <-done; !errors.Is(err, durable.ErrClosed) {
		b.Errorf("got %v from Append, want ErrClosed", err)
	}
	if _, err := log.Last(b.Context(), one); !errors.Is(err, durable.ErrClosed) {
		b.Errorf("got %v from Last, want ErrClosed", err)
	}
}
