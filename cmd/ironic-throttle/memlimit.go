package main

import (
	"io/fs"
	"log/slog"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// limitMemory tells Go to stay within limitPart of what the control group of this process
// may take, so that the collector works harder before the kernel kills us. GOMEMLIMIT, which
// Go reads itself, says otherwise.
func limitMemory(log *slog.Logger) {
	if set := os.Getenv("GOMEMLIMIT"); set != "" {
		log.Info("memory limit", "from", "GOMEMLIMIT", "limit", set)
		return
	}
	group, file := groupMemory(os.DirFS("/"))
	if file == "" {
		return
	}
	limit := group / 100 * limitPercent
	debug.SetMemoryLimit(limit)
	log.Info("memory limit", "from", file, "group", group, "limit", limit)
}

// limitPercent leaves the rest to what Go does not count: sockets, files, its own code.
const limitPercent = 90

// groupMemory returns the least limit of the control groups that this process is in, in
// bytes, and the file that says so, "" where there is none. Within a container the path of
// the group may be the host's, and its files lie at the root.
func groupMemory(root fs.FS) (least int64, from string) {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, ""
	}
	for line := range strings.Lines(string(text)) {
		hierarchy, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		kinds, group, _ := strings.Cut(rest, ":")
		var mount, file string
		switch {
		case hierarchy == "0" && kinds == "": // version 2
			mount, file = "sys/fs/cgroup", "memory.max"
		case strings.Contains(","+kinds+",", ",memory,"):
			mount, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for dir := path.Clean("/" + group); ; dir = path.Dir(dir) {
			name := path.Join(mount, dir, file)
			if limit, ok := limitIn(root, name); ok && (from == "" || limit < least) {
				least, from = limit, "/"+name
			}
			if dir == "/" {
				break
			}
		}
	}
	return least, from
}

// limitIn reads a limit; false for none, which version 2 calls max and version 1 writes as a
// number that no machine has.
func limitIn(root fs.FS, name string) (int64, bool) {
	const none = 1 << 50
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return limit, err == nil && limit > 0 && limit < none
}
