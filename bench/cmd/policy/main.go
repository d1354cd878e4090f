// SPDX-License-Identifier: Apache-2.0

// Command policy measures how long package acl takes to decide a subscription to many tags
// by many rules. There is no bus.
package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"time"

	"tagbus/acl"
	"tagbus/bench/internal/load"
	"tagbus/identity"
	"tagbus/tags"
)

// rules is how many rules share the tags.
const rules = 1000

func main() {
	o := load.Parse()
	load.Listening("here")
	load.AwaitGo()
	result, err := decide(o)
	load.Must(err)
	result.Report()
	load.AwaitQuit()
}

// decide makes decisions for a time, and checks each. Its time is that of the decision
// alone.
func decide(o load.Options) (r load.PubResult, err error) {
	text, all, err := policy(o.Tags)
	if err != nil {
		return r, err
	}
	peer, err := identity.NewPrincipal("cn:all")
	if err != nil {
		return r, err
	}
	var p *acl.Policy
	r.Latency, r.StartNS = load.NewHistogram(), load.Now()
	for until := r.StartNS + int64(o.Seconds*1e9); r.Sent == 0 || load.Now() < until; r.Sent++ {
		if p == nil || o.Way != "next" {
			if p, err = acl.Parse("policy.json", text); err != nil {
				return r, err
			}
			runtime.GC() // what reading the policy has left is no part of a decision
		}
		if o.Way == "next" && r.Sent == 0 {
			p.Split(peer, acl.Subscribe, all)
		}
		begin := time.Now()
		may, mayNot := p.Split(peer, acl.Subscribe, all)
		r.Latency.Record(int64(time.Since(begin)))
		if !may.Equal(all) || !mayNot.IsEmpty() {
			r.Corrupt++
		}
	}
	r.EndNS = load.Now()
	return r, nil
}

// policy returns the text of a policy with n tags in all, of which none are beside each
// other, and these. Each rule has as many, from everywhere, and all are for cn:all.
func policy(n int) (text []byte, all tags.Set, err error) {
	order := rand.New(rand.NewPCG(1, 2)).Perm(n)
	var list []map[string]string
	every := make([]tags.Tag, 0, n)
	for i := range rules {
		var own []string
		for _, k := range order[i*n/rules : (i+1)*n/rules] {
			tag := tags.Tag(0x1000_0000_0000_0000 + 2*k)
			every, own = append(every, tag), append(own, tag.String())
		}
		list = append(list, map[string]string{"who": fmt.Sprintf("cn:a%s*", strings.Repeat("l", i%3)), "subscribe": strings.Join(own, ",")})
	}
	text, err = json.Marshal(map[string]any{"rules": list})
	return text, tags.Of(every...), err
}
