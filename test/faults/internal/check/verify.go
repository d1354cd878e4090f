// SPDX-License-Identifier: Apache-2.0

package check

import (
	"errors"
	"fmt"
	"strings"
)

// Pair is what both ends say of one tag.
type Pair struct {
	Sent Sent
	Got  Got
	Owed *Owed // what the publisher has told; nil if it has not been asked

	Policy string
	// Late is set if the subscriber came when the publisher had begun: then the account begins at some
	// counter up to the first message.
	Late bool
	// Killed is set if the subscriber was killed: what it was told last is not known.
	Killed bool
	// Left is set if the subscriber has ended in order, before the publisher.
	Left bool
	// Lossless is set if nothing may be lost, whatever the policy: the fault breaks no connection.
	Lossless bool
}

// Verify returns what is wrong with a pair, joined; nil if all of it is as promised:
//
//   - no message came twice, out of order, changed, or under a tag that is not its own;
//   - of a publisher that has ended in order, accepted = delivered + told lost;
//   - of one that has vanished, and at a subscriber that has left, all that is missing below the last message
//     is told, and the rest is unconfirmed with that reason. One that has left may not have been told what a
//     policy has left out last, which comes about once a second;
//   - both ends tell the same losses;
//   - a policy that loses nothing has lost nothing but with a connection.
func (p Pair) Verify() error {
	var errs []error
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("tag %d (%s): "+format, append([]any{p.Got.Tag, p.Policy}, args...)...))
	}
	g, told := p.Got, p.Got.Told.Missing()
	if err := p.Strange(); err != nil {
		errs = append(errs, err)
	}
	if g.Delivered+g.Missing != g.Next {
		wrong("the checker has counted %d delivered and %d missing of %d", g.Delivered, g.Missing, g.Next)
	}
	if g.Next > p.Sent.Tried {
		wrong("message %d came, and %d were tried", g.Next, p.Sent.Tried)
	}
	switch {
	case p.Killed:
	case g.Goodbye != 0:
		p.whole(told, wrong)
	case p.Left, g.Vanished != 0:
		untold := told < p.Unseen() && (!p.Left || !leavesOut(p.Policy))
		if untold || g.Delivered+told > p.Sent.Tried {
			wrong("vanished: %d delivered, %d missing among them, %d told lost, %d tried", g.Delivered, g.Missing, told, p.Sent.Tried)
		}
	default:
		wrong("the publisher has ended, and the subscriber was not told")
	}
	if silent(p.Policy) && (g.Told[Full] != 0 || g.Told[Memory] != 0 || g.Told[LeftOut] != 0) {
		wrong("a policy that loses nothing has lost: full %d, memory %d, left out %d", g.Told[Full], g.Told[Memory], g.Told[LeftOut])
	}
	if p.Lossless && silent(p.Policy) && told != 0 {
		wrong("%d told lost, and no connection broke", told)
	}
	return errors.Join(errs...)
}

// Strange returns what no message may be, at any moment: doubled, out of order, changed, or of another stream.
func (p Pair) Strange() error {
	g := p.Got
	if g.Duplicated+g.Reordered+g.Corrupt+g.Foreign == 0 {
		return nil
	}
	return fmt.Errorf("tag %d (%s): %d messages doubled, %d messages out of order, %d messages changed, %d messages of another stream or tag",
		g.Tag, p.Policy, g.Duplicated, g.Reordered, g.Corrupt, g.Foreign)
}

// silent reports whether a policy loses nothing while a connection lives.
func silent(policy string) bool { return policy == "block" || policy == "disconnect:5s" }

// leavesOut reports whether a policy leaves messages out on purpose.
func leavesOut(policy string) bool { return policy == "latest" || strings.HasPrefix(policy, "sample:") }

// Unseen returns how many messages are missing below the last one that came, and are to be told lost.
func (p Pair) Unseen() uint64 { return p.Got.Missing - min(p.before(), p.Got.Missing) }

// before returns how many messages may have been published before the subscription.
func (p Pair) before() uint64 {
	switch {
	case !p.Late:
		return 0
	case p.Got.Delivered == 0: // and no message says where it began
		return p.Sent.Accepted
	}
	return p.Got.First
}

// whole compares the ends of a publisher that has ended in order.
func (p Pair) whole(told uint64, wrong func(string, ...any)) {
	g := p.Got
	if p.Sent.Tried != p.Sent.Accepted {
		wrong("goodbye, and the publisher has tried %d and accepted %d", p.Sent.Tried, p.Sent.Accepted)
	}
	if sum := g.Delivered + told; sum > p.Sent.Accepted || sum < p.Sent.Accepted-min(p.before(), p.Sent.Accepted) {
		wrong("accepted %d, delivered %d, told lost %d: %d are not accounted for", p.Sent.Accepted, g.Delivered, told, int64(p.Sent.Accepted-g.Delivered-told))
	}
	if p.Owed == nil {
		return
	}
	here, there := g.Told, p.Owed.Told
	here[Queue], there[Queue], here[Ended], there[Ended] = 0, 0, 0, 0 // each is of one end only
	if here != there {
		wrong("the subscriber was told %v lost, the publisher tells %v (full, memory, connection, ended, left out, queue, other)", here, there)
	}
}
