package bus

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tagbus/tags"
)

// lossyModel is what a lossy queue holds, one message after another.
type lossyModel struct {
	kind  PolicyKind
	limit int
	tight bool
	held  []Message
	lost  map[origins]int
	of    []*source // of held
}

func (m *lossyModel) size() (n int) {
	for _, x := range m.held {
		n += len(x.Data) + messageCost
	}
	return n
}

func (m *lossyModel) drop(i int) {
	m.lost[origins{m.of[i], m.held[i].Tag}]++
	m.held, m.of = slices.Delete(m.held, i, i+1), slices.Delete(m.of, i, i+1)
}

func (m *lossyModel) push(src *source, x Message) (taken bool) {
	full := m.size() >= m.limit
	switch {
	case m.kind == Latest && (full || m.tight):
		m.tight = true
		newest := map[origins]bool{{src, x.Tag}: true}
		for i := len(m.held) - 1; i >= 0; i-- {
			o := origins{m.of[i], m.held[i].Tag}
			if newest[o] {
				m.drop(i)
			}
			newest[o] = true
		}
	case m.kind != DropOldest && m.kind != Latest && full:
		m.lost[origins{src, x.Tag}]++
		return false
	}
	for m.size() >= m.limit {
		m.drop(0)
	}
	m.held, m.of = append(m.held, x), append(m.of, src)
	return true
}

func texts(messages []Message) (all []string) {
	for _, m := range messages {
		all = append(all, fmt.Sprintf("%v:%d:%s", m.Tag, m.Counter, m.Data))
	}
	return all
}

// TestAFullQueueLosesByItsPolicy compares a queue with a simple model of it, over
// random messages of random sizes, which are read now and then.
func TestAFullQueueLosesByItsPolicy(t *testing.T) {
	for _, kind := range []PolicyKind{DropNewest, DropOldest, Latest, Sample} {
		t.Run(kind.String(), func(t *testing.T) {
			for seed := range uint64(200) {
				testLossyQueue(t, kind, rand.New(rand.NewPCG(seed, 7)))
			}
		})
	}
}

func testLossyQueue(t *testing.T, kind PolicyKind, r *rand.Rand) {
	t.Helper()
	limit := 1 + r.IntN(3000)
	q := newMessageQueue(limit, newRetainer(defaultRetainBytes))
	model := &lossyModel{kind: kind, limit: limit, lost: make(map[origins]int)}
	lost := make(map[origins]int)
	sources := []*source{{}, {}}
	count := func(src *source, tag tags.Tag) { lost[origins{src, tag}]++ }
	names := 1 + r.IntN(40) // tags
	for n := range 600 {
		if r.IntN(100) == 0 {
			q.mu.Lock()
			waits := len(q.filled.messages) > 0
			q.mu.Unlock()
			if waits {
				readBoth(t, q, model)
			}
		}
		m := Message{Tag: tags.Tag(r.IntN(names)), Counter: uint64(n), Data: []byte(strings.Repeat(string(rune('a'+n%26)), r.IntN(100)))}
		src := sources[r.IntN(2)]
		if got, want := q.pushLossy(kind, src, m, count), model.push(src, m); got != want {
			t.Fatalf("message %d: taken: got %v, want %v", n, got, want)
		}
		if held := q.filled.holds(); held != model.size() || q.filled.size() > 2*(held+len(m.Data)+messageCost) {
			t.Fatalf("message %d: got %d bytes in %d, want %d in at most twice that", n, held, q.filled.size(), model.size())
		}
	}
	readBoth(t, q, model)
	if len(lost) != len(model.lost) {
		t.Fatalf("lost: got %d tags, want %d", len(lost), len(model.lost))
	}
	for o, n := range model.lost {
		if lost[o] != n {
			t.Errorf("tag %v: got %d lost, want %d", o.tag, lost[o], n)
		}
	}
}

// readBoth reads all that is in the queue and in the model.
func readBoth(t *testing.T, q *messageQueue, model *lossyModel) {
	t.Helper()
	if drained, err := q.next(t.Context()); drained || err != nil {
		t.Fatalf("got drained %v, %v want neither: no reader waits for this queue", drained, err)
	}
	var got []Message
	for {
		m, ok := q.take()
		if !ok {
			break
		}
		got = append(got, m)
	}
	if a, b := texts(got), texts(model.held); !slices.Equal(a, b) {
		t.Fatalf("got %q, want %q", a, b)
	}
	model.held, model.of, model.tight = nil, nil, false
}

func TestAnEndedQueueLosesNothing(t *testing.T) {
	q := newMessageQueue(1, newRetainer(defaultRetainBytes))
	q.close(nil)
	for _, kind := range []PolicyKind{DropNewest, DropOldest, Latest} {
		for n := range 3 {
			if !q.pushLossy(kind, nil, queueMessage(n, "x"), func(*source, tags.Tag) { t.Error("lost a message after the end") }) {
				t.Errorf("%v: a message after the end counts as lost", kind)
			}
		}
	}
}
