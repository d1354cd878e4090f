// SPDX-License-Identifier: Apache-2.0

package durabletest

import (
	"context"
	"errors"
	"slices"
	"time"

	"tagbus/bridge/durable"
	"tagbus/tags"
)

// wantRead reads to the end. The order is that of each key.
func (b *bed) wantRead(q durable.Query, want ...string) {
	b.Helper()
	var got []string
	last := make(map[durable.Key]durable.Position)
	for e, err := range b.log.Read(b.Context(), q) {
		if err != nil {
			b.Errorf("got %v, want no error", err)
			return
		}
		if e.Position <= last[e.Key] {
			b.Errorf("%+v: got %q at %d, want a position behind %d", q, e.Data, e.Position, last[e.Key])
		}
		last[e.Key] = e.Position
		got = append(got, string(e.Data))
	}
	slices.Sort(got)
	if slices.Sort(want); !slices.Equal(got, want) {
		b.Errorf("%+v: got %q, want %q", q, got, want)
	}
}

// some appends records of three keys, and returns the positions of two of one.
func (b *bed) some() (first, second durable.Position) {
	first = b.must(one, 0, "first")
	b.must(two, 0, "2")
	second = b.must(one, first, "second")
	b.must(one, second, "third")
	b.must(other, 0, "3")
	return first, second
}

func (b *bed) read() {
	b.wantRead(durable.Query{})
	b.some()
	b.wantRead(durable.Query{}, "first", "2", "second", "third", "3")
	b.wantRead(durable.Query{Tags: tags.Of(1)}, "first", "second", "third", "3")
	b.wantRead(durable.Query{Tags: tags.Of(9)})
	b.wantRead(durable.Query{End: durable.End{Time: time.Now().Add(-time.Hour)}})
	b.wantRead(durable.Query{End: durable.End{Time: time.Now().Add(time.Hour)}}, "first", "2", "second", "third", "3")
	b.wantRead(durable.Query{Start: durable.Start{Time: time.Now().Add(time.Hour)}})
	b.wantRead(durable.Query{Start: durable.Start{Time: time.Now().Add(-time.Hour)}}, "first", "2", "second", "third", "3")
	for _, err := range b.log.Read(b.Context(), durable.Query{}) {
		if err != nil {
			b.Errorf("got error %v, want none", err)
		}
		break // what is left over disturbs nothing
	}
}

func (b *bed) numbers() {
	first, second := b.some()
	b.wantRead(durable.Query{Start: durable.Start{After: first}}, "2", "second", "third", "3")
	b.wantRead(durable.Query{Tags: tags.Of(1), Start: durable.Start{After: second}}, "third", "3")
	b.wantRead(durable.Query{Tags: tags.Of(1), End: durable.End{Before: second}}, "first")
	b.wantRead(durable.Query{Start: durable.Start{After: first}, End: durable.End{Before: second + 1}, Follow: true}, "2", "second")
}

func (b *bed) noNumbers() {
	_, second := b.some()
	for _, q := range []durable.Query{{Start: durable.Start{After: second}}, {End: durable.End{Before: second}}} {
		n := 0
		for e, err := range b.log.Read(b.Context(), q) {
			if n++; !errors.Is(err, durable.ErrRefused) {
				b.Errorf("%+v: got %q, %v, want ErrRefused", q, e.Data, err)
			}
		}
		if n != 1 {
			b.Errorf("%+v: got %d records or errors, want an error", q, n)
		}
	}
	var got []string // with a Read that goes on where the one before has ended
	at := durable.Position(0)
	for e, err := range b.log.Read(b.Context(), durable.Query{}) {
		if err != nil {
			b.Fatal(err)
		}
		if got, at = append(got, string(e.Data)), e.Position; len(got) == 2 {
			break
		}
	}
	for e, err := range b.log.Read(b.Context(), durable.Query{Start: durable.Start{After: at}}) {
		if err != nil {
			b.Fatal(err)
		}
		got = append(got, string(e.Data))
	}
	if slices.Sort(got); !slices.Equal(got, []string{"2", "3", "first", "second", "third"}) {
		b.Errorf("got %q in two parts, want each record once", got)
	}
}

func (b *bed) follow() {
	at := b.must(one, 0, "first")
	end := errors.New("the end")
	ctx, cancel := context.WithCancelCause(b.Context())
	got, done := make(chan string), make(chan error, 1)
	go func() {
		for e, err := range b.log.Read(ctx, durable.Query{Follow: true}) {
			if err != nil {
				done <- err
				return
			}
			got <- string(e.Data)
		}
		done <- nil
	}()
	for _, next := range []string{"second", "third"} {
		<-got
		at = b.must(one, at, next)
	}
	if last := <-got; last != "third" {
		b.Errorf("got %q, want the third record", last)
	}
	cancel(end)
	if err := <-done; !errors.Is(err, end) {
		b.Errorf("got %v, want the cause of the end", err)
	}
}
