package bus

import (
	"fmt"
	"time"

	"tagbus/bus/directory"
	"tagbus/tags"
)

// announcement is a part of the tags that a publisher serves, with the time at
// which it announced them.
type announcement struct {
	since time.Time
	set   tags.Set
}

const maxAnnouncements = 16

// Take implements follow.User.
func (src *source) Take(e directory.Event) {
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

// Gone implements follow.User.
func (src *source) Gone() {
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
	before := src.contact.entry.Tags
	src.contact.list(e)
	src.ever = src.ever.Union(e.Tags)
	if checkEntry(src.ever) != nil { // it changes again and again
		src.ever = tags.Everything()
	}
	if err := src.announce(before, e); err != nil || len(src.announced) > maxAnnouncements {
		src.announced = []announcement{{e.Since, e.Tags}} // coarser, but right for the newest ones
	}
}

// announce notes which tags have come and gone.
//
// Errors: tags.ErrTooComplex.
func (src *source) announce(before tags.Set, e directory.Entry) error {
	budget := tags.NewBudget(compareSteps(before, e.Tags))
	added, err := budget.Without(e.Tags, before)
	if err != nil {
		return err
	}
	gone, err := budget.Without(before, e.Tags)
	if err != nil {
		return err
	}
	var kept []announcement
	for _, a := range src.announced {
		if a.set, err = budget.Without(a.set, gone); err != nil {
			return err
		}
		if !a.set.IsEmpty() {
			kept = append(kept, a)
		}
	}
	if !added.IsEmpty() {
		kept = append(kept, announcement{e.Since, added})
	}
	src.announced = kept
	return nil
}
