// SPDX-License-Identifier: Apache-2.0

package acl

import "tagbus/identity"

// A Who is a pattern of peers, as the field who of a rule has it, for what is allowed to peers
// whatever their tags are. ParseWho makes one; the zero value is for no peer.
//
// Threads: all methods may be called by any goroutine.
type Who struct{ pattern *pattern }

// ParseWho reads a pattern, such as dns:directory-*.cern.ch.
//
//   - Errors: ErrWho, wrapped with what is wrong.
func ParseWho(text string) (Who, error) {
	p, err := parsePattern(text)
	if err != nil {
		return Who{}, err
	}
	return Who{&p}, nil
}

// Matches reports whether the pattern is for a peer.
func (w Who) Matches(who identity.Principal) bool {
	return w.pattern != nil && w.pattern.matches(who, who.Names())
}

// String returns the pattern as it was read.
func (w Who) String() string {
	if w.pattern == nil {
		return ""
	}
	return w.pattern.text
}
