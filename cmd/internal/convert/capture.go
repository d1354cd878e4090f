// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/record"
	"tagbus/internal/build"
	"tagbus/internal/sanitize"
	"tagbus/internal/stuck"
	"tagbus/recording"
	"tagbus/tags"
)

// ErrMixedInputs is returned for captures and recordings together.
var ErrMixedInputs = errors.New("some of the files are captures, and some are not: convert them one after the other")

// areCaptures reports whether files are captures, by their first bytes.
//
//   - Errors: ErrMixedInputs; those of reading; record.ErrDamaged, wrapped, for what people
//     have in place of a capture.
func areCaptures(files []string) (bool, error) {
	captures := 0
	for _, name := range files {
		head, err := beginning(name)
		if err != nil {
			return false, err
		}
		if !record.IsCapture(head) {
			continue
		}
		if captures++; record.Sniff(head) != "" {
			return false, fmt.Errorf("%s: %w: %s", sanitize.Text(name), record.ErrDamaged, record.Sniff(head))
		}
	}
	if captures > 0 && captures < len(files) {
		return false, ErrMixedInputs
	}
	return captures > 0, nil
}

// beginning returns the first bytes of a file, as many as record.Sniff needs.
//
//   - Errors: recording.ErrNotFile of a pipe, whose bytes come once, and which nothing may ever write to.
func beginning(name string) ([]byte, error) {
	if info, err := stuck.Stat(name); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil, fmt.Errorf("%s: %w", sanitize.Text(name), recording.ErrNotFile)
	}
	f, err := stuck.OpenStream(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	head := make([]byte, record.SniffBytes)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return head[:n], nil
}

// mostPacketBytes bounds a packet: the block with it can be read with the default of
// recording.ReaderConfig.
const mostPacketBytes = 120 << 20

// importer makes a recording of captures.
type importer struct {
	*job
	to      *recording.Writer
	q       recording.Query
	begun   bool
	stopped bool // a Stopped event was among the packets

	ours    *bus.Peer // of packets that name none
	peers   map[*record.Interface]*bus.Peer
	counts  map[tags.Tag]uint64 // with --tag
	message []byte              // with a record header
	joiner  joiner
	failed  error // of the capture that ended too early
}

// fromCaptures makes a recording of captures, one behind the other.
func (j *job) fromCaptures(ctx context.Context) (err error) {
	if j.out, err = j.create(j.env.Out); err != nil {
		return err
	}
	name := filepath.Base(j.Files[0])
	i := &importer{
		job: j, ours: &bus.Peer{Instance: name, Name: name},
		peers: make(map[*record.Interface]*bus.Peer), counts: make(map[tags.Tag]uint64),
	}
	return j.out.close(i.run(ctx))
}

func (i *importer) run(ctx context.Context) error {
	codec, err := recording.ParseCodec(i.Codec)
	if err != nil {
		return err
	}
	h := recording.Header{Name: i.ours.Name, Version: "tagbus rec convert " + build.Release(), Tags: i.Tags}
	if i.Tag != nil {
		h.Tags = tags.Of(*i.Tag)
	}
	if i.to, err = recording.NewWriter(i.out, h, recording.Config{Codec: codec}); err != nil {
		return err
	}
	for _, name := range i.Files {
		if err := i.file(ctx, name); err != nil {
			return err
		}
	}
	switch {
	case i.messages > 0:
	case i.damaged > 0 && !i.begun:
		i.note("no packet of the captures can be read")
	case !i.begun:
		i.note("no packets are in the captures")
	default:
		i.note("no packet of the captures is of what --tags, --from, --until or --publisher ask for")
	}
	if err := i.finish(); err != nil {
		return err
	}
	return i.to.Close()
}

// file reads a capture. One that is damaged is read as far as it is whole.
func (i *importer) file(ctx context.Context, name string) (err error) {
	f, err := stuck.OpenStream(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r, err := record.NewReader(record.Format{Kind: record.Pcapng}, bufio.NewReaderSize(f, outputBytes), mostPacketBytes)
	for n := uint64(1); ; n++ {
		var packet []byte
		if err == nil {
			packet, err = r.Next()
		}
		if err != nil {
			i.endOfFile(name, err)
			return nil
		}
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, note := range r.Notes() {
			i.note("%s: %s", name, note)
		}
		if err := i.packet(r, name, n, packet); err != nil {
			return err
		}
	}
}

// endOfFile names what ends a capture too early: damage, or a packet in pieces of which some
// are not there.
func (i *importer) endOfFile(name string, err error) {
	if err := i.joiner.interrupted(nil, nil); err != nil {
		i.damage(fmt.Errorf("%s: its end: %w", sanitize.Text(name), err))
	}
	if errors.Is(err, io.EOF) {
		return
	}
	i.failed = fmt.Errorf("%s: %w", sanitize.Text(name), err)
	i.damaged++
	fmt.Fprintf(i.env.Err, "%s: the capture is read no further\n", cli.Text(i.failed))
}

// write appends a record if it is asked for.
func (i *importer) write(r *recording.Record) error {
	at, peer := r.Time, r.Publisher
	if r.Event != nil {
		at, peer = r.Event.Time, r.Event.Peer
	}
	if !i.begun {
		if err := i.begin(at); err != nil {
			return err
		}
	}
	if !i.q.From.IsZero() && at.Before(i.q.From) || !i.q.To.IsZero() && !at.Before(i.q.To) {
		return nil
	}
	if at.After(i.last) {
		i.last = at
	}
	if e := r.Event; e != nil {
		if e.Kind != recording.Stopped && e.Kind != recording.Stepped && !i.wants(e.Tag, peer, e.Kind == recording.Gap || e.Kind == recording.Position) {
			return nil
		}
		i.stopped = i.stopped || e.Kind == recording.Stopped
		return i.append(*e)
	}
	if !i.wants(r.Tag, peer, true) {
		return nil
	}
	i.messages++
	return i.to.Append(r.Time, &r.Message.Message)
}

// wants reports whether a record is asked for.
func (i *importer) wants(tag tags.Tag, p *bus.Peer, hasTag bool) bool {
	return selects(i.q.Publisher, p) && (!hasTag || i.q.Tags.IsEmpty() || i.q.Tags.Contains(tag))
}

func (i *importer) append(e recording.Event) error {
	i.events++
	if e.Kind == recording.Gap && e.Cause != recording.CauseLeftOut {
		i.lost += e.Count
	}
	return i.to.AppendEvent(e)
}

// begin begins the recording, whose first record has a time. Packets of --tag have a
// publisher that joins.
func (i *importer) begin(at time.Time) (err error) {
	i.begun, i.last = true, at
	if i.q, err = i.query(at); err != nil {
		return &cli.UsageError{Err: err}
	}
	if i.Tag == nil {
		return nil
	}
	return i.append(recording.Event{Kind: recording.Joined, Time: at, Peer: i.ours, Tags: tags.Of(*i.Tag)})
}

// finish writes how the recording has ended, unless the packets say it.
func (i *importer) finish() error {
	if i.Tag != nil && i.begun && i.failed == nil {
		if err := i.append(recording.Event{Kind: recording.Ended, Time: i.last, Peer: i.ours}); err != nil {
			return err
		}
	}
	if !i.begun {
		i.last = time.Now()
	}
	if i.stopped && i.damaged == 0 {
		return nil
	}
	e := recording.Event{Kind: recording.Stopped, Time: i.last, Text: "made of a capture by tagbus rec convert"}
	if i.failed != nil || i.damaged > 0 {
		e.Failed = true
		e.Text += ": " + fmt.Sprint(i.damaged) + " packets or more could not be read"
	}
	return i.append(e)
}
