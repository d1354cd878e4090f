// SPDX-License-Identifier: Apache-2.0

package ledger

// Said is how many messages of a lane the subscriber has received, as it says on one
// connection. The zero value is that of a new connection.
type Said struct {
	Before uint64 // on earlier connections
	All    uint64
	begun  bool // it has said something
}

// Here returns the number of messages received on this connection.
func (s *Said) Here() uint64 { return s.All - s.Before }

// Say notes how many messages the subscriber has received in total. The first count on a
// connection settles the lane's account.
//
//   - given: how many messages were given to the transport on this connection.
//   - Result: false if the count is lower than the last one, or higher than it can be. It
//     is not noted then.
func (s *Said) Say(a *Lane, total, given uint64) (ok bool) {
	switch {
	case !s.begun:
		*s = Said{Before: total, All: total, begun: true}
		a.Settle(total)
	case total < s.All || total-s.Before > given:
		return false
	default:
		s.All = total
	}
	return true
}
