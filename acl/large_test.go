// SPDX-License-Identifier: Apache-2.0

package acl_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tagbus/acl"
	"tagbus/tags"
)

// large returns a policy of 1,000 rules with 100 tags each, of which none are beside each other, and
// all its tags. All rules are for cn:all.
func large(tb testing.TB) (text []byte, all tags.Set) {
	tb.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	order := random.Perm(100_000)
	var rules []map[string]string
	every := make([]tags.Tag, 0, len(order))
	for i := range 1000 {
		var own []string
		for _, n := range order[i*100 : i*100+100] {
			tag := 0x1000000000000000 + tags.Tag(2*n)
			every, own = append(every, tag), append(own, tag.String())
		}
		rules = append(rules, map[string]string{"who": fmt.Sprintf("cn:a%s*", strings.Repeat("l", i%3)), "subscribe": strings.Join(own, ",")})
	}
	text, err := json.Marshal(map[string]any{"rules": rules})
	must(tb, err)
	return text, tags.Of(every...)
}

// BenchmarkSubscription decides a subscription to 100,000 tags by 1,000 rules: first is the first one
// after a reload, and of a peer that was not there before; next is each other one.
func BenchmarkSubscription(b *testing.B) {
	text, all := large(b)
	peer := who(b, "cn:all")
	decide := func(b *testing.B, p *acl.Policy) {
		b.Helper()
		if may, mayNot := p.Split(peer, acl.Subscribe, all); may.IsEmpty() || !mayNot.IsEmpty() {
			b.Fatalf("got %d and %d parts, want all allowed", may.Parts(), mayNot.Parts())
		}
	}
	b.Run("first", func(b *testing.B) {
		for range b.N {
			b.StopTimer()
			p := parse(b, string(text))
			b.StartTimer()
			decide(b, p)
		}
	})
	b.Run("next", func(b *testing.B) {
		p := parse(b, string(text))
		for b.Loop() {
			decide(b, p)
		}
	})
	b.Run("two thirds are refused", func(b *testing.B) {
		p := parse(b, string(text))
		peer := who(b, "cn:a")
		for b.Loop() {
			if may, mayNot := p.Split(peer, acl.Subscribe, all); may.IsEmpty() || mayNot.IsEmpty() {
				b.Fatal("want some of both")
			}
		}
	})
	b.Run("parse", func(b *testing.B) {
		for b.Loop() {
			parse(b, string(text))
		}
	})
}
