package bus

import (
	"fmt"
	"time"

	"tagbus/bus/directory"
)

// take implements followed.
func (src *source) take(e directory.Event) {
	s := src.sub
	s.compared = 0
	src.update(e.Entry)
	src.meet()
	src.consider()
	src.checkAllDuplicates()
	if e.Kind == directory.Changed {
		s.checkReady()
	}
	s.reconsider()
}

// gone implements followed.
func (src *source) gone() {
	s := src.sub
	s.compared = 0
	src.contact.listed, src.contact.gone = false, time.Now()
	src.unlisted()
	s.forgetOldest()
	s.checkReady()
	s.reconsider()
}

// fits returns why the publisher's messages do not fit this subscriber, or nil.
func (src *source) fits() error {
	entry, most := &src.contact.entry, src.sub.cfg.MaxMessageBytes
	if need := frameBytes(entry.PageBytes, entry.MaxMessageBytes); need > most {
		return fmt.Errorf("bus: publisher sends up to %d bytes at once, this subscriber receives %d: raise SubscriberConfig.MaxMessageBytes", need, most)
	}
	return nil
}

// update takes over the directory entry of the publisher.
func (src *source) update(e directory.Entry) {
	src.contact.entry, src.contact.listed = e, true
	src.served.Update(e.Instance, e.Tags, e.Since)
}
