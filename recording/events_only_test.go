// SPDX-License-Identifier: Apache-2.0

package recording_test

import (
	"slices"
	"testing"

	"tagbus/recording"
)

func TestQuery_eventsOnly(t *testing.T) {
	records := numbered(100)
	records = append(records, event(2000, recording.Event{Kind: recording.Gap, Peer: alice, Tag: 2, Count: 3}), event(2001, recording.Event{Kind: recording.Stopped}))
	r := open(t, file(t, recording.Header{}, recording.Config{BlockBytes: 512}, records...))
	got, errs := read(recording.Readers{r}, recording.Query{EventsOnly: true})
	if want := forms(records[100:]...); !slices.Equal(got, want) || errs != nil {
		t.Errorf("got %v and %v, want %v", got, errs, want)
	}
	for m, err := range r.Messages(recording.Query{EventsOnly: true}) {
		t.Errorf("got %+v and error %v, want no message", m, err)
	}
}
