// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tool

import (
	"context"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/cmd/internal/overview"
)

// longestBeat is the longest time between two beats of an entry whose next beat is waited for.
const longestBeat = 1500 * time.Millisecond

// Unrenewed returns which of some entries, which the directory lists, are not renewed: their programs have
// gone without a word, are stopped, or cannot write. The clock of the file system may be another
// one than ours: what seems to be old is looked at once more, when it should have been renewed.
//
//   - Blocks: if something seems to be old, for a beat, or until ctx ends.
func (e *Env) Unrenewed(ctx context.Context, listed []directory.Entry) []overview.Dead {
	path, isFolder, err := directory.Folder(e.Bus)
	if err != nil || !isFolder {
		return nil
	}
	look := func() (file.Survey, error) {
		return within(file.Patience, func() (file.Survey, error) { return file.Look(path, e.folder()) })
	}
	return unrenewed(ctx, look, listed)
}

func unrenewed(ctx context.Context, look func() (file.Survey, error), listed []directory.Entry) (all []overview.Dead) {
	there := make(map[string]bool, len(listed))
	for i := range listed {
		there[listed[i].Instance] = true
	}
	before, err := look()
	if err != nil {
		return nil // the list of entries says so
	}
	old, wait, now := make(map[string]uint64), time.Duration(0), time.Now()
	for i := range before.Files {
		f := &before.Files[i]
		ahead := now.Sub(f.Written) < -time.Second
		if f.Err == nil && there[f.Entry.Instance] && f.Beat <= longestBeat && (ahead || now.Sub(f.Written) > max(leftoversAge, 3*f.Beat)) {
			old[f.Entry.Instance], wait = f.Beats, max(wait, f.Beat+f.Beat/2)
		}
	}
	if len(old) == 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil
	}
	after, err := look()
	if err != nil {
		return nil
	}
	for i := range after.Files {
		f := &after.Files[i]
		if beats, ok := old[f.Entry.Instance]; ok && f.Err == nil && f.Beats == beats {
			all = append(all, overview.Dead{Entry: f.Entry, Since: f.Written})
		}
	}
	return all
}
