// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"fmt"
	"log/slog"
	"net/netip"
	"time"
)

// reportPause is how often a row of refusals is reported at most.
const reportPause = 10 * time.Second

// refusals are the connections that a listen endpoint could not serve, in rows: a row
// ends with one that is served. A row is reported with its 1st, 10th, 100th one and so
// on, and when it is over. Of those that begin within reportPause only the first is: a
// peer that gives up while it is accepted is nothing rare, and one may do so on
// purpose. Only in a step.
type refusals struct {
	row      uint64 // refused in this row
	report   uint64 // the next one of it to be reported; 0: none of this row
	silent   uint64 // refused and not reported since the last report
	notUntil time.Time
}

// refused notes that a connection could not be served, for the reason err.
func (r *refusals) refused(log *slog.Logger, now time.Time, remote netip.AddrPort, err error) {
	r.row++
	if r.row == 1 && !now.Before(r.notUntil) {
		r.report = 1
		r.notUntil = now.Add(reportPause)
	}
	if r.row != r.report {
		r.silent++
		return
	}
	log.Warn("rdma: cannot serve an accepted connection; those that follow are only counted",
		"remote", remote, "err", err, "row", r.row, "before", r.silent)
	r.report, r.silent = 10*r.report, 0
}

// shed counts a connection for which there is no place, and logs it: its peer hears no reason.
func (b *backend) shed(remote netip.AddrPort) {
	b.Counters.AcceptShed.Add(1)
	b.refusals.refused(b.config.Logger, time.Now(), remote, fmt.Errorf("MaxEndpoints is %d, and there are as many accepted connections", b.config.MaxEndpoints))
}

// served ends the row.
func (r *refusals) served(log *slog.Logger) {
	if r.report > 0 {
		log.Info("rdma: connections are served again", "refused", r.row)
	}
	r.row, r.report = 0, 0
}
