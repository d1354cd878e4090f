// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
)

func TestConfig_Validate_namesWhatIsWrong(t *testing.T) {
	tests := []struct {
		name   string
		config file.Config
		want   []string // one word of each violation
	}{
		{"the zero value", file.Config{}, nil},
		{"values for NFS", file.Config{Beat: 5 * time.Second, Expiry: 90 * time.Second, Poll: 10 * time.Second, PollOnly: true}, nil},
		{"an expiry that polling cannot see", file.Config{Expiry: time.Second, Poll: time.Second}, []string{"Expiry"}},
		{"everything wrong", file.Config{
			Beat: time.Millisecond, Poll: 1, Expiry: 1, CollectAfter: -1, MaxFileBytes: 1, MaxFiles: -1, MaxTagParts: -1,
		}, []string{"Beat", "Poll", "Expiry", "CollectAfter", "MaxFileBytes", "MaxFiles", "MaxTagParts"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := test.config.Validate()
			if errors.Is(err, file.ErrConfig) != (test.want != nil) {
				t.Fatalf("got %v, want violations of %v", err, test.want)
			}
			for i, line := range strings.Split(fmt.Sprint(err), "\n") {
				if test.want != nil && (len(strings.Split(err.Error(), "\n")) != len(test.want) || !strings.Contains(line, test.want[i])) {
					t.Errorf("got violation %q, want one of %v", line, test.want)
				}
			}
			if _, openErr := file.Open(t.TempDir(), test.config); test.want != nil && !errors.Is(openErr, file.ErrConfig) {
				t.Errorf("got %v from Open, want ErrConfig", openErr)
			}
		})
	}
}

func TestOpen_pathsThatAreNoFolder(t *testing.T) {
	tests := []struct {
		name string
		path func(folder string) string
		want error
	}{
		{"a path below a file", func(folder string) string { return filepath.Join(folder, "file", "bus") }, file.ErrNotDirectory},
		{"a file", func(folder string) string { return filepath.Join(folder, "file") }, file.ErrNotDirectory},
		{"a FIFO", func(folder string) string { return filepath.Join(folder, "fifo") }, file.ErrNotDirectory},
	}
	folder := t.TempDir()
	write(t, folder, "file", nil)
	if err := syscall.Mkfifo(filepath.Join(folder, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name+" is refused", func(t *testing.T) {
			path := test.path(folder)
			_, err := file.Open(path, file.Config{})
			var typed *file.PathError
			if !errors.Is(err, test.want) || !errors.As(err, &typed) || typed.Path != path || typed.Hint == "" {
				t.Errorf("got %v, want a *PathError with %v that names %s", err, test.want, path)
			}
		})
	}
	t.Run("a place where no program can create folders is refused by Announce", func(t *testing.T) {
		const path = "/proc/tagbus/bus"
		_, err := open(t, path, manual).Announce(entry("a", 1))
		var typed *file.PathError
		if !errors.Is(err, file.ErrUnwritable) || !errors.As(err, &typed) || typed.Path != path || typed.Hint == "" {
			t.Errorf("got %v, want a *PathError with ErrUnwritable that names %s", err, path)
		}
	})
	t.Run("folders that are missing are created by Announce", func(t *testing.T) {
		path := filepath.Join(folder, "a", "b", "bus")
		d := open(t, path, manual)
		watch(t, d)
		if _, err := d.List(); !errors.Is(err, file.ErrVanished) {
			t.Errorf("got %v, want ErrVanished", err)
		}
		if _, err := os.Stat(filepath.Join(folder, "a")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v, want that nothing is created without an announcement", err)
		}
		announce(t, d, entry("a", 1))
		info, err := os.Stat(path)
		if err != nil || info.Mode() != fs.ModeDir|0o755 {
			t.Errorf("got %v, %v, want a folder with mode 0755", info, err)
		}
	})
	t.Run("a link to a folder is the folder", func(t *testing.T) {
		link := filepath.Join(folder, "link")
		if err := os.Symlink(t.TempDir(), link); err != nil {
			t.Fatal(err)
		}
		announce(t, open(t, link, manual), entry("a", 1))
	})
}

func TestDirectory_unwritableFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		// Root may write everywhere but into a file system that is none.
		_, err := open(t, "/proc/self/fdinfo", manual).Announce(entry("a", 1))
		if !errors.Is(err, file.ErrUnwritable) {
			t.Errorf("got %v, want ErrUnwritable", err)
		}
		return
	}
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o555); err != nil {
		t.Fatal(err)
	}
	d := open(t, folder, manual)
	if _, err := d.Announce(entry("a", 1)); !errors.Is(err, file.ErrUnwritable) || !errors.Is(err, os.ErrPermission) {
		t.Errorf("got %v, want ErrUnwritable and ErrPermission", err)
	}
	if entries, err := d.List(); err != nil || len(entries) != 0 {
		t.Errorf("got %v, %v, want a readable folder", entries, err)
	}
}

// TestDirectory_strangeFiles plants what must not be read, beside one good file.
func TestDirectory_strangeFiles(t *testing.T) {
	tests := []struct {
		name  string
		file  string
		plant func(t *testing.T, path string) error
		want  error // nil: passed over in silence
	}{
		{"a FIFO", "x.jsonl", func(_ *testing.T, path string) error { return syscall.Mkfifo(path, 0o644) }, file.ErrNotRegular},
		{"a folder", "x.jsonl", func(_ *testing.T, path string) error { return os.Mkdir(path, 0o755) }, file.ErrNotRegular},
		{"a socket", "x.jsonl", func(t *testing.T, path string) error {
			t.Helper()
			fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			t.Cleanup(func() { _ = syscall.Close(fd) })
			t.Chdir(filepath.Dir(path)) // socket paths are short
			return syscall.Bind(fd, &syscall.SockaddrUnix{Name: filepath.Base(path)})
		}, file.ErrNotRegular},
		{"a link to a good file", "x.jsonl", func(_ *testing.T, path string) error { return os.Symlink("good.jsonl", path) }, file.ErrNotRegular},
		{"a link to the outside", "x.jsonl", func(_ *testing.T, path string) error { return os.Symlink("/dev/zero", path) }, file.ErrNotRegular},
		{"a file of 1 TiB", "x.jsonl", func(_ *testing.T, path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o644), os.Truncate(path, 1<<40))
		}, file.ErrTooLarge},
		{"an empty file", "x.jsonl", func(_ *testing.T, path string) error { return os.WriteFile(path, nil, 0o644) }, file.ErrDamaged},
		{"the file of another instance", "x.jsonl", func(t *testing.T, path string) error {
			t.Helper()
			return os.WriteFile(path, encode(t, entry("y", 1)), 0o644)
		}, file.ErrName},
		{"a name that is no instance", "\x1b[2J.jsonl", func(_ *testing.T, path string) error { return os.WriteFile(path, nil, 0o644) }, file.ErrName},
		{"another format", "x.jsonl", func(_ *testing.T, path string) error {
			return os.WriteFile(path, []byte(`{"tagbus_directory":2}`+"\n"), 0o644)
		}, file.ErrVersion},
		{"a note to the operator", "README", func(_ *testing.T, path string) error { return os.WriteFile(path, nil, 0o644) }, nil},
		{"a hidden file", ".x.jsonl", func(_ *testing.T, path string) error { return os.WriteFile(path, nil, 0o644) }, nil},
		{"a file that is being written", ".x.tmp", func(_ *testing.T, path string) error { return os.WriteFile(path, nil, 0o644) }, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			folder := t.TempDir()
			write(t, folder, "good.jsonl", encode(t, entry("good", 1)))
			path := filepath.Join(folder, test.file)
			if err := test.plant(t, path); err != nil {
				t.Fatal(err)
			}
			d := open(t, folder, manual)
			start := time.Now()
			entries, err := d.List()
			if took := time.Since(start); took > 20*time.Second { // 10 ms, and a machine that is busy with something else
				t.Errorf("got a look of %v, want one that does not hang", took)
			}
			if len(entries) != 1 || entries[0].Instance != "good" {
				t.Errorf("got entries %v, want the good one", entries)
			}
			var typed *file.PathError
			if !errors.Is(err, test.want) || test.want != nil && (!errors.As(err, &typed) || typed.Path != path || typed.Hint == "") {
				t.Errorf("got %v, want a *PathError with %v that names %q", err, test.want, path)
			}
			if err != nil && strings.ContainsAny(err.Error(), "\x1b") {
				t.Errorf("got error %q, want one that is safe to print", err)
			}
			events := watch(t, d)
			want(t, events, directory.Appeared, "good")
			if test.want != nil {
				want(t, events, directory.Problem, "")
			}
			d.Scan()
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			d.Scan()
			if _, err := d.List(); err != nil {
				t.Errorf("got problem %v after the file went, want none", err)
			}
			wantNone(t, events)
		})
	}
}

func TestDirectory_trustedOwners(t *testing.T) {
	me := uint32(os.Geteuid())
	tests := []struct {
		name   string
		owners []uint32
		mode   os.FileMode
		want   error
	}{
		{"everyone is trusted by default", nil, 0o666, nil},
		{"my own file", []uint32{me + 1, me}, 0o644, nil},
		{"the file of another user", []uint32{me + 1}, 0o644, file.ErrForeignOwner},
		{"my file that my group may write", []uint32{me}, 0o664, file.ErrForeignOwner},
		{"my file that all may write", []uint32{me}, 0o646, file.ErrForeignOwner},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			folder := t.TempDir()
			write(t, folder, "a.jsonl", encode(t, entry("a", 1)))
			if err := os.Chmod(filepath.Join(folder, "a.jsonl"), test.mode); err != nil {
				t.Fatal(err)
			}
			config := manual
			config.TrustedOwners = test.owners
			entries, err := open(t, folder, config).List()
			if !errors.Is(err, test.want) || (len(entries) == 1) != (test.want == nil) {
				t.Errorf("got %v, %v, want %v", entries, err, test.want)
			}
		})
	}
}

func TestDirectory_Announce_whereAFileIs(t *testing.T) {
	tests := []struct {
		name    string
		process file.Process
		damage  bool
		want    error
	}{
		{"of a publisher that may live", file.Process{}, false, directory.ErrAnnounced},
		{"of a publisher that has ended", endedProcess(t), false, nil},
		{"that is damaged", file.Process{}, true, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			folder := t.TempDir()
			data, err := file.Encode(entry("a", 1), 1, time.Second, test.process, 1)
			if err != nil {
				t.Fatal(err)
			}
			if test.damage {
				data = data[1:]
			}
			write(t, folder, "a.jsonl", data)
			_, err = open(t, folder, manual).Announce(entry("a", 2))
			if !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}
