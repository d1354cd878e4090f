// SPDX-License-Identifier: Apache-2.0

package subscription_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/internal/testkit"
	"tagbus/subscription"
)

const (
	idKey     = "a2'id'"
	setKey    = "a3'set'"
	moreKey   = "a4'more'"
	listKey   = "a4'list'"
	reasonKey = "a6'reason'"
	laneKey   = "a4'lane'"
	causeKey  = "a5'cause'"
	totalKey  = "a5'total'"
	replayKey = "a6'replay'"
	resumeKey = "a6'resume'"

	tagKey      = "a3'tag'"
	positionKey = "a8'position'"
	failedKey   = "a6'failed'"

	peersKey   = "a5'peers'"
	busiestKey = "a7'busiest'"
	partKey    = "a4'part'"
)

var controlTests = []struct {
	name    string
	message subscription.Message
	want    string
}{
	{"subscribe to tag 5", &subscription.Subscribe{ID: 1, Set: []byte{1, 1, 5, 0, 0}}, "10 82" + idKey + "01" + setKey + "c405 0101050000"},
	{"part of a subscribe", &subscription.Subscribe{ID: 300, Set: []byte{1}, More: true}, "10 83" + idKey + "cd012c" + setKey + "c401 01" + moreKey + "c3"},
	{"subscribe with replay", &subscription.Subscribe{ID: 1, Set: []byte{1}, Replay: 10}, "10 83" + idKey + "01" + setKey + "c401 01" + replayKey + "0a"},
	{"subscribe again", &subscription.Subscribe{ID: 1, Set: []byte{1}, Resume: true}, "10 83" + idKey + "01" + setKey + "c401 01" + resumeKey + "c3"},
	{"subscribed", &subscription.Subscribed{ID: 1}, "11 81" + idKey + "01"},
	{"subscribed with the greatest id", &subscription.Subscribed{ID: 1<<64 - 1}, "11 81" + idKey + "cfffffffffffffffff"},
	{"unsubscribe", &subscription.Unsubscribe{ID: 128}, "12 81" + idKey + "cc80"},
	{"unsubscribed", &subscription.Unsubscribed{ID: 1 << 16}, "13 81" + idKey + "ce00010000"},
	{"positions", &subscription.Positions{ID: 1, List: []byte{5, 7}}, "14 82" + idKey + "01" + listKey + "c402 0507"},
	{"refused connection", &subscription.Refused{Reason: "full"}, "15 81" + reasonKey + "a4'full'"},
	{"refused subscription", &subscription.Refused{ID: 9, Reason: "no"}, "15 82" + idKey + "09" + reasonKey + "a2'no'"},
	{"refused without a reason", &subscription.Refused{}, "15 81" + reasonKey + "a0"},
	{"goodbye with positions", &subscription.Goodbye{List: []byte{5, 7}}, "16 81" + listKey + "c402 0507"},
	{"last goodbye", &subscription.Goodbye{}, "16 80"},
	{"lost", &subscription.Lost{Lane: 2, Cause: subscription.CauseMemory, List: []byte{5, 7}}, "17 83" + laneKey + "02" + causeKey + "02" + listKey + "c402 0507"},
	{"totals of what was lost", &subscription.Lost{Cause: subscription.CauseFull, List: []byte{5, 7}, Total: true}, "17 83" + causeKey + "01" + listKey + "c402 0507" + totalKey + "c3"},
	{"missed", &subscription.Missed{Lane: 1, Cause: subscription.CauseConnection, List: []byte{5, 7}}, "19 83" + laneKey + "01" + causeKey + "04" + listKey + "c402 0507"},
	{"beat", &subscription.Beat{}, "18 80"},
	{"dropped", &subscription.Dropped{Lane: 1, Cause: subscription.CauseOverflow, Messages: 7, List: []byte{5, 7}}, "20 84" + laneKey + "01" + causeKey + "05 a8 'messages' 07" + listKey + "c402 0507"},
	{"dropped by a handler, of unnamed tags", &subscription.Dropped{Cause: subscription.CausePanic, Messages: 1}, "20 82" + causeKey + "06 a8 'messages' 01"},
	{"received", &subscription.Received{Messages: 7}, "1b 81 a8 6d 65 73 73 61 67 65 73 07"},
	{"ack", &subscription.Ack{Tag: 5, Position: 300}, "1a 82" + tagKey + "05" + positionKey + "cd012c"},
	{"describe as a whole", &subscription.Describe{ID: 1}, "1c 81" + idKey + "01"},
	{"describe in full", &subscription.Describe{ID: 1<<64 - 1, Peers: 1 << 16, Busiest: 10, Set: []byte{1}}, "1c 84" + idKey + "cfffffffffffffffff" + peersKey + "ce00010000" + busiestKey + "0a" + setKey + "c401 01"},
	{"description", &subscription.Description{ID: 300, Part: []byte("{")}, "1d 82" + idKey + "cd012c" + partKey + "c401'{'"},
	{"part of a description", &subscription.Description{ID: 1, Part: []byte("{"), More: true}, "1d 83" + idKey + "01" + partKey + "c401'{'" + moreKey + "c3"},
	{"ack of tag 0, failed", &subscription.Ack{Position: 1, Failed: true}, "1a 83" + tagKey + "00" + positionKey + "01" + failedKey + "c3"},
}

func TestAppend_controlBytes(t *testing.T) {
	for _, test := range controlTests {
		t.Run(test.name, func(t *testing.T) {
			want := unhex(t, test.want)
			got, err := subscription.Append([]byte{0xee}, test.message)
			if err != nil || !bytes.Equal(got, append([]byte{0xee}, want...)) {
				t.Fatalf("got %x, %v want ee%x", got, err, want)
			}
			input := bytes.Clone(want)
			back, err := subscription.Decode(input)
			clear(input) // the message must not share its memory
			if diff := cmp.Diff(test.message, back); err != nil || diff != "" {
				t.Errorf("decoded: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestDecode_refusesEveryPrefixOfAControlMessage(t *testing.T) {
	for _, test := range controlTests {
		b := unhex(t, test.want)
		for n := range b {
			m, err := subscription.Decode(b[:n])
			var control *subscription.ControlError
			if !errors.As(err, &control) || m != nil {
				t.Errorf("%s, first %d of %d bytes: got %v, %v want a *ControlError", test.name, n, len(b), m, err)
			}
		}
	}
}

func TestDecode_anUnknownKindIsAnErrorOfItsOwn(t *testing.T) {
	_, err := subscription.Decode([]byte{0x7f, 0x80})
	var control *subscription.ControlError
	if !errors.Is(err, subscription.ErrUnknownKind) || !errors.As(err, &control) || control.Kind != 0x7f {
		t.Errorf("Decode: got error %v, want ErrUnknownKind of kind 0x7f", err)
	}
}

func TestDecode_refusesBadControlMessages(t *testing.T) {
	tests := []struct {
		name  string
		input string
		want  string
	}{
		{"no kind", "", "bad kind 0x00 message: subscription: unknown kind of control message"},
		{"kind zero", "00 80", "bad kind 0x00 message: subscription: unknown kind of control message"},
		{"a page", "01 80", "bad page message: subscription: unknown kind of control message"},
		{"a kind that nobody has", "7f 80", "bad kind 0x7f message: subscription: unknown kind of control message"},
		{"the kind that stands for a hello", "ff 80", "bad hello message: subscription: unknown kind of control message"},
		{"nothing after the kind", "11", "bad subscribed message: at byte 0 of the map: cut off, want the map"},
		{"nil instead of a map", "11 c0", "bad subscribed message: at byte 0 of the map: msgpack code 0xc0, want the map"},
		{"an array instead of a map", "11 91 01", "bad subscribed message: at byte 0 of the map: msgpack code 0x91, want the map"},
		{"an extension instead of a map", "11 c7 00 01 81" + idKey + "01", "bad subscribed message: at byte 0 of the map: msgpack code 0xc7, want the map"},
		{"a name that is a number", "11 81 01 01", "bad subscribed message: at byte 1 of the map: msgpack code 0x01, want the name of a field"},
		{"a name of bytes", "11 81 c402'id' 01", "bad subscribed message: at byte 1 of the map: msgpack code 0xc4, want the name of a field"},
		{"no id", "11 80", `bad subscribed message: field "id" is missing`},
		{"id 0", "11 81" + idKey + "00", "bad subscribed message: id is 0: ids of subscriptions begin at 1"},
		{"id 0 of a subscribe", "10 82" + idKey + "00" + setKey + "c401 01", "bad subscribe message: id is 0: ids of subscriptions begin at 1"},
		{"id 0 of an unsubscribe", "12 81" + idKey + "00", "bad unsubscribe message: id is 0: ids of subscriptions begin at 1"},
		{"id 0 of an unsubscribed", "13 81" + idKey + "00", "bad unsubscribed message: id is 0: ids of subscriptions begin at 1"},
		{"id 0 of positions", "14 82" + idKey + "00" + listKey + "c402 0507", "bad positions message: id is 0: ids of subscriptions begin at 1"},
		{"a short negative id", "11 81" + idKey + "ff", "bad subscribed message: at byte 4 of the map: id is negative"},
		{"a negative id in one byte", "11 81" + idKey + "d080", "bad subscribed message: at byte 4 of the map: id is negative"},
		{"a negative id in two bytes", "11 81" + idKey + "d1ffff", "bad subscribed message: at byte 4 of the map: id is negative"},
		{"a negative id in eight bytes", "11 81" + idKey + "d3ffffffffffffffff", "bad subscribed message: at byte 4 of the map: id is negative"},
		{"a fraction as id", "11 81" + idKey + "cb3ff0000000000000", "bad subscribed message: at byte 4 of the map: msgpack code 0xcb, want the id: a number"},
		{"nil as id", "11 81" + idKey + "c0", "bad subscribed message: at byte 4 of the map: msgpack code 0xc0, want the id: a number"},
		{"text as id", "11 81" + idKey + "a131", "bad subscribed message: at byte 4 of the map: msgpack code 0xa1, want the id: a number"},
		{"an id cut off", "11 81" + idKey + "cf00", "bad subscribed message: at byte 5 of the map: cut off in the id"},
		{"text as set", "10 82" + idKey + "01" + setKey + "a101", "bad subscribe message: at byte 9 of the map: msgpack code 0xa1, want the set"},
		{"nil as set", "10 82" + idKey + "01" + setKey + "c0", "bad subscribe message: at byte 9 of the map: msgpack code 0xc0, want the set"},
		{"an array of numbers as set", "10 82" + idKey + "01" + setKey + "9101", "bad subscribe message: at byte 9 of the map: msgpack code 0x91, want the set"},
		{"an empty set", "10 82" + idKey + "01" + setKey + "c400", "bad subscribe message: set is empty"},
		{"lost without a cause", "17 82" + causeKey + "00" + listKey + "c402 0507", "bad lost message: unknown cause 0"},
		{"lost for an unknown cause", "17 82" + causeKey + "05" + listKey + "c402 0507", "bad lost message: unknown cause 5"},
		{"dropped nothing", "20 82" + causeKey + "05 a8'messages' 00", "bad dropped message: messages is 0: what is not lost is not told"},
		{"dropped for a cause of lost", "20 82" + causeKey + "04 a8'messages' 01", "bad dropped message: unknown cause 4"},
		{"dropped for an unknown cause", "20 82" + causeKey + "07 a8'messages' 01", "bad dropped message: unknown cause 7"},
		{"missed nothing", "19 82" + causeKey + "04" + listKey + "c400", "bad missed message: list is empty"},
		{"an empty list of positions", "14 82" + idKey + "01" + listKey + "c400", "bad positions message: list is empty"},
		{"a number as more", "10 83" + idKey + "01" + setKey + "c401 01" + moreKey + "01", "bad subscribe message: at byte 17 of the map: msgpack code 0x01, want the more: true or false"},
		{"a field of another message", "11 82" + idKey + "01" + moreKey + "c3", `bad subscribed message: unknown field "more"`},
		{"a name in another case", "11 81 a2'ID'01", `bad subscribed message: unknown field "ID"`},
		{"an id given twice", "11 82" + idKey + "01" + idKey + "02", `bad subscribed message: field "id" given twice`},
		{"a byte after the end", "11 81" + idKey + "01 00", "bad subscribed message: at byte 5 of the map: 1 bytes after the end"},
		{"a second message", "11 81" + idKey + "01 11 81" + idKey + "02", "bad subscribed message: at byte 5 of the map: 6 bytes after the end"},
		{"a beat with a field", "18 81" + idKey + "01", `bad beat message: unknown field "id"`},
		{"an ack of nothing", "1a 82" + tagKey + "05" + positionKey + "00", "bad ack message: position is 0: the first message has position 1"},
		{"a question without id", "1c 80", `bad describe message: field "id" is missing`},
		{"a question 0", "1c 81" + idKey + "00", "bad describe message: id is 0: ids of questions begin at 1"},
		{"a question for too many peers", "1c 82" + idKey + "01" + peersKey + "ce00010001", "bad describe message: peers is 65537, limit 65536"},
		{"a question for too many tags", "1c 82" + idKey + "01" + busiestKey + "ce00010001", "bad describe message: busiest is 65537, limit 65536"},
		{"a question for negative peers", "1c 82" + idKey + "01" + peersKey + "ff", "bad describe message: at byte 11 of the map: peers is negative"},
		{"a question with text as set", "1c 82" + idKey + "01" + setKey + "a101", "bad describe message: at byte 9 of the map: msgpack code 0xa1, want the set"},
		{"an answer to question 0", "1d 82" + idKey + "00" + partKey + "c401'{'", "bad description message: id is 0: ids of questions begin at 1"},
		{"an answer without a part", "1d 81" + idKey + "01", `bad description message: field "part" is missing`},
		{"an empty part", "1d 82" + idKey + "01" + partKey + "c400", "bad description message: part is empty"},
		{"a long reason", "15 81" + reasonKey + "da0100'" + strings.Repeat("x", 256) + "'", "bad refused message: subscription: longer than the limit: reason has 256 bytes, limit 255"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, err := subscription.Decode(unhex(t, test.input))
			want := "subscription: " + test.want
			var control *subscription.ControlError
			if !errors.As(err, &control) || m != nil || err.Error() != want {
				t.Errorf("got %v, %v\nwant %s", m, err, want)
			}
		})
	}
}

// A few bytes that announce much: the message is refused, and what it announces
// is not allocated.
var bombs = []struct {
	name  string
	input string
}{
	{"a set of 4 GiB", "10 82" + idKey + "01" + setKey + "c6ffffffff"},
	{"a set of 2 GiB", "10 82" + idKey + "01" + setKey + "c680000000"},
	{"a set of 1 MiB", "10 82" + idKey + "01" + setKey + "c600100000"},
	{"a list of 4 GiB", "14 82" + idKey + "01" + listKey + "c6ffffffff"},
	{"a goodbye of 4 GiB", "16 81" + listKey + "c6ffffffff"},
	{"a set of 4 GiB as text", "10 82" + idKey + "01" + setKey + "dbffffffff"},
	{"a set of 2^32-1 items", "10 82" + idKey + "01" + setKey + "ddffffffff"},
	{"a set of 2^32-1 pairs", "10 82" + idKey + "01" + setKey + "dfffffffff"},
	{"a question with a set of 4 GiB", "1c 82" + idKey + "01" + setKey + "c6ffffffff"},
	{"an answer of 4 GiB", "1d 82" + idKey + "01" + partKey + "c6ffffffff"},
	{"a reason of 4 GiB", "15 81" + reasonKey + "dbffffffff"},
	{"a reason of 1 MiB", "15 81" + reasonKey + "db00100000"},
	{"a map of 2^32-1 pairs", "11 dfffffffff"},
	{"a map of 2^32-1 pairs that repeats its id", "11 dfffffffff" + strings.Repeat(idKey+"01", 2000)},
	{"an array of 2^32-1 items", "11 ddffffffff"},
	{"a name of 4 GiB", "11 81 dbffffffff"},
	{"an extension of 4 GiB", "11 81" + idKey + "c9ffffffff01"},
	{"arrays within arrays", "11 81" + idKey + strings.Repeat("91", 16000)},
	{"maps within maps", "11" + strings.Repeat("81"+idKey, 4000)},
}

func TestDecode_doesNotAllocateBombs(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	for _, test := range bombs {
		t.Run(test.name, func(t *testing.T) {
			b := unhex(t, test.input)
			var err error
			n := allocated(func() { _, err = subscription.Decode(b) })
			var control *subscription.ControlError
			if !errors.As(err, &control) {
				t.Errorf("got %v, want a *ControlError", err)
			}
			if n > 18<<10 {
				t.Errorf("got %d bytes allocated for %d bytes, want at most 18 KiB: a copy, and an error", n, len(b))
			}
		})
	}
}

func TestAppend_refusesControlMessagesAboveTheLimit(t *testing.T) {
	// The list with its length takes 3 bytes more than itself, the rest 7.
	fits := &subscription.Goodbye{List: make([]byte, subscription.MaxControlBytes-10)}
	b, err := subscription.Append(nil, fits)
	if err != nil || len(b) != subscription.MaxControlBytes {
		t.Fatalf("got %d bytes, %v want %d", len(b), err, subscription.MaxControlBytes)
	}
	if _, err := subscription.Decode(b); err != nil {
		t.Errorf("at the limit: got %v, want no error", err)
	}
	if _, err := subscription.Decode(append(b, 0)); !errors.Is(err, subscription.ErrTooLong) {
		t.Errorf("decode above the limit: got %v, want ErrTooLong", err)
	}
	larger := &subscription.Goodbye{List: make([]byte, len(fits.List)+1)}
	if got, err := subscription.Append([]byte("before"), larger); !errors.Is(err, subscription.ErrTooLong) || string(got) != "before" {
		t.Errorf("append above the limit: got %.20q, %v want ErrTooLong", got, err)
	}
}

func TestAppend_refusesWhatDecodeWould(t *testing.T) {
	tests := []struct {
		name    string
		message subscription.Message
	}{
		{"subscribe without id", &subscription.Subscribe{Set: []byte{1}}},
		{"subscribe without set", &subscription.Subscribe{ID: 1}},
		{"subscribed without id", &subscription.Subscribed{}},
		{"unsubscribe without id", &subscription.Unsubscribe{}},
		{"unsubscribed without id", &subscription.Unsubscribed{}},
		{"positions without id", &subscription.Positions{List: []byte{5, 7}}},
		{"positions without list", &subscription.Positions{ID: 1}},
		{"an ack of nothing", &subscription.Ack{Tag: 5}},
		{"a question without id", &subscription.Describe{Peers: 1}},
		{"a question for too many peers", &subscription.Describe{ID: 1, Peers: subscription.MaxDescribed + 1}},
		{"a question for negative tags", &subscription.Describe{ID: 1, Busiest: -1}},
		{"an answer without id", &subscription.Description{Part: []byte{1}}},
		{"an answer without a part", &subscription.Description{ID: 1}},
		{"a long reason", &subscription.Refused{Reason: strings.Repeat("x", 256)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b, err := subscription.Append([]byte("before"), test.message)
			var control *subscription.ControlError
			if !errors.As(err, &control) || control.Kind != test.message.Kind() || string(b) != "before" {
				t.Errorf("got %q, %v want a *ControlError of kind %v", b, err, test.message.Kind())
			}
		})
	}
}

func FuzzControl(f *testing.F) {
	for _, test := range controlTests {
		f.Add(unhex(f, test.want))
	}
	for _, test := range bombs {
		f.Add(unhex(f, test.input))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m subscription.Message
		var err error
		if n, limit := allocated(func() { m, err = subscription.Decode(b) }), allocationLimit(b); n > limit {
			t.Errorf("got %d bytes allocated for %d bytes, want at most %d", n, len(b), limit)
		}
		if err != nil {
			_ = fmt.Sprint(err)
			return
		}
		again, err := subscription.Append(nil, m)
		if err != nil || len(again) > len(b) {
			t.Fatalf("accepted %x, and encodes it as %x, %v", b, again, err)
		}
		back, err := subscription.Decode(again)
		// Nothing may be written out as nothing.
		if g, ok := m.(*subscription.Goodbye); ok && len(g.List) == 0 {
			g.List = nil
		}
		if d, ok := m.(*subscription.Describe); ok && len(d.Set) == 0 {
			d.Set = nil
		}
		if diff := cmp.Diff(m, back); err != nil || diff != "" {
			t.Errorf("%x comes back differently: %v (-first +second):\n%s", b, err, diff)
		}
	})
}

// allocationLimit is what decoding b may allocate: b once more for what is
// kept, and the rest for the decoder and what other goroutines do meanwhile.
func allocationLimit(b []byte) uint64 { return uint64(2*len(b)) + 64<<10 }
