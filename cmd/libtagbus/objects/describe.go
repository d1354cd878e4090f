// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"strings"

	"tagbus/bus"
	"tagbus/cmd/internal/words"
)

// Description is an event in texts.
type Description struct {
	Code                              Code
	Name, Text, Cause                 string
	Peer, PeerName, PeerAddress, Tags string
}

// Describe returns the texts of an event. None has a 0 in it.
func Describe(e bus.Event) Description {
	d := Description{Code: CodeOf(e.Err), Name: e.Kind.String(), Text: oneText(inWords(words.Of(e.String()))), Cause: oneText(TextOf(e.Err))}
	if e.Peer != nil {
		d.Peer, d.PeerName = oneText(e.Peer.Instance), oneText(e.Peer.Name)
		if e.Peer.Addr.IsValid() {
			d.PeerAddress = e.Peer.Addr.String()
		}
	}
	if !e.Tags.IsEmpty() {
		d.Tags = e.Tags.String()
	}
	return d
}

// oneText returns a text that C takes.
func oneText(s string) string { return strings.ReplaceAll(s, "\x00", "") }
