// SPDX-License-Identifier: Apache-2.0

package acl_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/acl"
)

// TestStore_aBrokenPolicyChangesNothing: the policy that was read before decides.
func TestStore_aBrokenPolicyChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "policy.json")
		write := func(text string) {
			t.Helper()
			must(t, os.WriteFile(file, []byte(text), 0o600))
			time.Sleep(10 * time.Second)
			synctest.Wait()
		}
		write(`{"rules":[{"who":"cn:a","send":"1"}]}`)
		var changed, failed atomic.Int64
		var last atomic.Pointer[error]
		s, err := acl.Open(acl.Config{
			File:    file,
			Changed: func(p *acl.Policy) { changed.Add(int64(p.Rules())) },
			Failed:  func(err error) { failed.Add(1); last.Store(&err) },
		})
		must(t, err)
		defer s.Close()
		expect := func(want string, changes, failures int64) {
			t.Helper()
			if got := s.Policy().Allowed(who(t, "cn:a"), acl.Send); !got.Equal(set(t, want)) {
				t.Errorf("got %v, want %v", got, want)
			}
			if changed.Load() != changes || failed.Load() != failures {
				t.Errorf("got %d changes and %d failures, want %d and %d", changed.Load(), failed.Load(), changes, failures)
			}
		}
		expect("1", 0, 0)
		write(`{"rules":[{"who":"cn:a","send":"1-2"}]}`)
		expect("1-2", 1, 0)
		write(`{"rules":[{"who":"cn:a","sent":"1-2"}]}`)
		expect("1-2", 1, 1)
		if err := *last.Load(); !errors.Is(err, acl.ErrUnknownField) || !strings.HasPrefix(err.Error(), file+":1: rule 1: sent: ") {
			t.Errorf("got %v, want the file, the rule and the field", err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		expect("1-2", 1, 1)
		if err := s.Reload(); !errors.Is(err, acl.ErrUnknownField) {
			t.Errorf("got %v, want ErrUnknownField", err)
		}
		must(t, os.Remove(file))
		if err := s.Reload(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v, want that there is no file", err)
		}
		expect("1-2", 1, 2)
		must(t, os.WriteFile(file, make([]byte, acl.MaxBytes+1), 0o600))
		if err := s.Reload(); !errors.Is(err, acl.ErrTooLarge) {
			t.Errorf("got %v, want ErrTooLarge", err)
		}
		write(`{"rules":[]}`)
		expect("", 1, 3)
	})
}

func TestOpen_andReadFileFail(t *testing.T) {
	if _, err := acl.Open(acl.Config{}); !errors.Is(err, acl.ErrInvalidConfig) {
		t.Errorf("got %v, want ErrInvalidConfig", err)
	}
	if _, err := acl.Open(acl.Config{File: "x", Every: -1}); !errors.Is(err, acl.ErrInvalidConfig) {
		t.Errorf("got %v, want ErrInvalidConfig", err)
	}
	missing := filepath.Join(t.TempDir(), "none")
	if _, err := acl.Open(acl.Config{File: missing}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "name the right file") {
		t.Errorf("got %v, want that there is none", err)
	}
	if _, err := acl.ReadFile(missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that there is none", err)
	}
	must(t, os.WriteFile(missing, []byte(site), 0o600))
	if p, err := acl.ReadFile(missing); err != nil || p.Rules() != 6 {
		t.Errorf("got %v, %v, want 6 rules", p, err)
	}
}
