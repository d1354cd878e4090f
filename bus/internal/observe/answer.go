// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"encoding/json"
	"fmt"

	"tagbus/bus/state"
	"tagbus/internal/sanitize"
	"tagbus/subscription"
)

// partOverhead is what a part of an answer has beside its bytes, at most: kind, names and
// numbers.
const partOverhead = 32

// maxPartBytes is how much of an answer one message has.
const maxPartBytes = subscription.MaxControlBytes - partOverhead

// answer is what an observer gets: the text of a state, or a whole message that refuses.
type answer struct {
	text    []byte
	refusal []byte
}

// answer makes the answer to a question. It takes its time.
func (c *Config) answer(ctx context.Context, peer any, m subscription.Describe) answer {
	text, err := c.describe(ctx, peer, m)
	if err == nil {
		return answer{text: text}
	}
	reason := sanitize.Cut(sanitize.Error(err), subscription.MaxTextBytes)
	refusal, err := subscription.Append(nil, &subscription.Refused{ID: m.ID, Reason: reason})
	if err != nil { // not with an id that was decoded
		panic(err)
	}
	return answer{refusal: refusal}
}

// describe returns the JSON form of the state that is asked for.
func (c *Config) describe(ctx context.Context, peer any, m subscription.Describe) ([]byte, error) {
	q := state.Question{Peers: m.Peers, Busiest: m.Busiest, LostTags: m.LostTags}.Bounded()
	if len(m.Set) > 0 {
		if err := q.Tags.UnmarshalLimited(m.Set, subscription.MaxParts, state.MaxPatterns); err != nil {
			return nil, err
		}
	}
	s, err := c.Describe(ctx, peer, q)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(s)
	if err == nil && len(text) > MaxAnswerBytes {
		err = fmt.Errorf("the answer has %d bytes, limit %d: ask for fewer peers and tags", len(text), MaxAnswerBytes)
	}
	return text, err
}
