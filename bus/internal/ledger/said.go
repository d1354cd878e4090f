package ledger

import "fmt"

// Said is how many messages of a lane the subscriber has received, as it says on one
// connection. The zero value is that of a new connection.
type Said struct {
	before uint64 // on earlier connections
	all    uint64
	begun  bool // it has said something
}

// Here returns the number of messages received on this connection.
func (s *Said) Here() uint64 { return s.all - s.before }

// Say notes how many messages the subscriber has received in total. The first count on a
// connection settles the lane's account.
//
//   - given: how many messages were given to the transport on this connection.
//   - Errors: the count is lower than the last one, or higher than it can be. It is not
//     noted then.
func (s *Said) Say(a *Lane, total, given uint64) error {
	switch {
	case !s.begun:
		*s = Said{before: total, all: total, begun: true}
		a.Settle(total)
	case total < s.all || total-s.before > given:
		return fmt.Errorf("received %d messages after %d, of %d that were sent since %d", total, s.all, given, s.before)
	default:
		s.all = total
	}
	return nil
}
