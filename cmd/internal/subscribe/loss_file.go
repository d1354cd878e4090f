// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"os"

	"tagbus/bus"
	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/lossfile"
)

// newLossFile takes losses for the file of --loss-file, which is written once there is an
// instance.
func (r *run) newLossFile() {
	role := state.Subscriber
	if r.flags.Receive {
		role = state.Receiver
	}
	host, _ := os.Hostname() // without one it is left out
	r.lossFile = lossfile.New(r.flags.LossFile, role, r.flags.Name, host, func(err error) { r.console.Warn("%s", cli.Text(err)) })
}

// keepLoss keeps an event that is about a loss. On the loop.
func (r *run) keepLoss(e bus.Event) { r.lossFile.AddEvent(e, r.flags.Policy.String()) }

// closeLosses writes what is left for that file.
func (r *run) closeLosses() {
	if r.lossFile == nil || r.subscriber == nil {
		return
	}
	st := r.subscriber.Stats()
	totals := lossfile.Causes(st.Losses)
	if totals[state.Panic] = st.Panics; r.flags.Policy.Kind != bus.Latest { // which leaves out on purpose
		totals[state.Overflow] = st.Overflowed
	}
	if err := r.lossFile.Close(totals); err != nil {
		r.console.Warn("%s", cli.Text(err))
	}
}
