// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"tagbus/recording"
	"tagbus/tags"
	"tagbus/test/faults/internal/check"
)

// recordings is what became of the recorder, which ends whenever its disk is full.
type recordings struct{ files, messages, lost uint64 }

func (r recordings) text() string {
	return fmt.Sprintf("%d recordings until the disk was full: %d messages, %d told lost", r.files, r.messages, r.lost)
}

// recorded looks at the recording of a recorder that has ended. s.mu is held.
func (s *site) recorded(st *station) {
	if status := st.process.Status(); status != 0 && status != 1 {
		s.problemLocked("%s has ended with status %d", st.process.Name, status)
	}
	if err := s.recordings.add(s.recording()); err != nil {
		s.problemLocked("%s: %v", st.process.Name, err)
	}
	if err := unix.Unlink(s.recording()); err != nil && !errors.Is(err, unix.ENOENT) {
		s.problemLocked("%v", err)
	}
	s.ended(st)
}

// add reads a recording, and returns what is wrong with it: by its own counters, and by those in the messages.
func (r *recordings) add(path string) error {
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return nil // the disk was full before it began
	}
	files, err := recording.OpenAll(path)
	if err != nil {
		return err
	}
	defer func() { _ = files.Close() }() // nothing was written
	report, err := recording.Verify(files...)
	if err != nil {
		return err
	}
	var errs []error
	for i := range report.Series {
		if one := &report.Series[i]; one.Unexplained+one.Repeated+one.Backward > 0 {
			errs = append(errs, fmt.Errorf("tag %v: %d messages unexplained, %d repeated, %d backward", one.Tag, one.Unexplained, one.Repeated, one.Backward))
		}
	}
	for _, file := range report.Files {
		if file.Broken > 0 {
			errs = append(errs, fmt.Errorf("%d blocks cannot be read: %w", file.Broken, errors.Join(errorsOf(file.Damage)...)))
		}
	}
	r.files++
	return errors.Join(append(errs, r.judge(files))...)
}

func errorsOf(damage []*recording.DamageError) (all []error) {
	for _, d := range damage {
		all = append(all, d)
	}
	return all
}

// series is one tag of one publisher.
type series struct {
	publisher string
	tag       tags.Tag
}

// judged is what the messages of a series show.
type judged struct {
	got   check.Got
	judge *check.Judge
	apart uint64 // messages that are not part of the recording, behind those that are
}

// judge reads the messages, with the counters that the bus does not know.
func (r *recordings) judge(files recording.Readers) error {
	all := make(map[series]*judged)
	of := func(publisher string, tag tags.Tag) *judged {
		key := series{publisher, tag}
		if all[key] == nil {
			all[key] = &judged{}
			all[key].judge = check.NewJudge(&all[key].got, publisher, uint64(tag))
		}
		return all[key]
	}
	for record, err := range files.Records(recording.Query{}) {
		switch e := record.Event; {
		case err != nil:
			return err
		case e == nil:
			r.messages++
			of(record.Publisher.Instance, record.Tag).judge.Observe(record.Data, record.Time.UnixNano())
		case e.Kind == recording.Gap:
			r.lost += e.Count
			of(e.Peer.Instance, e.Tag).got.Told[check.Other] += e.Count
		case e.Kind == recording.Position:
			one := of(e.Peer.Instance, e.Tag)
			if one.got.Delivered > 0 && e.Count > one.got.Next {
				one.apart += e.Count - one.got.Next
			}
		}
	}
	var errs []error
	for key, one := range all {
		pair := check.Pair{Got: one.got, Late: true, Policy: "drop-newest"}
		if err := pair.Strange(); err != nil {
			errs = append(errs, fmt.Errorf("recorded of %s: %w", key.publisher, err))
		}
		if missing := pair.Unseen(); missing > one.got.Told.Missing()+one.apart {
			errs = append(errs, fmt.Errorf("recorded of %s: tag %v: %d messages are missing, %d told lost, and %d not part of it", key.publisher, key.tag, missing, one.got.Told.Missing(), one.apart))
		}
	}
	return errors.Join(errs...)
}
