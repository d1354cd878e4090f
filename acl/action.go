// SPDX-License-Identifier: Apache-2.0

package acl

import (
	"fmt"

	"tagbus/internal/sanitize"
)

// Action is what a peer does with tags.
type Action uint8

// The actions. The package comment says what each is.
const (
	Publish Action = iota
	Subscribe
	Send
	Receive
	Describe

	actions // how many there are
)

// Actions returns all actions.
func Actions() []Action { return []Action{Publish, Subscribe, Send, Receive, Describe} }

var actionNames = [actions]string{"publish", "subscribe", "send", "receive", "describe"}

// String returns the name of the action, as it stands in a policy.
func (a Action) String() string {
	if a < actions {
		return actionNames[a]
	}
	return fmt.Sprintf("Action(%d)", uint8(a))
}

// ParseAction returns the action with a name.
//
//   - Errors: ErrUnknownAction, wrapped with the name.
func ParseAction(name string) (Action, error) {
	for a, n := range actionNames {
		if n == name {
			return Action(a), nil
		}
	}
	return 0, fmt.Errorf("%w %s: want publish, subscribe, send, receive or describe", ErrUnknownAction, sanitize.Text(sanitize.Cut(name, 40)))
}

// UnmarshalText sets a to the action with a name, for flag packages.
//
//   - Errors: those of ParseAction.
func (a *Action) UnmarshalText(text []byte) (err error) {
	*a, err = ParseAction(string(text))
	return err
}
