package main

import (
	"testing"
	"testing/fstest"
)

func TestTheLimitOfTheControlGroupIsFound(t *testing.T) {
	const pod = "kubepods/burstable/pod1/c1"
	for _, row := range []struct {
		name  string
		files map[string]string
		limit int64
		from  string
	}{
		{"nothing is known", nil, 0, ""},
		{"version 2 within a container", map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "402653184\n",
		}, 402653184, "/sys/fs/cgroup/memory.max"},
		{"version 2, the container's own is wider than its pod's", map[string]string{
			"proc/self/cgroup":                     "0::/" + pod + "\n",
			"sys/fs/cgroup/" + pod + "/memory.max": "900000000\n", "sys/fs/cgroup/kubepods/burstable/pod1/memory.max": "400000000\n",
			"sys/fs/cgroup/kubepods/memory.max": "max\n",
		}, 400000000, "/sys/fs/cgroup/kubepods/burstable/pod1/memory.max"},
		{"version 2 without a limit", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 0, ""},
		{"a namespace outside of ours", map[string]string{
			"proc/self/cgroup": "0::/../../x\n", "sys/fs/cgroup/memory.max": "3000000\n",
		}, 3000000, "/sys/fs/cgroup/memory.max"},
		{"no number", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "many\n"}, 0, ""},
	} {
		files := fstest.MapFS{}
		for name, text := range row.files {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if limit, from := groupMemory(files); limit != row.limit && row.from != "" || from != row.from {
			t.Errorf("%s: %d from %q, want %d from %q", row.name, limit, from, row.limit, row.from)
		}
	}
}
