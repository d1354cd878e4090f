// SPDX-License-Identifier: Apache-2.0

package mailbox

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tagbus/subscription"
)

// held is a message in a model.
type held struct {
	key  key
	m    int
	data string
}

// lossyModel is what a box holds, one message after another.
type lossyModel struct {
	kind  subscription.PolicyKind
	limit int
	tight bool
	held  []held
	lost  map[key]int
}

func (m *lossyModel) size() (n int) {
	for _, x := range m.held {
		n += len(x.data) + MessageBytes
	}
	return n
}

func (m *lossyModel) drop(i int) {
	m.lost[m.held[i].key]++
	m.held = slices.Delete(m.held, i, i+1)
}

func (m *lossyModel) push(x held) (taken bool) {
	full := m.size() >= m.limit
	switch {
	case m.kind == subscription.Latest && (full || m.tight):
		m.tight = true
		newest := map[key]bool{x.key: true}
		for i := len(m.held) - 1; i >= 0; i-- {
			k := m.held[i].key
			if newest[k] {
				m.drop(i)
			}
			newest[k] = true
		}
	case m.kind != subscription.DropOldest && m.kind != subscription.Latest && full:
		m.lost[x.key]++
		return false
	}
	for m.size() >= m.limit {
		m.drop(0)
	}
	m.held = append(m.held, x)
	return true
}

// TestAFullBoxLosesByItsPolicy compares a box with a simple model of it, over random
// messages of random sizes, which are read now and then.
func TestAFullBoxLosesByItsPolicy(t *testing.T) {
	for _, kind := range []subscription.PolicyKind{subscription.DropNewest, subscription.DropOldest, subscription.Latest, subscription.Sample} {
		t.Run(kind.String(), func(t *testing.T) {
			for seed := range uint64(200) {
				testLossyBox(t, kind, rand.New(rand.NewPCG(seed, 7)))
			}
		})
	}
}

func testLossyBox(t *testing.T, kind subscription.PolicyKind, r *rand.Rand) {
	t.Helper()
	limit := 1 + r.IntN(3000)
	mail := New[key, int](limit, kind)
	model := &lossyModel{kind: kind, limit: limit, lost: make(map[key]int)}
	lost := make(map[key]int)
	count := func(k key) { lost[k]++ }
	names := 1 + r.IntN(40) // tags
	for n := range 600 {
		if r.IntN(100) == 0 && len(model.held) > 0 {
			readBoth(t, mail, model)
		}
		x := held{key{1 + r.IntN(2), r.IntN(names)}, n, strings.Repeat(string(rune('a'+n%26)), r.IntN(100))}
		if got, want := mail.PushLossy(x.key, x.m, []byte(x.data), count), model.push(x); got != want {
			t.Fatalf("message %d: taken: got %v, want %v", n, got, want)
		}
		if holds := mail.filling.holds(); holds != model.size() || mail.filling.cost > 2*(holds+len(x.data)+MessageBytes) {
			t.Fatalf("message %d: got %d bytes in %d, want %d in at most twice that", n, holds, mail.filling.cost, model.size())
		}
	}
	readBoth(t, mail, model)
	if !maps.Equal(lost, model.lost) {
		t.Errorf("lost: got %v, want %v", lost, model.lost)
	}
}

// readBoth reads all that is in the box and in the model.
func readBoth(t *testing.T, mail *box, model *lossyModel) {
	t.Helper()
	if drained, err := mail.Next(t.Context()); drained || err != nil {
		t.Fatalf("got drained %v, %v want neither: this box makes no loop wait", drained, err)
	}
	var got, want []string
	for {
		m, data, ok := mail.Take()
		if !ok {
			break
		}
		got = append(got, fmt.Sprintf("%d:%s", m, data))
	}
	for _, x := range model.held {
		want = append(want, fmt.Sprintf("%d:%s", x.m, x.data))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	model.held, model.tight = nil, false
}

func TestAnEndedBoxLosesNothing(t *testing.T) {
	for _, kind := range []subscription.PolicyKind{subscription.DropNewest, subscription.DropOldest, subscription.Latest} {
		mail := New[key, int](1, kind)
		mail.Close(nil)
		for n := range 3 {
			if !mail.PushLossy(key{1, n}, n, []byte("x"), func(key) { t.Error("lost a message after the end") }) {
				t.Errorf("%v: a message after the end counts as lost", kind)
			}
		}
	}
}
