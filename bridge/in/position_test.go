// SPDX-License-Identifier: Apache-2.0

package in

import (
	"encoding/json"
	"testing"
)

// FuzzParsePlace: what a file of a position may have is what is stored again, or an error.
func FuzzParsePlace(f *testing.F) {
	f.Add([]byte(`{"log":"stream TAGBUS","time":"2026-11-29T12:00:00Z","behind":{"":12},"within":{"instance":"\"ALICE\"","tag":1,"next":4}}`))
	f.Add([]byte(`{"log":"topic t","after":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parsePlace(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Skip() // a time that JSON has no form of
		}
		if q, err := parsePlace(again); err != nil || !p.same(&q) {
			t.Errorf("got %+v, %v, want %+v", q, err, p)
		}
	})
}
