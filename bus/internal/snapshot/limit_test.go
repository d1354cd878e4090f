// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"strings"
	"testing"

	"tagbus/bus/internal/snapshot"
	"tagbus/bus/state"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

func mustParse(t *testing.T, text string) tags.Set {
	t.Helper()
	set, err := tags.ParseSet(text)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestLimit_denied: tags that a policy keeps from a peer are shown as those of the instance are.
func TestLimit_denied(t *testing.T) {
	var odd []tags.Tag
	for i := range 1000 {
		odd = append(odd, tags.Tag(2*i+1))
	}
	long, _ := snapshot.Text(tags.Of(odd...), len(odd))
	for _, test := range []struct{ name, has, may, want string }{
		{"none", "2", "5", ""},
		{"some", "2-5", "4-9", "4-5"},
		{"patterns", "1/0/19/*/*/*/0/*/*", "1/0/19/*/*/*/*/0/0", "1/0/19/*/*/*/0/0/0"},
		{"some of a text that is cut", long, "0-4", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := test.has
			if text != long {
				text = mustParse(t, text).String()
			}
			want := mustParse(t, test.want).String()
			st := state.State{Tags: text, Peers: []state.Peer{{Denied: text}}, Gone: []state.Peer{{Denied: text}}}
			snapshot.Limit(&st, mustParse(t, test.may))
			if st.Tags != want || st.Peers[0].Denied != want || st.Gone[0].Denied != want {
				t.Errorf("got tags %q, denied %q and %q, want %q", st.Tags, st.Peers[0].Denied, st.Gone[0].Denied, want)
			}
		})
	}
}

// TestLimit_reasons: why a connection has ended may name tags, in the text of a refusal.
func TestLimit_reasons(t *testing.T) {
	const (
		in   = "0x0000000000000005"
		out  = "0x0000000000000002"
		text = "bus: not allowed: cn:x may not subscribe to TAGS: no rule such as {\"who\":\"cn:x\",\"subscribe\":\"TAGS\"}"
	)
	hidden := strings.ReplaceAll(text, "TAGS", "(not shown)")
	for _, test := range []struct{ name, reason, want string }{
		{"none", "bus: nothing heard of 10.0.0.0/8 for 6s", "bus: nothing heard of 10.0.0.0/8 for 6s"},
		{"one that is shown", strings.ReplaceAll(text, "TAGS", in), strings.ReplaceAll(text, "TAGS", in)},
		{"one that is not", strings.ReplaceAll(text, "TAGS", out), hidden},
		{"some that are shown", strings.ReplaceAll(text, "TAGS", in+","+out), hidden},
		{"a range", strings.ReplaceAll(text, "TAGS", out+"-"+in), hidden},
		{"a mask", strings.ReplaceAll(text, "TAGS", out+"&0x00000000000000ff"), hidden},
		{"a pattern", strings.ReplaceAll(text, "TAGS", "1/0/19/*/*/*/0/*/*"), hidden},
		{"a range whose end is cut", strings.Repeat("x", state.MaxReason-28) + " " + in + "-" + in, strings.Repeat("x", state.MaxReason-28) + " (not shown)..."},
		{"not all", strings.ReplaceAll(text, "TAGS", out+",…"), strings.ReplaceAll(text, "TAGS", "(not shown),…")},
		{"a text that is cut", strings.Repeat("x", state.MaxReason-8) + " " + out, strings.Repeat("x", state.MaxReason-8) + " (not shown)..."},
		{"a text that becomes longer", strings.Repeat("0x2 ", 63), strings.Repeat("(not shown) ", 30)},
	} {
		t.Run(test.name, func(t *testing.T) {
			reason, want := sanitize.Cut(test.reason, state.MaxReason), sanitize.Cut(test.want, state.MaxReason)
			st := state.State{Peers: []state.Peer{{BrokenReason: reason}}, Gone: []state.Peer{{Reason: reason, BrokenReason: reason}}}
			snapshot.Limit(&st, tags.Of(5))
			for _, got := range []string{st.Peers[0].BrokenReason, st.Gone[0].Reason, st.Gone[0].BrokenReason} {
				if got != want {
					t.Errorf("got  %q\nwant %q", got, want)
				}
			}
		})
	}
}

// TestLimit_toAll removes nothing, not even from a text that is cut.
func TestLimit_toAll(t *testing.T) {
	const cut = "0x0000000000000002,..."
	st := state.State{Tags: cut, Peers: []state.Peer{{Denied: cut, BrokenReason: "tag " + cut}}}
	snapshot.Limit(&st, tags.Everything())
	if p := st.Peers[0]; st.Tags != cut || p.Denied != cut || p.BrokenReason != "tag "+cut {
		t.Errorf("got tags %q, denied %q, and %q", st.Tags, p.Denied, p.BrokenReason)
	}
}
