// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// cacheOf returns a cache that is closed at the end of the test.
func cacheOf(t interface {
	Helper()
	Fatal(args ...any)
	Cleanup(f func())
}, depth, bytes int,
) *Cache {
	t.Helper()
	c, err := New(depth, bytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// content returns the messages of a line, oldest first.
func (c *Cache) content(line uint32) (messages []string) {
	r := c.Lock()
	defer r.Unlock()
	m, n := r.Newest(line, c.Depth())
	for range n {
		text := fmt.Sprintf("%d:", r.Status(m))
		r.Pieces(m, func(piece []byte) { text += string(piece) })
		messages = append(messages, text)
		m = r.After(m)
	}
	return messages
}

func TestTheCacheKeepsTheNewest(t *testing.T) {
	big := string(bytes.Repeat([]byte("0123456789"), 30)) // four blocks
	tests := []struct {
		name   string
		depth  int
		blocks int
		add    []string // by the first letter: of line a or b
		a, b   []string
	}{
		{"nothing", 3, 8, nil, nil, nil},
		{"fewer than the depth", 3, 8, []string{"a1", "b1", "a2"}, []string{"a1", "a2"}, []string{"b1"}},
		{"the oldest of a full line goes", 2, 8, []string{"a1", "a2", "b1", "a3"}, []string{"a2", "a3"}, []string{"b1"}},
		{"the oldest of all goes when the memory is full", 9, 3, []string{"a1", "b1", "a2", "b2"}, []string{"a2"}, []string{"b1", "b2"}},
		{"a large message pushes several out", 9, 5, []string{"a1", "b1", "a2", "a" + big}, []string{"a2", "a" + big}, nil},
		{"its memory serves small ones", 9, 5, []string{"a" + big, "b1", "b2", "b3"}, nil, []string{"b1", "b2", "b3"}},
		{"a message larger than the cache leaves no hole", 9, 3, []string{"a1", "b1", "a" + big}, nil, []string{"b1"}},
		{"and what follows is kept", 9, 3, []string{"a1", "a" + big, "a3"}, []string{"a3"}, nil},
		{"an empty message takes a block", 9, 2, []string{"a", "b", "a"}, []string{"a"}, []string{"b"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := cacheOf(t, test.depth, test.blocks*BlockBytes)
			a, b := c.NewLine(), c.NewLine()
			for i, text := range test.add {
				line := map[byte]uint32{'a': a, 'b': b}[text[0]]
				c.Add(line, uint16(i), []byte(text))
			}
			for line, want := range map[uint32][]string{a: test.a, b: test.b} {
				got := c.content(line)
				for i := range got {
					_, got[i], _ = strings.Cut(got[i], ":")
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("line %d (-want +got):\n%s", line, d)
				}
			}
		})
	}
}

// TestAClosedCacheIsEmpty: a goroutine that still adds to it, or asks what it has,
// touches none of the memory that it had.
func TestAClosedCacheIsEmpty(t *testing.T) {
	c := cacheOf(t, 10, 64*BlockBytes)
	var adding sync.WaitGroup
	for range 4 {
		line := c.NewLine()
		adding.Go(func() {
			data := make([]byte, 2000)
			for i := range 2000 {
				c.Add(line, 0, data[:i])
			}
		})
	}
	c.Close()
	adding.Wait()
	c.Close()
	if messages, bytes := c.Use(); messages != 0 || bytes != 0 {
		t.Errorf("got %d messages and %d bytes, want none", messages, bytes)
	}
	for line := range uint32(4) {
		c.Empty(line)
		if got := c.content(line); len(got) > 0 {
			t.Errorf("line %d: got %q, want nothing", line, got)
		}
	}
	if c.region != nil {
		t.Error("got memory that nobody frees, want none")
	}
}

// The cache against a list of all messages by age.
func TestTheCacheIsWhatItShouldBe(t *testing.T) {
	type message struct {
		line   uint32
		blocks uint32
		text   string
	}
	rapid.Check(t, func(t *rapid.T) {
		depth := rapid.IntRange(1, 6).Draw(t, "depth")
		blocks := rapid.IntRange(1, 40).Draw(t, "blocks")
		c := cacheOf(t, depth, blocks*BlockBytes)
		var model []message
		const lines = 4
		for range lines {
			c.NewLine()
		}
		of := func(line uint32) (texts []string) {
			for _, m := range model {
				if m.line == line {
					texts = append(texts, m.text)
				}
			}
			return texts
		}
		for i := range rapid.IntRange(0, 200).Draw(t, "messages") {
			line := uint32(rapid.IntRange(0, lines-1).Draw(t, "line"))
			size := rapid.SampledFrom([]int{0, 1, 40, blockData, blockData + 1, 300, 2000}).Draw(t, "size")
			data := bytes.Repeat([]byte{byte('a' + i%26)}, size)
			c.Add(line, uint16(i), data)

			m := message{line, blocksOf(size), fmt.Sprintf("%d:%s", uint8(i), data)}
			mine := func(o message) bool { return o.line == line }
			if m.blocks > uint32(blocks) {
				model = slices.DeleteFunc(model, mine)
			} else {
				if len(of(line)) == depth {
					oldest := slices.IndexFunc(model, mine)
					model = slices.Delete(model, oldest, oldest+1)
				}
				model = append(model, m)
				for used := uint32(0); ; model = model[1:] {
					used = 0
					for _, o := range model {
						used += o.blocks
					}
					if used <= uint32(blocks) {
						break
					}
				}
			}
			used := 0
			for line := range uint32(lines) {
				if d := cmp.Diff(of(line), c.content(line)); d != "" {
					t.Fatalf("line %d (-want +got):\n%s", line, d)
				}
			}
			for _, o := range model {
				used += int(o.blocks) * BlockBytes
			}
			if messages, bytes := c.Use(); messages != len(model) || bytes != used {
				t.Fatalf("got %d messages in %d bytes, want %d in %d", messages, bytes, len(model), used)
			}
		}
	})
}

// Several goroutines push each other's messages out: what is left of a line is
// always its end.
func TestTheCacheHasNoHoles(t *testing.T) {
	const depth, goroutines, messages = 20, 4, 5000
	c := cacheOf(t, depth, 30*BlockBytes)
	var wg sync.WaitGroup
	for range goroutines {
		line := c.NewLine()
		wg.Go(func() {
			for i := range messages {
				text := fmt.Sprint(i, ":")
				c.Add(line, 0, append([]byte(text), make([]byte, i%7*90)...))
				got := c.content(line)
				for k, m := range got {
					want := fmt.Sprintf("0:%d:", i-len(got)+1+k)
					if m[:min(len(m), len(want))] != want {
						t.Errorf("message %d of %d after %d: got %.10q, want %q", k, len(got), i, m, want)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	for line := range uint32(goroutines) {
		c.mu.Lock()
		c.clear(line)
		c.mu.Unlock()
	}
	if n, bytes := c.Use(); n != 0 || bytes != 0 {
		t.Errorf("emptied: got %d messages in %d bytes, want none", n, bytes)
	}
}
