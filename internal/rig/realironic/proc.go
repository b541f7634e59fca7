package realironic

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// userHz is the unit of CPU times in /proc on every Linux.
const userHz = 100

// process is a line of /proc/PID/stat, as far as needed.
type process struct {
	pid, parent, group int
	state              string
	cpu                time.Duration // its own and that of the children that it has waited for
}

// family is a process, its group and all descendants, the process first.
func family(root string, pid int) ([]process, error) {
	stats, err := filepath.Glob(filepath.Join(root, "[0-9]*", "stat"))
	if err != nil {
		return nil, fmt.Errorf("processes: %w", err)
	}
	var all []process
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended just now
		}
		p, err := parseStat(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, p)
	}
	first := slices.IndexFunc(all, func(p process) bool { return p.pid == pid })
	if first < 0 {
		return nil, fmt.Errorf("process %d: %w", pid, os.ErrNotExist)
	}
	members := []process{all[first]}
	all = slices.Delete(all, first, first+1)
	for found := true; found; {
		found = false
		all = slices.DeleteFunc(all, func(p process) bool {
			ours := p.group == pid || slices.ContainsFunc(members, func(m process) bool { return m.pid == p.parent })
			if ours {
				members = append(members, p)
				found = true
			}
			return ours
		})
	}
	return members, nil
}

func parseStat(text string) (p process, err error) {
	// The name, in brackets, may have blanks and brackets itself.
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return p, errors.New("no name in brackets")
	}
	fields := strings.Fields(text[end+1:])
	if len(fields) < 15 {
		return p, fmt.Errorf("%d fields after the name, want 15", len(fields))
	}
	p.state = fields[0]
	number := func(s string) int64 {
		n, bad := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		err = errors.Join(err, bad)
		return n
	}
	p.pid, p.parent, p.group = int(number(text[:open])), int(number(fields[1])), int(number(fields[2]))
	for _, ticks := range fields[11:15] { // utime, stime, cutime, cstime
		p.cpu += time.Duration(number(ticks)) * time.Second / userHz
	}
	return p, err
}
