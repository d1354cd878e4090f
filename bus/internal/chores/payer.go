package chores

// Payer is a cause of work that is done at once, not by jobs: a peer whose messages are
// handled as they come. The zero value has caused none.
type Payer struct {
	slice   int // that spent and paid are about
	spent   int // steps of work caused in it
	paid    int // steps of it that are taken off its budget already
	resting bool
}

// Spend counts work that the payer has caused, and reports whether the slice has some of
// its budget left. All payers share it: without any left, each of them is to Rest.
func (p *Payer) Spend(q *Queue, steps int) (left bool) {
	if p.slice != q.Slices {
		p.slice, p.spent, p.paid = q.Slices, 0, 0
	}
	p.spent += steps
	paid := min(p.paid, steps)
	p.paid -= paid
	return q.Spend(steps - paid)
}

// Rest holds the payer back until a slice has room for as much work as it has caused in
// this one. The work is paid for in advance: otherwise all payers would go on at once.
// While the payer rests, Rest does nothing.
//
//   - pause: called at once, if the payer does not rest already.
//   - resume: called when it may go on; not after Queue.Stop.
func (p *Payer) Rest(q *Queue, pause, resume func()) {
	if p.resting {
		return
	}
	p.resting = true
	steps := 0
	if p.slice == q.Slices {
		steps = p.spent
	}
	pause()
	q.Add(func(int) (int, bool) {
		p.resting = false
		p.slice, p.spent, p.paid = q.Slices, 0, steps
		resume()
		return 1 + steps, true
	})
}
