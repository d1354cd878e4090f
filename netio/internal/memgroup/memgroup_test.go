// SPDX-License-Identifier: Apache-2.0

package memgroup_test

import (
	"testing"
	"testing/fstest"

	"tagbus/netio/internal/memgroup"
)

// bytes is a number that may be missing.
type bytes struct {
	n  uint64
	ok bool
}

func TestLimitAndRoom(t *testing.T) {
	const enough = 500
	tests := []struct {
		name        string
		files       map[string]string
		limit, room bytes
	}{
		{"no groups", nil, bytes{}, bytes{}},
		{"no limit", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/memory.current": "7\n"}, bytes{}, bytes{}},
		{"a limit, and no more", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000\n"}, bytes{1000, true}, bytes{}},
		{"room enough", map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000\n", "sys/fs/cgroup/memory.current": "400\n",
			"sys/fs/cgroup/memory.stat": "inactive_file 300\n",
		}, bytes{1000, true}, bytes{600, true}},
		{"files that the system would forget", map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000\n", "sys/fs/cgroup/memory.current": "800\n",
			"sys/fs/cgroup/memory.stat": "anon 1\ntotal_inactive_file 7\ninactive_file 300\nactive_file 400\n",
		}, bytes{1000, true}, bytes{500, true}},
		{"more in use than allowed", map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000\n", "sys/fs/cgroup/memory.current": "2000\n",
		}, bytes{1000, true}, bytes{0, true}},
		{"the group above has less room", map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "1000\n", "sys/fs/cgroup/a/b/memory.current": "100\n",
			"sys/fs/cgroup/a/memory.max": "5000\n", "sys/fs/cgroup/a/memory.current": "4950\n", "sys/fs/cgroup/a/memory.stat": "inactive_file 10\n",
		}, bytes{1000, true}, bytes{60, true}},
		{"version 1", map[string]string{
			"proc/self/cgroup": "4:memory:/a\n3:cpu:/b\n0::/\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1000\n", "sys/fs/cgroup/memory/a/memory.usage_in_bytes": "900\n",
			"sys/fs/cgroup/memory/a/memory.stat":         "inactive_file 1\ntotal_inactive_file 30\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "5000\n",
		}, bytes{1000, true}, bytes{130, true}},
		{"a container, whose path is the host's", map[string]string{
			"proc/self/cgroup": "0::/system.slice/docker-7.scope\n", "sys/fs/cgroup/memory.max": "1000\n", "sys/fs/cgroup/memory.current": "100\n",
		}, bytes{1000, true}, bytes{900, true}},
		{"a path that leads upwards", map[string]string{"proc/self/cgroup": "0::/../../x\n", "sys/fs/cgroup/memory.max": "1000\n"}, bytes{1000, true}, bytes{}},
		{"what makes no sense", map[string]string{
			"proc/self/cgroup": "x\n\n0::\n", "sys/fs/cgroup/memory.max": "1000\n", "sys/fs/cgroup/memory.current": "900\n",
			"sys/fs/cgroup/memory.stat": "inactive_file\ninactive_file -1\n",
		}, bytes{1000, true}, bytes{100, true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := make(fstest.MapFS)
			for name, text := range tt.files {
				files[name] = &fstest.MapFile{Data: []byte(text)}
			}
			var limit, room bytes
			if limit.n, limit.ok = memgroup.Limit(files); limit != tt.limit {
				t.Errorf("Limit: got %v, want %v", limit, tt.limit)
			}
			if room.n, room.ok = memgroup.Room(files, enough); room != tt.room {
				t.Errorf("Room: got %v, want %v", room, tt.room)
			}
		})
	}
}
