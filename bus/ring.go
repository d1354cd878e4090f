package bus

// ring is a queue that grows as needed and then stays: pushing and popping
// allocate nothing in the long run. The zero value is empty.
type ring[T any] struct {
	items []T // power of two
	head  int
	n     int
}

const minRing = 16

func (r *ring[T]) len() int { return r.n }

func (r *ring[T]) push(v T) {
	if r.n == len(r.items) {
		r.grow()
	}
	r.items[(r.head+r.n)&(len(r.items)-1)] = v
	r.n++
}

// front returns the oldest item; the ring must not be empty. The pointer is
// valid until the next push or pop.
func (r *ring[T]) front() *T { return &r.items[r.head] }

// back returns the newest item; the ring must not be empty. The pointer is valid
// until the next push or pop.
func (r *ring[T]) back() *T { return r.at(r.n - 1) }

// at returns item i, from 0 for the oldest. The pointer is valid until the next
// push or pop.
func (r *ring[T]) at(i int) *T { return &r.items[(r.head+i)&(len(r.items)-1)] }

// pushFront adds an item before the oldest.
func (r *ring[T]) pushFront(v T) {
	if r.n == len(r.items) {
		r.grow()
	}
	r.head = (r.head - 1) & (len(r.items) - 1)
	r.items[r.head] = v
	r.n++
}

// remove takes item i out. It costs a move of each older one.
func (r *ring[T]) remove(i int) {
	for ; i > 0; i-- {
		*r.at(i) = *r.at(i - 1)
	}
	r.pop()
}

// pop removes and returns the oldest item; the ring must not be empty.
func (r *ring[T]) pop() T {
	var zero T
	v := r.items[r.head]
	r.items[r.head] = zero
	r.head = (r.head + 1) & (len(r.items) - 1)
	r.n--
	return v
}

func (r *ring[T]) grow() {
	items := make([]T, max(minRing, 2*len(r.items)))
	for i := range r.n {
		items[i] = r.items[(r.head+i)&(len(r.items)-1)]
	}
	r.items, r.head = items, 0
}
