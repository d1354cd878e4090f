// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rows

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tagbus/test/faults/internal/pki"
	"tagbus/test/faults/internal/table"
)

// look is how often the load looks at certificates and policy, which is less often by default.
const look = time.Second

// certificates are the rows of certificates and policies.
var certificates = []table.Row{
	{
		Number: "50", Name: "a certificate is of another CA", Inject: "that of a subscriber",
		Promise: "it is told within 5 s and gets no message; the other subscriber goes on", Directories: both, Ways: []string{table.TLS}, Quick: true,
		Struck: table.Counts{"stranger told certificate or handshake": 1},
		Run: func(c *table.Case) {
			c.CA()
			foreign, err := pki.New(filepath.Join(c.Dir, "foreign"))
			c.Must(err)
			cert, key, err := foreign.Issue("stranger", time.Hour)
			c.Must(err)
			publisher := c.Publisher("publisher", c.A, "-usr1", "-subscribers", "1")
			publisher.Says("ready")
			other := c.Subscriber("other", c.A)
			c.Go(publisher, other)
			c.Lossless()
			at := c.Now()
			s := c.Subscriber("stranger", c.B, "-cert", cert, "-key", key)
			s.Absent = true
			s.ToldWhy("refused|problem|lost", "certificate|handshake", at, 5*time.Second)
			table.Idle(2 * time.Second)
			if n := s.Delivered(0); n > 0 {
				c.Fail("a stranger has got %d messages", n)
			}
			other.Flows(c.Now(), 5*time.Second)
			s.KillNow()
			c.Finish()
		},
	},
	{
		Number: "50b", Name: "a certificate ends under load", Inject: "that of a subscriber, 6 s after it is issued",
		Promise: "its connection ends within 5 s of that; the other subscriber goes on", Ways: []string{table.TLS}, Quick: true,
		Struck: table.Counts{"publisher told lost": 1},
		Run: func(c *table.Case) {
			publisher, other := c.Publisher("publisher", c.A, "-usr1", "-subscribers", "2"), (*table.Program)(nil)
			publisher.Says("ready")
			other = c.Subscriber("other", c.A)
			ends := c.Now() + int64(6*time.Second)
			cert, key, err := c.CA().Issue("short", 6*time.Second)
			c.Must(err)
			victim := c.Subscriber("victim", c.B, "-cert", cert, "-key", key)
			c.Go(publisher, victim, other)
			c.Lossless()
			publisher.Told("lost", ends-int64(time.Second), 5*time.Second)
			other.Flows(c.Now(), 5*time.Second)
			victim.KillNow()
			c.Finish()
		},
	},
	{
		Number: "50c", Name: "a certificate is revoked under load", Inject: "that of a subscriber, in the list of the publisher",
		Promise: "its connection ends within 5 s; the other subscriber goes on", Ways: []string{table.TLS}, Quick: true,
		Struck: table.Counts{"publisher told lost": 1, "victim told lost": 1},
		Run: func(c *table.Case) {
			list, err := c.CA().Revoke()
			c.Must(err)
			publisher, victim, other := c.Begin("-revoked", list, "-look", look.String())
			c.Lossless()
			at := c.Now()
			_, err = c.CA().Revoke("victim")
			c.Must(err)
			publisher.Told("lost", at, 5*time.Second)
			victim.Told("lost", at, 5*time.Second)
			other.Flows(c.Now(), 5*time.Second)
			victim.KillNow()
			c.Finish()
		},
	},
	{
		Number: "50d", Name: "a policy takes back what a subscriber may have", Inject: "its rule is removed from the policy of the publisher",
		Promise: "it gets no message after 5 s; the other subscriber goes on", Ways: []string{table.TLS},
		Struck: table.Counts{"publisher told may not subscribe": 1},
		Run: func(c *table.Case) {
			policy := filepath.Join(c.Dir, "policy.json")
			allow := func(subscribers ...string) {
				text := `{"rules":[{"who":"uri:spiffe://faults/publisher","publish":"*"}`
				for _, s := range subscribers {
					text += fmt.Sprintf(`,{"who":"uri:spiffe://faults/%s","subscribe":"*"}`, s)
				}
				c.Must(os.WriteFile(policy+".new", []byte(text+"]}\n"), 0o600))
				c.Must(os.Rename(policy+".new", policy))
			}
			allow("victim", "other")
			publisher, victim, other := c.Begin("-acl", policy, "-look", look.String())
			c.Lossless()
			at := c.Now()
			allow("other")
			publisher.ToldWhy("refused", "may not subscribe", at, 5*time.Second)
			var before uint64
			c.Until("no message comes", 5*time.Second, func() bool {
				before = victim.Delivered(0)
				table.Idle(time.Second)
				return victim.Delivered(0) == before
			})
			other.Flows(c.Now(), 5*time.Second)
			victim.KillNow()
			c.Finish()
		},
	},
	{
		Number: "50e", Name: "certificates are renewed under load", Inject: "those of all, which end after 30 s",
		Promise: "that ends no connection; when the old ones end, connections come back within 8 s, and with a -cache of 5 s nothing is lost but by a policy", Ways: []string{table.TLS},
		Struck: table.Counts{"victim told lost": 1},
		Run: func(c *table.Case) {
			c.Valid = 30 * time.Second // a machine that stands still has them reissued in time
			issued := c.Now()
			publisher := c.Publisher("publisher", c.A, append(cached, "-usr1", "-subscribers", "2", "-look", look.String())...)
			publisher.Says("ready")
			victim, other := c.Subscriber("victim", c.Far(), "-look", look.String()), c.Subscriber("other", c.A, "-look", look.String())
			c.Go(publisher, victim, other)
			c.Lossless()
			for _, name := range []string{"publisher", "victim", "other"} {
				_, _, err := c.CA().Issue(name, time.Hour)
				c.Must(err)
			}
			ends := issued + int64(30*time.Second)
			c.IdleUntil(ends, 0)
			victim.Told("lost", ends-int64(tick), 2*tick)
			if l := victim.Says("lost"); l.At < ends-int64(tick) {
				c.Fail("victim was told lost %v before its certificate ended: %s", time.Duration(ends-l.At), l.Err)
			}
			flow(c.Now(), reconnects, victim, other)
			c.Finish()
		},
	},
}
