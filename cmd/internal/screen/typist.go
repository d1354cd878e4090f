// SPDX-License-Identifier: Apache-2.0

//go:build linux

package screen

import "time"

// escapeTime is how long after an ESC the rest of a sequence may come. A terminal sends
// it at once; a slow line takes longer than a person notices.
const escapeTime = 50 * time.Millisecond

// Type makes keys of bytes until their channel is closed, or done is. An ESC that stands
// alone for escapeTime is a key.
func Type(bytes <-chan []byte, done <-chan struct{}, emit func(Key)) {
	var p Parser
	timer := time.NewTimer(escapeTime)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case piece, ok := <-bytes:
			if !ok {
				p.Flush(emit)
				return
			}
			p.Feed(piece, emit)
			timer.Stop()
			if p.Pending() {
				timer.Reset(escapeTime)
			}
		case <-timer.C:
			p.Flush(emit)
		case <-done:
			return
		}
	}
}
