package fanout

import (
	"fmt"

	"tagbus/bus/internal/wire"
	"tagbus/netio"
)

// noteKey is the key of control messages that are sent from where they are. The
// completions of a connection come in the order of its sends, so one is enough.
const noteKey netio.Key = 0

// post gives an item to the endpoint. mu is held.
//
// Errors: those of the endpoint, which then does not have the item.
func (box *Outbox) post(i *flight) error {
	if i.page != nil {
		wire.PutHeader(&box.header, i.lane.Number, i.lane.alone(), i.page.receipt != nil, i.page.messages)
		i.key = i.page.key
		return box.ep.Send(i.key, box.header[:], i.page.vector()...)
	}
	i.lane, i.key = i.note.lane, noteKey
	if box.copies {
		return box.postCopy(i)
	}
	return box.ep.Send(i.key, nil, i.note.control)
}

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
