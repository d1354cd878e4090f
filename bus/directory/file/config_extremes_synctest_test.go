// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/internal/testkit/extremes"
)

// TestConfig_atTheEdgesOfItsTypes: a directory with a number or time near the
// largest or smallest of its type refuses it by name, or an entry is seen.
func TestConfig_atTheEdgesOfItsTypes(t *testing.T) {
	extremes.Each(t, file.Config{PollOnly: true}, func(t *testing.T, config any) (refused error) {
		folder := t.TempDir()
		synctest.Test(t, func(t *testing.T) { refused = announceAndSee(t, folder, config.(file.Config)) })
		return refused
	})
}

// announceAndSee announces an entry, and sees it stay for a minute; or it returns why the
// configuration is refused.
func announceAndSee(t *testing.T, folder string, config file.Config) error {
	writer, err := file.Open(folder, config)
	if err != nil {
		if !errors.Is(err, file.ErrConfig) {
			t.Errorf("got %v from Open, want ErrConfig", err)
		}
		return err
	}
	defer writer.Close()
	reader, err := file.Open(folder, config)
	if err != nil {
		t.Errorf("got %v from the second Open, want none", err)
		return nil
	}
	defer reader.Close()
	if _, err := writer.Announce(entry("a", 1)); err != nil {
		t.Errorf("got %v from Announce, want none", err)
		return nil
	}
	var events []directory.EventKind
	stop, err := reader.Watch(func(e directory.Event) { events = append(events, e.Kind) })
	if err != nil {
		t.Errorf("got %v from Watch, want none", err)
		return nil
	}
	time.Sleep(time.Minute)
	stop()
	if len(events) != 1 || events[0] != directory.Appeared {
		t.Errorf("got events %v in a minute, want the entry added", events)
	}
	return nil
}
