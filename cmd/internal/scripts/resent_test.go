// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"encoding/json"
	"os/exec"
	"testing"
	"time"
)

// What the wire loses is sent again, and the publisher's side says how often: the subscriber's
// address leads nowhere until TCP has sent something again. Neither side gives the connection up
// before that, as it would for want of heartbeats: then it has no path any more.
func TestSegmentsThatWereSentAgain(t *testing.T) {
	notShort(t)
	listens, dials := hosts(t)
	bus := t.TempDir()
	run(t, "publisher", "ip", "netns", "exec", listens, "publisher", "--backend", "tcp", "--bus", bus, "--tags", "5", "--listen", listener+":0", "--emulate", "100", "--rate", "1000", "--name", "pub", "--heartbeat-timeout", "10m")
	s := run(t, "subscriber", "ip", "netns", "exec", dials, "subscriber", "--backend", "tcp", "--bus", bus, "--tags", "5", "--heartbeat-timeout", "10m")
	s.await(" subscriber: subscribed pub@")
	ip(t, "-n "+listens+" neighbor replace 10.77.0.2 lladdr 02:00:00:00:00:99 dev wire nud permanent")
	for deadline := time.Now().Add(patience); ; {
		out, err := exec.Command("ip", "netns", "exec", listens, "tagbus", "info", "pub", "--backend", "tcp", "--bus", bus, "--json", "--timeout", "1m").Output()
		var answer struct {
			Path *struct {
				Retransmitted uint64 `json:"retransmitted_segments"`
			} `json:"path"`
		}
		if err == nil {
			err = json.Unmarshal(out, &answer)
		}
		if err == nil && answer.Path != nil && answer.Path.Retransmitted > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %s, %v, want segments that were sent again", out, err)
		}
	}
}
