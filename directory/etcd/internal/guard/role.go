// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"tagbus/acl"
	"tagbus/bus/directory"
)

// actions are those of which a caller needs one for what has no tags.
func (p place) actions() []acl.Action {
	if p.clients {
		return anything
	}
	return []acl.Action{acl.Publish, acl.Receive}
}

// action returns what an entry of a role says that its process does; known is false for a role
// that a later version has.
func (p place) action(role directory.Role) (action acl.Action, known bool) {
	switch {
	case p.clients && role == "subscriber":
		return acl.Subscribe, true
	case p.clients && role == "sender":
		return acl.Send, true
	case !p.clients && role == directory.Publisher:
		return acl.Publish, true
	case !p.clients && role == directory.Receiver:
		return acl.Receive, true
	}
	return 0, false
}
