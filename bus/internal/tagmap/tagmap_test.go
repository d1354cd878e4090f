// SPDX-License-Identifier: Apache-2.0

package tagmap

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"tagbus/internal/testkit"
	"tagbus/tags"
)

func TestMapDoesWhatAMapDoes(t *testing.T) {
	testkit.OneGoroutine(t)
	tag := rapid.OneOf(
		rapid.Uint64(),
		rapid.Uint64Range(0, 300),
		rapid.Map(rapid.Uint64Range(0, 300), func(n uint64) uint64 { return n << 52 }),
		rapid.Map(rapid.Uint64Range(0, 300), func(n uint64) uint64 { return -n }),
	)
	rapid.Check(t, func(t *rapid.T) {
		var m Map[uint64]
		want := make(map[tags.Tag]uint64)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				tag := tags.Tag(tag.Draw(t, "tag"))
				if _, ok := want[tag]; ok {
					return
				}
				value := rapid.Uint64().Draw(t, "value")
				v := m.Add(tag, func(v *uint64) {
					if *v != 0 || m.Get(tag) != nil {
						t.Fatalf("tag %v: before it is filled it holds %d and is seen: %v", tag, *v, m.Get(tag) != nil)
					}
					*v = value
				})
				want[tag] = value
				if m.Get(tag) != v {
					t.Fatalf("tag %v: get returns another value than add", tag)
				}
			},
			"change": func(t *rapid.T) {
				tag := tags.Tag(tag.Draw(t, "tag"))
				if v := m.Get(tag); v != nil {
					*v++
					want[tag]++
				}
			},
			"get": func(t *rapid.T) {
				tag := tags.Tag(tag.Draw(t, "tag"))
				v, ok := want[tag]
				if got := m.Get(tag); (got != nil) != ok || ok && *got != v {
					t.Fatalf("tag %v: got %v, want %d, %v", tag, got, v, ok)
				}
			},
			"sweep": func(t *rapid.T) {
				by := rapid.Uint64Range(2, 10).Draw(t, "by")
				budget := rapid.IntRange(1, 200).Draw(t, "budget")
				for place, done := uint64(0), false; !done; {
					place, done = m.sweep(place, budget, func(e *Entry[uint64]) bool {
						if e.Value%by == 0 {
							return true
						}
						delete(want, e.Tag)
						return false
					})
				}
				m.shrink()
			},
			"move": func(t *rapid.T) { m.Move(rapid.IntRange(1, 200).Draw(t, "slots")) },
			"add many": func(t *rapid.T) {
				base := tag.Draw(t, "base")
				for i := range rapid.Uint64Range(1, 4*movedAtOnce).Draw(t, "n") {
					tag := tags.Tag(base + i<<16)
					if _, ok := want[tag]; !ok {
						want[tag] = i
						m.Add(tag, func(v *uint64) { *v = i })
					}
				}
			},
			"all": func(t *rapid.T) {
				seen := make(map[tags.Tag]uint64)
				m.All(func(e *Entry[uint64]) {
					if _, twice := seen[e.Tag]; twice {
						t.Fatalf("tag %v twice", e.Tag)
					}
					seen[e.Tag] = e.Value
				})
				if !maps.Equal(seen, want) {
					t.Fatalf("got %d entries, want %d", len(seen), len(want))
				}
			},
			"": func(t *rapid.T) {
				if m.count != len(want) {
					t.Fatalf("counted %d entries, want %d", m.count, len(want))
				}
				for tag, v := range want {
					if m.Get(tag) == nil || *m.Get(tag) != v {
						t.Fatalf("tag %v: got %v, want %d", tag, m.Get(tag), v)
					}
				}
			},
		})
	})
}

// Readers run beside a writer through many growths. What a reader has seen of a
// tag, it sees for ever, at the same address and filled.
func TestMapIsReadWhileItGrows(t *testing.T) {
	const readers, count = 4, 1000
	for range 50 {
		var m Map[filledEntry]
		var added atomic.Int64 // tags that any reader must find
		var wg sync.WaitGroup
		for r := range readers {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(1, uint64(r)))
				where := make(map[tags.Tag]*filledEntry)
				for added.Load() < count {
					known := added.Load()
					i := rnd.Int64N(known + 16) // also some that are just being added
					tag := entryTag(i)
					v := m.Get(tag)
					switch {
					case v == nil && (i < known || where[tag] != nil):
						t.Errorf("tag %v is not found any more", tag)
						return
					case v != nil && *v != filledEntry{tag, ^tag}:
						t.Errorf("tag %v: got %v", tag, *v)
						return
					case v != nil && where[tag] != nil && where[tag] != v:
						t.Errorf("tag %v has moved", tag)
						return
					}
					where[tag] = v
				}
			})
		}
		for i := range int64(count) {
			tag := entryTag(i)
			m.Add(tag, func(v *filledEntry) { *v = filledEntry{tag, ^tag} })
			added.Store(i + 1)
		}
		wg.Wait()
	}
}

// filledEntry shows whether it was filled before it was seen.
type filledEntry struct{ tag, inverse tags.Tag }

func entryTag(i int64) tags.Tag { return 0x1000013000118000 + tags.Tag(i)<<16 }

// probes returns how many slots get looks at for the tags of m: on average, and
// at worst.
func probes[V any](m *Map[V]) (mean float64, worst int) {
	t := m.slots.Load()
	sum := 0
	for i := range t.slots {
		e := t.slots[i].Load()
		if e == nil {
			continue
		}
		n := (i-t.home(e.Tag)+len(t.slots))&(len(t.slots)-1) + 1
		sum += n
		worst = max(worst, n)
	}
	return float64(sum) / float64(m.count), worst
}

// Sweep is a field of a tag that takes count values.
type sweep struct{ shift, count int }

// Fields of the tags of a detector.
func sweepDetectors(n int) sweep  { return sweep{52, n} }
func sweepConnectors(n int) sweep { return sweep{36, n} }
func sweepLinks(n int) sweep      { return sweep{22, n} }
func sweepELinks(n int) sweep     { return sweep{16, n} }
func sweepStreams(n int) sweep    { return sweep{0, n} }

// tagsOf calls f for all combinations of the sweeps.
func tagsOf(base tags.Tag, sweeps []sweep, f func(tags.Tag)) {
	if len(sweeps) == 0 {
		f(base)
		return
	}
	for i := range sweeps[0].count {
		tagsOf(base+tags.Tag(i)<<sweeps[0].shift, sweeps[1:], f)
	}
}

func TestMapFindsDetectorTagsInFewProbes(t *testing.T) {
	testkit.OneGoroutine(t)
	const base = 0x1000013000118000
	tests := []struct {
		name   string
		base   tags.Tag
		sweeps []sweep
	}{
		{"numbers from 1", 1, []sweep{sweepStreams(100_000)}},
		{"numbers with free low bits", 0, []sweep{{16, 100_000}}},
		{"high bits only", 0, []sweep{{44, 100_000}}},
		{"connectors", 0x1000000000118000, []sweep{sweepConnectors(65_536)}},
		{"connectors and two e-links", 0x1000000000108000, []sweep{sweepConnectors(50_000), sweepELinks(2)}},
		{"connectors and links", base, []sweep{sweepConnectors(400), sweepLinks(250)}},
		{"detectors and connectors", 0x0000000000118000, []sweep{sweepDetectors(250), sweepConnectors(400)}},
		{"detectors, connectors and links", 0x0000000000118000, []sweep{sweepDetectors(10), sweepConnectors(100), sweepLinks(100)}},
		{"links", base, []sweep{sweepLinks(8192)}},
		{"links and e-links", base, []sweep{sweepLinks(1600), sweepELinks(63)}},
		{"connectors, links and e-links", base, []sweep{sweepConnectors(24), sweepLinks(64), sweepELinks(63)}},
		{"connectors, links, e-links and streams", base, []sweep{sweepConnectors(16), sweepLinks(24), sweepELinks(32), sweepStreams(8)}},
		{"e-links and streams", base, []sweep{sweepConnectors(7), sweepELinks(56), sweepStreams(256)}},
		{"streams and links", base, []sweep{sweepLinks(400), sweepStreams(250)}},
		{"every fourth e-link, both directions", base, []sweep{sweepConnectors(24), sweepLinks(130), {18, 16}, {15, 2}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var m Map[struct{}]
			worstMean, worst := 0.0, 0
			tagsOf(test.base, test.sweeps, func(tag tags.Tag) {
				if m.count > 1000 && 2*(m.count+1) > len(m.slots.Load().slots) { // fullest
					mean, n := probes(&m)
					worstMean, worst = max(worstMean, mean), max(worst, n)
				}
				m.Add(tag, func(*struct{}) {})
			})
			mean, n := probes(&m)
			worstMean, worst = max(worstMean, mean), max(worst, n)
			t.Logf("%d tags: %.2f probes on average, %d at worst", m.count, worstMean, worst)
			// At half full, chance needs 1.5 on average and some 60 at worst.
			if worstMean > 1.75 || worst > 100 {
				t.Errorf("got %.2f probes on average and %d at worst, want at most 1.75 and 100", worstMean, worst)
			}
		})
	}
}

func TestMapGetAllocatesNothing(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	var m Map[uint64]
	m.Add(7, func(v *uint64) { *v = 1 })
	if n := testing.AllocsPerRun(100, func() { *m.Get(7)++; m.Get(8) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

func BenchmarkGet(b *testing.B) {
	for _, count := range []int{16, 1000, 100_000} {
		var m Map[uint64]
		goMap := make(map[tags.Tag]*uint64)
		order := make([]tags.Tag, count)
		for i := range order {
			order[i] = 0x1000013000118000 + tags.Tag(i)<<16
			goMap[order[i]] = m.Add(order[i], func(*uint64) {})
		}
		rand.New(rand.NewPCG(1, 2)).Shuffle(count, func(i, j int) { order[i], order[j] = order[j], order[i] })
		run := func(b *testing.B, get func(tags.Tag) *uint64) {
			b.Helper()
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				*get(order[i])++
				if i++; i == count {
					i = 0
				}
			}
		}
		b.Run(fmt.Sprintf("map=Map/tags=%d", count), func(b *testing.B) { run(b, m.Get) })
		b.Run(fmt.Sprintf("map=go/tags=%d", count), func(b *testing.B) {
			run(b, func(tag tags.Tag) *uint64 { return goMap[tag] })
		})
	}
}
