// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/internal/sanitize"
	"tagbus/subscription"
)

// MaxAnswerBytes limits an answer.
const MaxAnswerBytes = 32 << 20

// partBytes is what a part of an answer counts beyond its bytes.
const partBytes = 64

// question is a question of Ask.
type question struct {
	entry  directory.Entry
	asks   state.Question
	id     uint64
	data   []byte // the message
	result chan answer
	stage  atomic.Int32

	// Loop only.
	tries int // connections that were lost
}

// answer is what becomes of a question: the parts of the answer, or an error.
type answer struct {
	parts [][]byte
	err   error
}

// The stages of a question, for the error if its time is over.
const (
	stageQueued int32 = iota
	stageDialing
	stageGreeting
	stageAsked
)

func newQuestion(id uint64, e directory.Entry, q state.Question) (*question, error) {
	q = q.Bounded()
	m := &subscription.Describe{ID: id, Peers: q.Peers, Busiest: q.Busiest, LostTags: q.LostTags}
	if !q.Tags.IsEmpty() {
		var err error
		if m.Set, err = q.Tags.MarshalBinary(); err != nil {
			return nil, err
		}
	}
	data, err := subscription.Append(nil, m)
	if errors.Is(err, subscription.ErrTooLong) {
		return nil, fmt.Errorf("%w: their set has %d ranges and masks: %w", ErrTooManyTags, q.Tags.Parts(), err)
	}
	return &question{entry: e, asks: q, id: id, data: data, result: make(chan answer, 1)}, err
}

// late returns the error of a question that is given up.
func (q *question) late(cause error, after time.Duration) error {
	if !errors.Is(cause, ErrTimeout) {
		return cause
	}
	what := "it has not answered the question"
	switch q.stage.Load() {
	case stageQueued:
		what = "other questions were before"
	case stageDialing:
		what = "no connection"
	case stageGreeting:
		what = "it has not said hello"
	}
	return fmt.Errorf("%w: %s within %v", ErrTimeout, what, after)
}

// decode returns the state that an answer says.
func (q *question) decode(parts [][]byte) (state.State, error) {
	text := bytes.Join(parts, nil)
	if err := checkSize(text, q.mostElements()); err != nil {
		return state.State{}, fmt.Errorf("%w: answer: %w", bus.ErrProtocol, err)
	}
	var version struct {
		Version  int    `json:"state_version"`
		Instance string `json:"instance"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return state.State{}, fmt.Errorf("%w: answer: %s", bus.ErrProtocol, sanitize.Error(err))
	}
	if version.Version != state.Version {
		return state.State{}, &VersionError{Got: version.Version, Want: state.Version}
	}
	var s state.State
	if err := json.Unmarshal(text, &s); err != nil {
		return state.State{}, fmt.Errorf("%w: answer: %s", bus.ErrProtocol, sanitize.Error(err))
	}
	if s.Instance != q.entry.Instance {
		return state.State{}, fmt.Errorf("%w: answer of %s, want %s", bus.ErrProtocol, sanitize.Text(s.Instance), sanitize.Text(q.entry.Instance))
	}
	return s, nil
}

// mostElements returns how many elements all arrays of an answer may have together. A peer
// has some for its lanes and losses, and a tag for its losses.
func (q *question) mostElements() int {
	const base, ofPeer, ofTag = 1024, 128, 16
	return base + 2*q.asks.Peers*(ofPeer+q.asks.LostTags*ofTag) + (q.asks.Busiest+state.MaxTags)*ofTag
}

// maxDepth is how deep an answer may be nested. A newer version may nest deeper than this
// one.
const maxDepth = 32

// maxTextBytes is how long a text or a number of an answer may be. What is shown has texts of
// an answer in it, and errors about them do. The longest, a set of tags, has state.MaxTagsText.
const maxTextBytes = 4096

// checkSize counts the elements of the arrays of a text in JSON, and the bytes of its texts and
// numbers. An element of two bytes can become one of 500 in memory, so their number is bounded,
// too.
func checkSize(text []byte, most int) error {
	var inArray [maxDepth]bool // by depth
	depth, elements, quoted := 0, 0, false
	begun := 0 // where the text or the number begins
	for i := 0; i < len(text); i++ {
		c := text[i]
		if !quoted && strings.IndexByte(" \t\r\n,:[]{}", c) >= 0 {
			begun = i + 1
		}
		if i-begun > maxTextBytes+1 { // with its quotes
			return fmt.Errorf("a text of more than %d bytes", maxTextBytes)
		}
		switch {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth == maxDepth {
				return fmt.Errorf("nested deeper than %d", maxDepth-1)
			}
			if inArray[depth] = c == '['; inArray[depth] {
				elements++
			}
		case c == ']' || c == '}':
			depth = max(depth-1, 0)
		case c == ',' && inArray[depth]:
			elements++
		}
		if elements > most {
			return fmt.Errorf("more than %d elements", most)
		}
	}
	return nil
}
