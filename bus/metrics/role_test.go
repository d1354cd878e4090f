// SPDX-License-Identifier: Apache-2.0

package metrics

import "testing"

func TestARoleFillsInItsWords(t *testing.T) {
	r := role{self: "sender", peer: "receiver", send: "send", sending: "sending", messages: "many", fuller: "More."}
	if got, want := r.name("silent_PEERs_total"), "tagbus_sender_silent_receivers_total"; got != want {
		t.Errorf("name: got %s, want %s", got, want)
	}
	if got, want := r.name(""), "tagbus_sender"; got != want {
		t.Errorf("name of nothing: got %s, want %s", got, want)
	}
	got := r.text("PEERS of a SELF, PEERs and a PEER: SENDING, SEND, MESSAGES. FULLER")
	if want := "Receivers of a sender, receivers and a receiver: sending, send, many. More."; got != want {
		t.Errorf("text: got %q, want %q", got, want)
	}
}
