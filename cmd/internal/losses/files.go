// SPDX-License-Identifier: Apache-2.0

//go:build linux

package losses

import (
	"fmt"
	"os"
	"slices"
	"time"

	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/lossfile"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/internal/stuck"
	"tagbus/tags"
)

// lossKind is what is added up in one row.
type lossKind struct {
	tag                   tags.Tag
	summed                bool // of several tags
	publisher, subscriber string
	policy                string
	cause                 state.Cause
	sends                 bool // written by the publisher
}

// pair is what both ends count: the same losses. One end may have written less of them, when
// it was killed or has no file.
type pair struct {
	publisher, subscriber string
	cause                 state.Cause
}

// byEnd are the messages that each end has written.
type byEnd struct {
	publisher, subscriber uint64
	summed                bool // by the publisher: of several tags
}

// publisherKnowsMore reports whether the publisher has written more than the subscriber, or
// as much: it sees losses when they happen, and a subscriber that was stopped only later.
func (b byEnd) publisherKnowsMore() bool {
	return b.publisher > b.subscriber || b.publisher == b.subscriber && !b.summed
}

// readFiles reads the files.
func (r *reporter) readFiles() (f found, err error) {
	since := r.Since.from(time.Now())
	sums := make(map[lossKind]*Row)
	ends := make(map[pair]byEnd)
	records, older, summed := 0, 0, uint64(0)
	for _, path := range distinct(r.LossFile) {
		bad, err := lossfile.Read(path, func(rec lossfile.Record) {
			records++
			switch {
			case rec.Last.Before(since):
				older++
			case rec.Tag == nil && !r.Tags.IsEmpty():
				summed += rec.Count
			default:
				addRecord(sums, ends, &rec)
			}
		})
		if err != nil {
			return f, fmt.Errorf("--loss-file: %w", err)
		}
		if bad > 0 {
			f.note("%s: %s passed over that are no records of losses", path, units.FormatNumber(bad, "line"))
			f.unanswered = &tool.StatusError{Code: cli.ExitFailed} // what they would say is not known
		}
	}
	if summed > 0 {
		f.note("of %s that were lost the files do not have the tag", units.FormatNumber(summed, "message"))
	}
	for k, row := range sums {
		if of := ends[pair{k.publisher, k.subscriber, k.cause}]; k.sends == of.publisherKnowsMore() {
			if told := toldByOthers(k, ends); told > 0 {
				row.Messages -= min(row.Messages, told)
				row.First, row.Last = time.Time{}, time.Time{} // those of the sum, which others may have lost
			}
			if row.Messages > 0 {
				f.rows = append(f.rows, *row)
			}
		}
	}
	f.where, f.older = units.FormatNumber(records, "record")+" read", older
	if older > 0 {
		f.where += ", " + units.FormatCount(uint64(older)) + " of them of losses before --since"
	}
	return f, nil
}

// toldByOthers returns how much of a sum without a peer is in the rows of the peers, which
// have told of it themselves: what they have written beyond what the sum's writer has
// written about them.
func toldByOthers(k lossKind, ends map[pair]byEnd) (messages uint64) {
	if !k.summed || k.publisher != "" && k.subscriber != "" {
		return 0
	}
	for p, of := range ends {
		switch {
		case p.cause != k.cause || p.publisher == "" || p.subscriber == "":
		case k.sends && p.publisher == k.publisher:
			messages += of.subscriber - min(of.subscriber, of.publisher)
		case !k.sends && p.subscriber == k.subscriber:
			messages += of.publisher - min(of.publisher, of.subscriber)
		}
	}
	return messages
}

// distinct returns the files, each once: one that is given by two paths is counted once.
func distinct(paths []string) (files []string) {
	var seen []os.FileInfo
	for _, path := range paths {
		info, err := stuck.Stat(path)
		if err == nil && slices.ContainsFunc(seen, func(s os.FileInfo) bool { return os.SameFile(s, info) }) {
			continue
		}
		if err == nil {
			seen = append(seen, info)
		}
		files = append(files, path) // what is wrong with it is said when it is read
	}
	return files
}

// addRecord adds a record to the row of its kind.
func addRecord(sums map[lossKind]*Row, ends map[pair]byEnd, rec *lossfile.Record) {
	from, to := rec.Publisher(), rec.Subscriber()
	k := lossKind{summed: rec.Tag == nil, publisher: from.Instance, subscriber: to.Instance, policy: rec.Policy, cause: rec.Cause}
	k.sends = from.Instance == rec.Instance
	if rec.Tag != nil {
		k.tag = *rec.Tag
	}
	p := pair{k.publisher, k.subscriber, k.cause}
	of := ends[p]
	if k.sends {
		of.publisher += rec.Count
		of.summed = of.summed || rec.Tag == nil
	} else {
		of.subscriber += rec.Count
	}
	ends[p] = of
	row := sums[k]
	if row == nil {
		row = &Row{Tag: rec.Tag, Publisher: end(from), Subscriber: end(to), Policy: rec.Policy, Cause: rec.Cause, First: rec.First}
		sums[k] = row
	}
	row.Messages += rec.Count
	row.Tags = max(row.Tags, rec.Tags)
	if rec.First.Before(row.First) {
		row.First = rec.First
	}
	if rec.Last.After(row.Last) {
		row.Last = rec.Last
	}
}

func end(p lossfile.Peer) overview.End {
	return overview.End{Instance: p.Instance, Name: p.Name, Host: p.Host}
}
