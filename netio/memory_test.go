// SPDX-License-Identifier: Apache-2.0

//go:build linux

package netio

import (
	"errors"
	"math"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestMemoryLimits(t *testing.T) {
	const meminfo = "MemTotal:       1024 kB\nMemFree:          7 kB\nSwapTotal:       512 kB\nHugePages_Total:       0\n"
	none := func(int) (uint64, bool) { return 0, false }
	tests := []struct {
		name  string
		files map[string]string
		soft  func(int) (uint64, bool)
		want  []uint64
	}{
		{"nothing is known", nil, none, nil},
		{"a machine with swap space", map[string]string{"proc/meminfo": meminfo}, none, []uint64{1536 << 10}},
		{"a group of version 2, limited above", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "4096\n",
		}, none, []uint64{1536 << 10, 4096 + 512<<10}},
		{"a group of version 1", map[string]string{
			"proc/self/cgroup": "4:memory:/a\n3:cpu:/b\n0::/\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes":   "8192\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
			"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "1\n",
		}, none, []uint64{8192}},
		{"a container, whose path is the host's", map[string]string{
			"proc/self/cgroup": "0::/system.slice/docker-7.scope\n", "sys/fs/cgroup/memory.max": "4096\n",
		}, none, []uint64{4096}},
		{"a group that leads upwards", map[string]string{"proc/self/cgroup": "0::/../../x\n", "sys/fs/cgroup/memory.max": "4096\n"}, none, []uint64{4096}},
		{"files that make no sense", map[string]string{"proc/meminfo": "MemTotal: -1 kB\nSwapTotal: x kB\n\n", "proc/self/cgroup": "x\n\n0::\n"}, none, nil},
		{"limits of the process", map[string]string{"proc/self/status": "VmSize:  3 kB\nVmData:  9 kB\n"}, func(resource int) (uint64, bool) {
			return map[int]uint64{unix.RLIMIT_AS: 4096, unix.RLIMIT_DATA: 8192}[resource], true
		}, []uint64{1024, 0}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files := make(fstest.MapFS)
			for name, text := range test.files {
				files[name] = &fstest.MapFile{Data: []byte(text)}
			}
			var got []uint64
			for _, limit := range memoryLimits(files, test.soft) {
				got = append(got, limit.bytes)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("got other limits than wanted (-want +got):\n%s", diff)
			}
		})
	}
}

// More memory than any machine has ended the program.
func TestMemoryThatNoMachineHasIsRefused(t *testing.T) {
	if err := CheckMemory(math.MaxInt); !errors.Is(err, ErrNoMemory) {
		t.Errorf("got %v from CheckMemory, want ErrNoMemory", err)
	}
	if err := CheckMemory(1 << 20); err != nil {
		t.Errorf("got %v for 1 MiB, want nil", err)
	}
	if _, err := AllocRegion(math.MaxInt &^ 4095); !errors.Is(err, ErrNoMemory) {
		t.Errorf("got %v from AllocRegion, want ErrNoMemory", err)
	}
	const most = min(1<<50, math.MaxInt&^4095) // which no machine of its kind has free
	for _, size := range []int{1, 1 << 20, most / 1024} {
		if _, err := NewPool(most/size, size); !errors.Is(err, ErrNoMemory) {
			t.Errorf("got %v from NewPool of %d bytes in buffers of %d, want ErrNoMemory", err, most, size)
		}
	}
}
