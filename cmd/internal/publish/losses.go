// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"cmp"
	"log/slog"
	"slices"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/units"
)

// maxSubscriberLines is how many subscribers are named at the end, those that
// lost most.
const maxSubscriberLines = 20

// subscriberSummary is what --json prints of the subscriptions of a subscriber
// that have one policy.
type subscriberSummary struct {
	Instance string `json:"instance"`
	Name     string `json:"name,omitempty"`
	Host     string `json:"host"`
	PID      int    `json:"pid"`
	Policy   string `json:"policy"`
	Sent     uint64 `json:"sent"`
	cli.LossCounts
	Unconfirmed uint64  `json:"unconfirmed"` // lost or received: it has not said
	Dropped     dropped `json:"dropped"`     // received and lost there, as it says

	peer   bus.Peer
	losses bus.Losses
}

// missing returns how many messages it did not get, has not said that it got, or has lost
// itself.
func (s *subscriberSummary) missing() uint64 {
	return s.losses.Lost() + s.Unconfirmed + s.Dropped.Overflowed + s.Dropped.Panicked
}

// subscribersOf returns what is known of each subscriber, those that lost most
// first.
func subscribersOf(st bus.PublisherStats) []subscriberSummary {
	all := []subscriberSummary{} // not nil, which in JSON is no list
	for _, s := range slices.Concat(st.Subscribers, st.Gone) {
		for _, lane := range s.Lanes {
			all = append(all, subscriberSummary{
				Instance: s.Peer.Instance, Name: s.Peer.Name, Host: s.Peer.Host, PID: s.Peer.PID, Policy: lane.Policy.String(),
				Sent: lane.Sent, LossCounts: cli.LossCounts(lane.Losses), Unconfirmed: lane.Unconfirmed, Dropped: dropped(lane.Dropped),
				peer: s.Peer, losses: lane.Losses,
			})
		}
	}
	slices.SortStableFunc(all, func(a, b subscriberSummary) int { return cmp.Compare(b.missing(), a.missing()) })
	return all
}

// saySubscribers names the subscribers that did not get everything.
func (r *run) saySubscribers(all []subscriberSummary) {
	rest, level, restLevel := 0, slog.LevelWarn, slog.LevelInfo
	for i, s := range all {
		if s.missing() == 0 { // nor have those after it lost any: what is left out its policy asks for
			level = slog.LevelInfo
		}
		switch {
		case s.missing() == 0 && s.losses.LeftOut == 0:
		case i >= maxSubscriberLines:
			if rest++; rest == 1 {
				restLevel = level
			}
		default:
			fields := append(cli.PeerFields(&s.peer), slog.String("policy", s.Policy), slog.Uint64("count", s.losses.Lost()))
			r.console.Tell(level, "losses", fields, "%v, %s: %s sent, %s%s", &s.peer, s.Policy, units.FormatNumber(s.Sent, "message"), cli.LostText(s.losses.Lost(), s.losses, s.Unconfirmed), s.Dropped.text("its own queue", "its handlers"))
		}
	}
	if rest > 0 {
		r.console.Tell(restLevel, "losses", nil, "%s more did not get everything: --json names all", units.FormatNumber(rest, "subscriber"))
	}
}
