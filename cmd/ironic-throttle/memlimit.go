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

// limitPercent leaves the rest to what Go does not count: sockets, files, its own code.
const limitPercent = 90

// limitMemory tells Go to stay within limitPercent of what the control group of this process may take, so that the
// collector works harder before the kernel kills us. GOMEMLIMIT, which Go reads itself, says otherwise.
func limitMemory(log *slog.Logger) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if group, file := groupMemory(os.DirFS("/")); file != "" {
		limit := group / 100 * limitPercent
		debug.SetMemoryLimit(limit)
		log.Info("memory limit set", "from", file, "group", group, "limit", limit)
	}
}

// groupMemory returns the least limit of the control groups (version 2) that this process is in, in bytes, and the file
// that says so, "" where there is none. Within a container the path of the group may be the host's, and its files lie at
// the root.
func groupMemory(root fs.FS) (least int64, from string) {
	text, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(text)) {
		group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok {
			continue
		}
		for dir := path.Clean("/" + group); ; dir = path.Dir(dir) {
			file := path.Join("sys/fs/cgroup", dir, "memory.max")
			text, _ := fs.ReadFile(root, file)
			limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max" is none
			if err == nil && limit > 0 && (from == "" || limit < least) {
				least, from = limit, "/"+file
			}
			if dir == "/" {
				break
			}
		}
	}
	return least, from
}
