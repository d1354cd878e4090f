//go:build libfabric && cgo

package rdma

// novelties bounds what a novelty remembers.
const novelties = 16

// novelty tells which errors are new: what happens again and again is counted, and
// logged once. Its zero value has seen none. Only in a step.
type novelty struct{ seen map[string]struct{} }

// is tells whether no error with this text has come before.
func (n *novelty) is(err error) bool {
	if _, seen := n.seen[err.Error()]; seen || len(n.seen) == novelties {
		return false
	}
	if n.seen == nil {
		n.seen = make(map[string]struct{})
	}
	n.seen[err.Error()] = struct{}{}
	return true
}
