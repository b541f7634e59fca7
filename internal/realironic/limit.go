package realironic

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// dutyPeriod is one turn of running and standing still, and the period of the kernel's own
// accounts.
const dutyPeriod = 100 * time.Millisecond

// APICPU is the CPU time, user and system, that the API and its workers have used since
// the API's start. The kernel tells it in steps of 10 ms.
func (i *Ironic) APICPU() (time.Duration, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.api == nil {
		return 0, errors.New("CPU time of the API: it does not run")
	}
	members, err := family("/proc", i.api.PID())
	if err != nil {
		return 0, fmt.Errorf("CPU time of the API: %w", err)
	}
	var sum time.Duration
	for _, p := range members {
		sum += p.cpu
	}
	return sum, nil
}

// limit is what LimitAPI has done; end may be called twice.
type limit struct{ end func() }

// LimitAPI lets the running API use so many cores at most, until undo or the API's end. It
// takes a control group, and where none can be made it stops the API for a part of every
// 100 ms; then a limit above 1 is none. The least is 0.01.
func (i *Ironic) LimitAPI(cores float64) (undo func(), err error) {
	if !(cores >= 0.01 && cores <= 1024) {
		return nil, fmt.Errorf("limit the API: %v cores: must be from 0.01 to 1024", cores)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.api == nil || i.limit != nil {
		return nil, errors.New("limit the API: it does not run, or has a limit")
	}
	end, err := confine(hierarchies, i.api.PID(), cores)
	if err != nil {
		end = i.dutyCycle(cores)
	}
	l := &limit{sync.OnceFunc(end)}
	i.limit = l
	return func() { i.endLimit(l) }, nil
}

// endLimit ends that limit, or with nil the one that there is.
func (i *Ironic) endLimit(l *limit) {
	i.mu.Lock()
	if l == nil {
		l = i.limit
	}
	if i.limit == l {
		i.limit = nil
	}
	i.mu.Unlock() // end may wait for someone who needs it
	if l != nil {
		l.end()
	}
}

// dutyCycle stops and continues the API.
func (i *Ironic) dutyCycle(cores float64) (end func()) {
	run := time.Duration(min(cores, 1) * float64(dutyPeriod))
	done := make(chan struct{})
	var cycle sync.WaitGroup
	cycle.Go(func() {
		for stand := false; ; stand = !stand {
			span := run
			if stand {
				span = dutyPeriod - run
			}
			i.stand(stand && span > 0)
			select {
			case <-time.After(span):
			case <-done:
				i.stand(false)
				return
			}
		}
	})
	return func() {
		close(done)
		cycle.Wait()
	}
}

// stand stops or continues the API, but for one that HangAPI has stopped.
func (i *Ironic) stand(still bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.hung {
		i.signalAPILocked(still)
	}
}

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
