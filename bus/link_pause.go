package bus

// pause stops reading from the subscriber, until resume is called as often. It takes
// effect at once. A paused link cannot hear the subscriber, so silence means nothing
// (link.tick). Loop only.
func (l *link) pause() {
	if l.pausing++; l.pausing == 1 && !l.out.Ended() {
		l.ep.PauseReceive()
	}
}

// resume undoes one pause. Loop only.
func (l *link) resume() {
	if l.pausing--; l.pausing == 0 && !l.out.Ended() {
		l.pulse.Hear() // from here on
		l.ep.ResumeReceive()
	}
}
