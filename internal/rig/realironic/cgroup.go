package realironic

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// hierarchy is a place for control groups.
type hierarchy struct {
	dir, controller string
	// settings gives files and what is written to them, for a quota in microseconds.
	settings func(quota string) [][2]string
}

var period = strconv.FormatInt(dutyPeriod.Microseconds(), 10)

var hierarchies = []hierarchy{
	{"/sys/fs/cgroup", "", func(quota string) [][2]string { return [][2]string{{"cpu.max", quota + " " + period}} }},
	{"/sys/fs/cgroup/cpu", "cpu", func(quota string) [][2]string {
		return [][2]string{{"cpu.cfs_period_us", period}, {"cpu.cfs_quota_us", quota}}
	}},
}

// confine puts a process with its family into a control group of its own, in the first
// place that lets us. end moves them back and removes the group.
func confine(places []hierarchy, pid int, cores float64) (end func(), err error) {
	var why error
	for _, h := range places {
		end, err := h.confine(pid, cores)
		if err == nil {
			return end, nil
		}
		why = errors.Join(why, err)
	}
	return nil, why
}

func (h hierarchy) confine(pid int, cores float64) (end func(), err error) {
	came, err := h.group(pid)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(h.dir, "ironic-throttle-")
	if err != nil {
		return nil, err
	}
	end = func() {
		_ = move(pid, came)
		_ = os.Remove(dir)
	}
	quota := strconv.FormatInt(int64(cores*float64(dutyPeriod.Microseconds())), 10)
	for _, s := range h.settings(quota) {
		if err = write(filepath.Join(dir, s[0]), s[1]); err != nil {
			break
		}
	}
	if err == nil {
		err = move(pid, dir)
	}
	if err != nil {
		end()
		return nil, err
	}
	return end, nil
}

// group is the folder of the control group that a process is in.
func (h hierarchy) group(pid int) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		// number:controllers:path
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) == 3 && slices.Contains(strings.Split(part[1], ","), h.controller) {
			return filepath.Join(h.dir, part[2]), nil
		}
	}
	return "", fmt.Errorf("process %d is in no group of %s", pid, h.dir)
}

// move moves a process and its family, those too that are born meanwhile.
func move(pid int, dir string) error {
	moved := map[int]bool{}
	for more := true; more; {
		members, err := family("/proc", pid)
		if err != nil {
			return err
		}
		more = false
		for _, p := range members {
			if moved[p.pid] {
				continue
			}
			err := write(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(p.pid))
			if err != nil && p.pid == pid {
				return err
			}
			moved[p.pid], more = true, true // one that has ended meanwhile needs no move
		}
	}
	return nil
}

// write writes to a file of the kernel's, which must be there.
func write(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
