package bus

// event reports e, which the publisher has caused.
func (src *source) event(e Event) { src.sub.events.Add(e, &src.events) }

// pause stops reading from the publisher until each pause is undone by a resume. A new
// connection begins paused if the last one was.
func (src *source) pause() {
	if src.pausing++; src.pausing == 1 && src.contact.state == contactReady && src.contact.ep != nil {
		src.contact.ep.PauseReceive()
	}
}

// resume undoes one pause.
func (src *source) resume() {
	if src.pausing--; src.pausing == 0 && src.contact.ep != nil {
		src.pulse.Hear() // from here on
		src.contact.ep.ResumeReceive()
	}
}
