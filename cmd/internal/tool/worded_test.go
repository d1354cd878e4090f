// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tool

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"tagbus/bus/directory"
	"tagbus/bus/state"
)

// failing is an Asker that fails with an error.
type failing struct{ err error }

func (f failing) Ask(context.Context, directory.Entry, state.Question) (state.State, error) {
	return state.State{}, f.err
}

// TestErrorsOfTheBusNameFlags: all that shows a look gets them from the watcher.
func TestErrorsOfTheBusNameFlags(t *testing.T) {
	cause := errors.New("refused")
	_, err := worded{failing{fmt.Errorf("set PublisherConfig.Listen to an address\n\x1b: %w", cause)}}.Ask(t.Context(), directory.Entry{}, state.Question{})
	if want := `start it with --listen HOST:0, an address; \x1b: refused`; err == nil || err.Error() != want || !errors.Is(err, cause) {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := (worded{failing{}}).Ask(t.Context(), directory.Entry{}, state.Question{}); err != nil {
		t.Errorf("got %v, want none", err)
	}
}
