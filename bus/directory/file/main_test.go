// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/tags"
)

// announceIn is the environment variable that makes this test binary a publisher,
// to be killed.
const announceIn = "TAGBUS_TEST_ANNOUNCE_IN"

// endMainThread is the environment variable that makes its main thread end then, by pthread_exit as a
// program in C may.
const endMainThread = "TAGBUS_TEST_END_MAIN_THREAD"

func init() {
	if os.Getenv(endMainThread) != "" {
		runtime.LockOSThread() // TestMain runs on the main thread
	}
}

func TestMain(m *testing.M) {
	if folder := os.Getenv(announceIn); folder != "" {
		d, err := file.Open(folder, file.Config{})
		if err == nil {
			_, err = d.Announce(entry("killed", 1))
		}
		fmt.Println(err)
		if os.Getenv(endMainThread) != "" {
			_, _, err = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0) // does not return
			panic(err)
		}
		select {}
	}
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// manual makes a directory do nothing by itself within a test's time.
var manual = file.Config{Beat: time.Hour, Poll: time.Hour, Expiry: 3 * time.Hour, PollOnly: true}

func entry(instance string, served ...tags.Tag) directory.Entry {
	return directory.Entry{
		Instance: instance, Name: "felix-07", Host: "pc-07", PID: 4711, Backend: "tcp",
		Addresses: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:53100")},
		Tags:      tags.Of(served...), PageBytes: 65536, MaxMessageBytes: 1 << 20,
		Since: time.Unix(0, 1784000000_123456789),
	}
}

func open(tb testing.TB, folder string, config file.Config) *file.Directory {
	tb.Helper()
	d, err := file.Open(folder, config)
	if err != nil {
		tb.Fatalf("got %v from Open, want nil", err)
	}
	tb.Cleanup(func() { _ = d.Close() }) // where its error matters, the test asks for it
	return d
}

func announce(tb testing.TB, d *file.Directory, e directory.Entry) directory.Registration {
	tb.Helper()
	r, err := d.Announce(e)
	if err != nil {
		tb.Fatalf("got %v from Announce, want nil", err)
	}
	return r
}

// encode returns a whole file of instance a.
func encode(tb testing.TB, e directory.Entry) []byte {
	tb.Helper()
	data, err := file.Encode(e, 1, time.Second, file.Process{}, 1)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func mkdir(tb testing.TB, folder string) {
	tb.Helper()
	if err := os.Mkdir(folder, 0o755); err != nil {
		tb.Fatal(err)
	}
}

func write(tb testing.TB, folder, name string, data []byte) {
	tb.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
		tb.Fatal(err)
	}
}

func read(tb testing.TB, folder, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// watch returns a channel with the events of d.
func watch(tb testing.TB, d *file.Directory) <-chan directory.Event {
	tb.Helper()
	events := make(chan directory.Event, 10_000)
	if _, err := d.Watch(func(e directory.Event) { events <- e }); err != nil {
		tb.Fatalf("got %v from Watch, want nil", err)
	}
	return events
}

// want fails the test unless the next event is of that kind and instance.
func want(tb testing.TB, events <-chan directory.Event, kind directory.EventKind, instance string) directory.Event {
	tb.Helper()
	select {
	case e := <-events:
		if e.Kind != kind || e.Entry.Instance != instance {
			tb.Fatalf("got event %v, want %v %s", e, kind, instance)
		}
		return e
	case <-time.After(patience):
		tb.Fatalf("got no event, want %v %s", kind, instance)
		return directory.Event{}
	}
}

// wantNone fails the test if an event has come.
func wantNone(tb testing.TB, events <-chan directory.Event) {
	tb.Helper()
	select {
	case e := <-events:
		tb.Fatalf("got event %v, want none", e)
	default:
	}
}
