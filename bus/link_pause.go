package bus

// pause stops reading from the subscriber, until resume is called as often. It takes
// effect at once. A paused link cannot hear the subscriber, so silence means nothing
// (link.tick). Loop only.
func (l *link) pause() {
	if l.pausing++; l.pausing == 1 && !l.ended() {
		l.ep.PauseReceive()
	}
}

// resume undoes one pause. Loop only.
func (l *link) resume() {
	if l.pausing--; l.pausing == 0 && !l.ended() {
		l.pulse.heard = true // from here on
		l.ep.ResumeReceive()
	}
}

// ended reports whether OnConnectionClosed has come.
func (l *link) ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}
