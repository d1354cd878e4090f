// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"os"

	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/lossfile"
)

// keepLosses begins to write to the file of --loss-file.
func (r *run) keepLosses() {
	role := state.Publisher
	if r.flags.Send {
		role = state.Sender
	}
	host, _ := os.Hostname() // without one it is left out
	r.lossFile = lossfile.New(r.flags.LossFile, role, r.flags.Name, host, func(err error) { r.console.Warn("%s", cli.Text(err)) })
	r.lossFile.Start(r.producer.Instance(), lossfile.NewOutgoing(r.lossFile, r.producer.Stats, r.producer.TagLosses).Look)
}

// closeLosses writes what is left for that file.
func (r *run) closeLosses() {
	r.lossFile.AddUnconfirmed(r.stats)
	if err := r.lossFile.Close(lossfile.Totals(r.stats)); err != nil {
		r.console.Warn("%s", cli.Text(err))
	}
}
