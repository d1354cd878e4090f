// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"fmt"

	"tagbus/netio"
)

// noteKey is the key of control messages that are sent from where they are. The
// completions of a connection come in the order of its sends, so one is enough.
const noteKey netio.Key = 0

// postCopy gives a control message to an endpoint that does not send from any memory. mu is
// held. Errors: as of post.
func (box *Outbox) postCopy(i *flight) error {
	b, err := box.ep.Buffer()
	if err != nil {
		return err
	}
	if _, err := b.Write(i.note.control); err != nil {
		b.Release()
		return fmt.Errorf("bus: control message of %d bytes: %w", len(i.note.control), err)
	}
	i.key = b.Key() // before the buffer is the backend's
	if err := box.ep.SendBuffer(b); err != nil {
		b.Release()
		return err
	}
	return nil
}
