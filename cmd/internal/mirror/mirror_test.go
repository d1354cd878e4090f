// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
	"tagbus/internal/testkit"
)

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		name string
		c    Command
		want string // "" if it is right
	}{
		{"two folders", Command{From: "a", To: "file:///b"}, ""},
		{"one folder by two names", Command{From: "a", To: "./b/../a"}, "FROM and TO: both are a, want two buses"},
		{"one URL", Command{From: "etcd://a/b", To: "etcd://a/b"}, "FROM and TO: both are etcd://a/b, want two buses"},
		{"nothing", Command{From: "a"}, "FROM and TO: got an empty bus, want the path of a folder or a URL"},
		{
			"times that go back",
			Command{From: "a", To: "b", Expiry: -1, Duration: -1},
			"--expiry: got -1ns, want a positive time\n--duration: got -1ns, want a positive time",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.c.Check()
			if got := text(err); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// ran runs the command and returns what it writes.
func ran(ctx context.Context, c *Command, asJSON bool) (out, said string, err error) {
	var stdout, stderr bytes.Buffer
	c.LogFormat = cli.LogText
	err = c.Run(ctx, &tool.Env{Flags: &tool.Flags{JSON: asJSON}, Streams: cli.Streams{Out: &stdout, Err: &stderr}})
	return stdout.String(), stderr.String(), err
}

func TestBusesThatCannotBeOpened(t *testing.T) {
	folder := t.TempDir()
	notFolder := filepath.Join(folder, "file")
	testkit.Must(t, os.WriteFile(notFolder, nil, 0o600))
	for _, test := range []struct {
		name string
		c    Command
		is   error
		code int
	}{
		{"a kind that the program does not have", Command{From: folder, To: "nats://a/b"}, directory.ErrUnknownScheme, cli.ExitUsage},
		{"a folder of another host", Command{From: "file://host/x", To: folder}, directory.ErrInvalidURL, cli.ExitUsage},
		{"an expiry that is too short", Command{From: folder, To: "b", Expiry: time.Nanosecond}, file.ErrConfig, cli.ExitUsage},
		{"an expiry that is too long", Command{From: folder, To: "b", Expiry: 100_000 * time.Hour}, file.ErrConfig, cli.ExitUsage},
		{"no folder", Command{From: notFolder, To: folder}, file.ErrNotDirectory, cli.ExitFailed},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := ran(t.Context(), &test.c, false)
			if !errors.Is(err, test.is) || tool.Code(err) != test.code {
				t.Errorf("got %v and status %d, want %v and %d", err, tool.Code(err), test.is, test.code)
			}
		})
	}
}

// TestBothWays mirrors two folders for a time, both ways, and looks at what is in them
// meanwhile and in the end.
func TestBothWays(t *testing.T) {
	t.Chdir(t.TempDir())
	var dirs []*file.Directory
	for _, name := range []string{"a", "b"} {
		d, err := file.Open(name, file.Config{Poll: 10 * time.Millisecond})
		testkit.Must(t, err)
		defer d.Close()
		announce(t, d, native("of-"+name, 1))
		dirs = append(dirs, d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	arrived := make(chan struct{}, 100)
	for _, d := range dirs {
		stop, err := d.Watch(func(e directory.Event) {
			if e.Kind == directory.Appeared && e.Entry.Mirror != "" {
				arrived <- struct{}{}
			}
		})
		testkit.Must(t, err)
		defer stop()
	}
	go func() {
		<-arrived
		<-arrived
		cancel()
	}()
	out, said, err := ran(ctx, &Command{From: "a", To: "b", Both: true, Duration: time.Minute}, true)
	var s summary
	if jsonErr := json.Unmarshal([]byte(out), &s); err != nil || jsonErr != nil || s.Ended != "signal" || len(s.Directions) != 2 {
		t.Fatalf("got %v and %q, want a summary of both directions\n%s", err, out, said)
	}
	for i, want := range []standing{
		{From: "a", To: "b", Announced: 1, Withdrawn: 1},
		{From: "b", To: "a", Announced: 1, Withdrawn: 1},
	} {
		if s.Directions[i] != want {
			t.Errorf("got %+v, want %+v", s.Directions[i], want)
		}
	}
	if want := "copying the entries of a to and from b"; !strings.Contains(said, want) {
		t.Errorf("got %q, want %q in it", said, want)
	}
	for i, d := range dirs {
		if entries, err := d.List(); err != nil || len(entries) != 1 {
			t.Errorf("got %v, %v in folder %d in the end, want its own entry", entries, err, i)
		}
	}
}

// TestAProblemIsSaidOnce: both directions look at both directories.
func TestAProblemIsSaidOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	_, said, err := ran(t.Context(), &Command{From: "a", To: "b", Both: true, Duration: time.Second}, false)
	if n := strings.Count(said, "directory is missing"); err != nil || n != 2 {
		t.Errorf("got %v and %d problems of two folders in\n%s\nwant one of each", err, n, said)
	}
}

func TestTheDurationEndsIt(t *testing.T) {
	t.Chdir(t.TempDir())
	out, said, err := ran(t.Context(), &Command{From: "a", To: "b", Duration: time.Millisecond}, false)
	if want := "a to b: 0 entries copied, 0 changed, 0 withdrawn; ended by duration"; err != nil || out != "" || !strings.Contains(said, want) {
		t.Errorf("got %q, %q and %v, want %q", out, said, err, want)
	}
}

func TestHowAMirrorStands(t *testing.T) {
	for _, test := range []struct {
		s    standing
		want string
	}{
		{standing{From: "a", To: "b", Copies: 1}, "a to b: 1 entry copied"},
		{
			standing{From: "a", To: "b", Copies: 1500, Others: 2, Failing: 3},
			"a to b: 1,500 entries copied, 2 by another mirror, 3 cannot be written and will be tried again",
		},
	} {
		if got := test.s.String(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
	left := &LeftError{Copies: 2, Err: errAway}
	if want := "2 entries could not be withdrawn, and will expire: the storage is away"; left.Error() != want {
		t.Errorf("got %q, want %q", left.Error(), want)
	}
}
