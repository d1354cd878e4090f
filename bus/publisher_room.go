package bus

import "slices"

// pageSize returns how many buffers a page for a message of n bytes takes.
func (p *Publisher) pageSize(n int) int {
	return (pageHeaderBytes + maxRecordOverhead + n + p.pageBytes - 1) / p.pageBytes
}

// open begins a page of size buffers in every one of streams, whose mutexes
// are held and which have none: if all their subscribers and the pool have
// room, otherwise in none.
//
// Errors: ErrNoResources.
func (p *Publisher) open(size int, streams ...*stream) error {
	p.openMu.Lock()
	defer p.openMu.Unlock()
	if p.tryOpen(size, streams) {
		return nil
	}
	// Room that is freed after this line is announced by OnReady; room that
	// was freed before it, the second try finds.
	p.refused()
	if p.tryOpen(size, streams) {
		return nil
	}
	return ErrNoResources
}

// tryOpen looks before it takes, so that a try that fails never holds, even
// for a moment, what another publishing goroutine could have had: nobody would
// wake that one. openMu, held, keeps others from taking in between.
func (p *Publisher) tryOpen(size int, streams []*stream) bool {
	for _, s := range streams {
		for _, l := range s.lanes {
			if !l.hasRoom(int64(size)) {
				return false
			}
		}
	}
	var ok bool
	if p.taken, ok = p.pool.GetAll(p.taken[:0], size*len(streams)); !ok {
		return false
	}
	for i, s := range streams {
		buffers := p.taken[i*size : (i+1)*size]
		pg := &p.pages[buffers[0].Key()]
		pg.buffers = append(pg.buffers[:0], buffers...)
		pg.vector = pg.vector[:0]
		for _, l := range s.lanes {
			l.pinned.Add(int64(size))
		}
		s.begin(pg)
	}
	return true
}

// release gives up one reference to a page; the last one frees its memory.
func (p *Publisher) release(pg *page) {
	if pg.refs.Add(-1) == 0 {
		// The first buffer goes last: with it the page struct is free for
		// another goroutine.
		for _, b := range slices.Backward(pg.buffers) {
			b.Release()
		}
	}
	p.roomFreed()
}

// refused notes that a publisher was refused, so that it hears of room.
func (p *Publisher) refused() {
	p.refusals.Add(1)
	p.wantReady.Store(true)
}

// roomFreed tells those who wait for room.
func (p *Publisher) roomFreed() {
	p.waiting.wake()
	if p.cfg.OnReady != nil && p.wantReady.Load() && p.wantReady.Swap(false) {
		p.loop.Post(p.readyFunc)
	}
}

func (p *Publisher) onReady() { p.closer.call(p.cfg.OnReady) }
