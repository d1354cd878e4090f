// SPDX-License-Identifier: Apache-2.0

package member_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"tagbus/directory/etcd/member"
)

// lines returns what is said, a line each, and forgets it.
func (l *logs) lines() []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	defer l.text.Reset()
	return strings.Split(strings.TrimSuffix(l.text.String(), "\n"), "\n")
}

func TestWhatEtcdSays(t *testing.T) {
	said := new(logs)
	log, _ := member.Log(said.logger(), func(error) {})
	log.Info("nothing of importance")
	log.Warn("Running http and grpc server on single port. This is not recommended for production.")
	log.With(zap.String("to", "b")).Warn("slow", zap.Duration("took", time.Second))
	log.Warn("slow")
	log.Error("bad", zap.Error(errors.New("why")))
	got := said.lines()
	if len(got) != 2 || !strings.Contains(got[0], `level=WARN msg="etcd: slow" to=b took=1s`) || !strings.Contains(got[1], `level=ERROR msg="etcd: bad" error=why`) {
		t.Errorf("got %q, want a warning with all that belongs to it, and an error", got)
	}
}

// What etcd says again and again is said once a minute, with the number of what was left out.
func TestWhatEtcdSaysOften(t *testing.T) {
	said := new(logs)
	_, core := member.Log(said.logger(), func(error) {})
	at := time.Unix(1e9, 0)
	write := func(text string) {
		if err := core.Write(zapcore.Entry{Level: zapcore.WarnLevel, Time: at, Message: text}, nil); err != nil {
			t.Error(err)
		}
	}
	for range 100 {
		write("slow")
		at = at.Add(time.Second)
	}
	got := said.lines()
	if len(got) != 2 || strings.Contains(got[0], "omitted") || !strings.Contains(got[1], "omitted=59") {
		t.Errorf("got %q, want two lines, the second one with 59 omitted", got)
	}
	for i := range 10_000 {
		write(fmt.Sprint("line ", i))
	}
	if got := len(said.lines()); got > 256 {
		t.Errorf("got %d lines of 10,000 different ones, want at most 256", got)
	}
}

func TestWithWhatEtcdCannotGoOn(t *testing.T) {
	for cause, want := range map[string]string{
		"write db: no space left on device":    "the disk is full: free space",
		"open db: too many open files":         "raise their limit (ulimit -n",
		"mmap: cannot allocate memory":         "needs more memory or address space",
		"write db: read-only file system":      "has become read-only: check the disk",
		"wal: crc mismatch":                    "check the disk of the folder of data",
		"write 0.tmp: disk quota exceeded (x)": "the disk is full",
		"write 0.tmp: file too large":          "raise the limit of their size",
	} {
		var fatal error
		_, core := member.Log(new(logs).logger(), func(err error) { fatal = err })
		entry := zapcore.Entry{Level: zapcore.FatalLevel, Message: "failed to commit tx"}
		if err := core.Write(entry, []zapcore.Field{zap.Error(errors.New(cause))}); err != nil {
			t.Error(err)
		}
		if fatal == nil || !strings.Contains(fatal.Error(), want) || !strings.Contains(fatal.Error(), cause) {
			t.Errorf("%s: got %v, want %q in it", cause, fatal, want)
		}
	}
}

// TestAPanicOfEtcd ends the process as its other ends do where the disk is the cause, with words and without
// stacks, and is a panic otherwise.
func TestAPanicOfEtcd(t *testing.T) {
	for _, test := range []struct {
		cause  error
		status int    // 0: none
		want   string // what is said last
	}{
		{&fs.PathError{Op: "write", Path: "wal", Err: syscall.ENOSPC}, 1, "member: etcd cannot go on: failed to create WAL: write wal: no space left on device: the disk is full: free space"},
		{errors.New("index out of range"), 0, ""},
	} {
		status, said := 0, ""
		restore := member.OnExit(func(s int) { status = s })
		logger, _ := member.Log(new(logs).logger(), func(err error) { said = err.Error() })
		func() {
			defer func() {
				if recover() == nil { // the process goes on here
					t.Errorf("%v: got no panic, want one", test.cause)
				}
			}()
			logger.With(zap.String("member", "a")).Panic("failed to create WAL", zap.Error(test.cause))
		}()
		restore()
		if status != test.status || !strings.HasPrefix(said, test.want) || (said == "") != (test.want == "") {
			t.Errorf("%v: got status %d and %q, want %d and %q", test.cause, status, said, test.status, test.want)
		}
	}
}
