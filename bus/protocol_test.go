// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus/internal/positions"
	"tagbus/bus/internal/wire"
	"tagbus/bus/internal/wire/wiretest"
	"tagbus/subscription"
	"tagbus/tags"
)

// vectors returns the golden vectors of docs/protocol.md by their names.
func vectors(tb testing.TB) map[string][]byte {
	tb.Helper()
	text, err := os.ReadFile("../docs/protocol.md")
	if err != nil {
		tb.Fatal(err)
	}
	found := make(map[string][]byte)
	var name string
	var digits strings.Builder
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch after, begins := strings.CutPrefix(line, "```hex "); {
		case begins:
			name = after
			digits.Reset()
		case name != "" && line == "```":
			if _, twice := found[name]; twice {
				tb.Errorf("vector %q is there twice", name)
			}
			found[name] = wiretest.Unhex(tb, digits.String())
			name = ""
		case name != "":
			line, _, _ = strings.Cut(line, "#")
			digits.WriteString(line)
		}
	}
	return found
}

// What the vectors stand for. A vector is right if encoding makes it and
// decoding reads it back.
var (
	helloVectors = map[string]subscription.Hello{
		"hello-small": {Instance: "i", MaxMessageBytes: 16384},
		"hello-full": {
			Instance: "sub", Expect: "pub", Name: "readout", Host: "felix1", PID: 4711, MaxMessageBytes: 1 << 20, BeatMillis: 2000,
		},
		"hello-observer": {Instance: "obs", Role: subscription.RoleObserver, MaxMessageBytes: 16384},
		"hello-limited":  {Instance: "i", MaxMessageBytes: 16384, Limited: true},
		"hello-sender":   {Instance: "pub", Expect: "sub", Role: subscription.RoleSender, MaxMessageBytes: 16384},
	}
	controlVectors = map[string]subscription.Message{
		"subscribe":            &subscription.Subscribe{ID: 1, Set: []byte{1, 1, 5, 0, 0}},
		"subscribe-more":       &subscription.Subscribe{ID: 300, Set: []byte{1, 2}, More: true},
		"subscribe-replay":     &subscription.Subscribe{ID: 1, Set: []byte{1, 1, 5, 0, 0}, Replay: 10},
		"subscribe-resume":     &subscription.Subscribe{ID: 1, Set: []byte{1, 1, 5, 0, 0}, Resume: true},
		"subscribe-group":      &subscription.Subscribe{ID: 2, Set: []byte{1, 1, 5, 0, 0}, WithNext: true},
		"subscribed":           &subscription.Subscribed{ID: 1},
		"unsubscribe":          &subscription.Unsubscribe{ID: 128},
		"unsubscribed":         &subscription.Unsubscribed{ID: 65536},
		"positions":            &subscription.Positions{ID: 1, List: []byte{5, 7}},
		"refused":              &subscription.Refused{Reason: "full"},
		"refused-subscription": &subscription.Refused{ID: 9, Reason: "no"},
		"refused-ending":       &subscription.Refused{ID: subscription.EndingID, Reason: "cut off"},
		"goodbye":              &subscription.Goodbye{List: []byte{5, 3, 1, 1}},
		"goodbye-last":         &subscription.Goodbye{},
		"goodbye-lane":         &subscription.Goodbye{Lane: 3, List: []byte{5, 3}},
		"subscribe-lane":       &subscription.Subscribe{ID: 2, Set: []byte{1, 1, 5, 0, 0}, Lane: 1, Policy: "sample:10"},
		"subscribe-backlog":    &subscription.Subscribe{ID: 3, Set: []byte{1, 1, 5, 0, 0}, Lane: 2, BacklogBytes: 1 << 20},
		"received":             &subscription.Received{Lane: 1, Messages: 300},
		"ack":                  &subscription.Ack{Tag: 5, Position: 300},
		"ack-failed":           &subscription.Ack{Tag: 5, Position: 1, Failed: true},
		"lost":                 &subscription.Lost{Lane: 1, Cause: subscription.CauseFull, List: []byte{5, 3, 1, 1}},
		"lost-total":           &subscription.Lost{Cause: subscription.CauseConnection, List: []byte{5, 12}, Total: true},
		"missed":               &subscription.Missed{Lane: 1, Cause: subscription.CauseConnection, List: []byte{5, 7}},
		"beat":                 &subscription.Beat{},
		"rights":               &subscription.Rights{Set: []byte{1, 1, 5, 0, 0}},
		"rights-more":          &subscription.Rights{Set: []byte{1, 2}, More: true},
		"dropped":              &subscription.Dropped{Lane: 1, Cause: subscription.CauseOverflow, Messages: 300, List: []byte{5, 7}},
		"dropped-panic":        &subscription.Dropped{Cause: subscription.CausePanic, Messages: 1},
		"denied":               &subscription.Denied{Set: []byte{1, 1, 5, 0, 0}},
		"describe":             &subscription.Describe{ID: 1, Peers: 10, Busiest: 5, Set: []byte{1, 1, 5, 0, 0}},
		"description":          &subscription.Description{ID: 1, Part: []byte(`{"`), More: true},
		"description-last":     &subscription.Description{ID: 1, Part: []byte("}")},
	}
	setVectors = map[string]string{
		"set-empty":      "",
		"set-everything": "*",
		"set-ranges":     "5-7,9",
		"set-detector":   "0x1000013000118000-0x100001300011800f",
		"set-patterns":   "1&5,4&5,6&6",
	}
	pageVectors = map[string][]wiretest.Record{
		"page":         {rec(5, 0, "abc")},
		"page-many":    {rec(5, 0, "a"), rec(5, 0, ""), rec(5, 7, "b"), rec(6, 0x80, "c"), rec(5, 0, "")},
		"page-request": {{Tag: 5, Status: 7, Data: "abc", ID: requestID}, rec(5, 0, "a")},
	}
	listVectors = map[string][]subscription.Position{
		"list": {{Tag: 5, Count: 7}, {Tag: 133, Count: 300}},
	}
)

var requestID = wire.ID{0x1f, 0x8e, 0x02, 0xc4, 0x5b, 0x90, 0xd3, 0x77, 1}

func rec(tag tags.Tag, status uint8, data string) wiretest.Record {
	return wiretest.Record{Tag: tag, Status: status, Data: data}
}

func decodeHello(b []byte) error   { _, err := subscription.DecodeHello(b); return err }
func decodeControl(b []byte) error { _, err := subscription.Decode(b); return err }
func decodeSet(b []byte) error     { return new(tags.Set).UnmarshalBinary(b) }
func decodePage(b []byte) error    { _, err := wiretest.Read(b); return err }
func decodeList(b []byte) error {
	for _, err := range subscription.PositionsOf(b) {
		if err != nil {
			return err
		}
	}
	return nil
}

// badVectors begin with what decodes them: bad-page-size with "page".
var badVectors = map[string]func([]byte) error{
	"hello": decodeHello, "control": decodeControl, "set": decodeSet, "page": decodePage, "list": decodeList,
}

func TestPublisher_theDocumentedBytesAreThoseOnTheWire(t *testing.T) {
	documented := vectors(t)
	for name, got := range documented {
		t.Run(name, func(t *testing.T) {
			want, err := checkVector(t, name, got)
			if err != nil {
				t.Error(err)
			}
			if want != nil && !bytes.Equal(want, got) {
				t.Errorf("docs/protocol.md has %x\nthe code makes %x", got, want)
			}
		})
	}
	for _, names := range [][]string{keys(helloVectors), keys(controlVectors), keys(setVectors), keys(pageVectors), keys(listVectors)} {
		for _, name := range names {
			if documented[name] == nil {
				t.Errorf("docs/protocol.md has no vector %q", name)
			}
		}
	}
}

func keys[V any](m map[string]V) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// checkVector decodes a vector and returns what encoding makes of its meaning,
// or nil for a vector that cannot be encoded.
func checkVector(t *testing.T, name string, b []byte) ([]byte, error) {
	t.Helper()
	if h, ok := helloVectors[name]; ok {
		back, err := subscription.DecodeHello(b)
		same(t, h, back, err)
		return subscription.AppendHello(nil, h)
	}
	if m, ok := controlVectors[name]; ok {
		back, err := subscription.Decode(b)
		same(t, m, back, err)
		return subscription.Append(nil, m)
	}
	if s, ok := setVectors[name]; ok {
		set, err := tags.ParseSet(s)
		if err != nil {
			return nil, err
		}
		var back tags.Set
		err = back.UnmarshalBinary(b)
		same(t, set.String(), back.String(), err)
		return set.MarshalBinary()
	}
	if records, ok := pageVectors[name]; ok {
		back, err := wiretest.Read(b)
		same(t, records, back, err)
		return wiretest.Page(t, 1024, records), nil
	}
	if name == "page-ack" {
		var r wire.Reader
		same(t, true, r.Reset(wire.Split(b)) == nil && r.Ack && !r.Positions, nil)
		page := wiretest.Page(t, 1024, []wiretest.Record{rec(5, 0, "a")})
		wire.PutHeader((*[wire.HeaderBytes]byte)(page), 0, false, true, 1)
		return page, nil
	}
	if name == "page-lane" {
		return lanePage(t, b), nil
	}
	if positions, ok := listVectors[name]; ok {
		return listVector(t, positions, b), nil
	}
	return otherVector(t, name, b)
}

// lanePage returns the page with positions of the document.
func lanePage(t *testing.T, b []byte) []byte {
	t.Helper()
	w := wire.Writer{Positions: true}
	w.Reset(make([]byte, 256))
	var r wire.Reader
	err := r.Reset(wire.Split(b))
	for _, want := range []struct {
		position uint64
		data     string
	}{{7, "a"}, {17, "b"}} {
		w.Append(5, 0, want.position, []byte(want.data))
		if err == nil {
			_, err = r.Next()
		}
		same(t, want.data, string(r.Data), err)
		same(t, want.position, r.Position, err)
	}
	return wiretest.Sent(&w, 2)
}

func same(t *testing.T, want, got any, err error) {
	t.Helper()
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("decoded: %v (-want +got):\n%s", err, diff)
	}
}

func listVector(t *testing.T, want []subscription.Position, b []byte) (list []byte) {
	t.Helper()
	var got []subscription.Position
	for p, err := range subscription.PositionsOf(b) {
		if err != nil {
			t.Error(err)
		}
		got = append(got, p)
	}
	same(t, want, got, nil)
	for l := range positions.Lists(want) {
		list = append(list, l...)
	}
	return list
}

func otherVector(t *testing.T, name string, b []byte) ([]byte, error) {
	t.Helper()
	switch kind, _, _ := strings.Cut(name, "-"); kind {
	case "bad":
		kind, _, _ = strings.Cut(strings.TrimPrefix(name, "bad-"), "-")
		decode := badVectors[kind]
		if decode == nil {
			return nil, errors.New("no decoder has this name")
		}
		if decode(b) == nil {
			return nil, errors.New("it was not refused")
		}
		return nil, nil
	case "tag":
		return binary.LittleEndian.AppendUint64(nil, 0x1000013000118000), nil
	case "frame":
		messages := unframe(t, b)
		if len(messages) != 1 || decodeControl(messages[0]) == nil {
			return nil, errors.New("it should hold one message that is refused")
		}
		return nil, nil
	case "answer":
		return []byte(`{"state_version":1,`), nil
	case "session": // see TestPublisher_theDocumentedSession
		unframe(t, b)
		return nil, nil
	}
	return nil, errors.New("no test knows what it stands for")
}

// unframe cuts frames into their messages.
func unframe(tb testing.TB, b []byte) (messages [][]byte) {
	tb.Helper()
	for len(b) > 0 {
		if len(b) < 4 || int(binary.LittleEndian.Uint32(b)) > len(b)-4 {
			tb.Fatalf("a frame is cut off: %x", b)
		}
		n := 4 + int(binary.LittleEndian.Uint32(b))
		messages = append(messages, b[4:n])
		b = b[n:]
	}
	return messages
}
