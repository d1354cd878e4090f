package bus

// pause has the link cease to read from its subscriber until resume was called as
// often. On the loop it takes effect at once. While the link is paused it cannot hear
// the subscriber, so silence means nothing (link.tick). Loop only.
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
