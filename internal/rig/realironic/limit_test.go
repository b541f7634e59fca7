package realironic

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

func TestFamilyIsGroupAndDescendants(t *testing.T) {
	proc := t.TempDir()
	for _, line := range []string{
		// pid (name) state parent group session tty tpgid flags minflt cminflt majflt cmajflt utime stime cutime cstime
		"10 (ironic-api) S 1 10 10 0 -1 0 0 0 0 0 150 50 7 3 20",
		"9 (a (worker) S) R 12 9 9 0 -1 0 0 0 0 0 1 0 0 0 20", // grandchild that leads a group
		"12 (worker) S 10 10 10 0 -1 0 0 0 0 0 0 2 0 0 20",
		"13 (orphan) T 1 10 10 0 -1 0 0 0 0 0 0 0 0 4 20",
		"14 (stranger) S 1 14 14 0 -1 0 0 0 0 0 9 9 9 9 20",
	} {
		pid, _, _ := strings.Cut(line, " ")
		if err := os.Mkdir(filepath.Join(proc, pid), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, pid, "stat"), []byte(line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	members, err := family(proc, 10)
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]time.Duration{}
	for _, p := range members {
		got[p.pid] = p.cpu
	}
	want := map[int]time.Duration{10: 2100 * time.Millisecond, 9: 10 * time.Millisecond, 12: 20 * time.Millisecond, 13: 40 * time.Millisecond}
	if diff := cmp.Diff(want, got); diff != "" || members[0].pid != 10 {
		t.Errorf("%s first is %d", diff, members[0].pid)
	}
	if _, err := family(proc, 11); err == nil {
		t.Error("a family of nobody")
	}
	for _, bad := range []string{"", "1 x S 1", "1 (x) S 1 1", "1 (x) S 1 1 1 0 -1 0 0 0 0 0 a 0 0 0 0"} {
		if _, err := parseStat(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// busy is an Ironic of which the API is a shell that never rests, with a worker.
func busy(t *testing.T) *Ironic {
	t.Helper()
	api, err := child.Start(child.Command{Name: "/bin/sh", Args: []string{"-c", "while :; do :; done & while :; do :; done"}})
	if err != nil {
		t.Fatal(err)
	}
	i := &Ironic{api: api}
	t.Cleanup(i.StopAPI)
	return i
}

// until waits for what the kernel tells of the API's processes.
func until(t *testing.T, i *Ironic, done func([]process) bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		members, err := family("/proc", i.api.PID())
		if err != nil {
			t.Fatal(err)
		}
		if done(members) {
			return
		}
		<-tick.C // the package's time-out ends one that waits in vain
	}
}

func stopped(p process) bool { return p.state == "T" }

func TestAPICPUGrowsWithItsWorker(t *testing.T) {
	i := busy(t)
	until(t, i, func(m []process) bool { return len(m) == 2 && m[0].cpu > 0 && m[1].cpu > 0 })
	if d, err := i.APICPU(); err != nil || d < 20*time.Millisecond {
		t.Errorf("%s, %v; want two ticks at least", d, err)
	}
	i.StopAPI()
	if _, err := i.APICPU(); err == nil {
		t.Error("CPU time of an API that does not run")
	}
}

func TestDutyCycleStopsAndContinues(t *testing.T) {
	i := busy(t)
	end := i.dutyCycle(0.5)
	for range 3 {
		until(t, i, func(m []process) bool {
			return len(m) == 2 && !slices.ContainsFunc(m, func(p process) bool { return !stopped(p) })
		})
		until(t, i, func(m []process) bool { return !slices.ContainsFunc(m, stopped) })
	}
	end()
	// It runs, whatever the turn was.
	until(t, i, func(m []process) bool { return !slices.ContainsFunc(m, stopped) })
	i.HangAPI()
	end = i.dutyCycle(0.5)
	end()
	until(t, i, func(m []process) bool { return !slices.ContainsFunc(m, func(p process) bool { return !stopped(p) }) })
}

func TestLimitIsOneAtATimeAndEndsWithTheAPI(t *testing.T) {
	i := busy(t)
	before := groups(t, i)
	undo, err := i.LimitAPI(0.5)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.LimitAPI(0.5); err == nil {
		t.Error("a limit upon a limit")
	}
	undo()
	undo()
	if diff := cmp.Diff(before, groups(t, i)); diff != "" {
		t.Errorf("the API did not come back to where it was:\n%s", diff)
	}
	for _, bad := range []float64{-1, 0, 0.001, 2000} {
		if _, err := i.LimitAPI(bad); err == nil || !strings.Contains(err.Error(), "0.01") {
			t.Errorf("%v cores: %v", bad, err)
		}
	}
	if _, err := i.LimitAPI(0.5); err != nil {
		t.Fatal(err)
	}
	var ours []string
	for _, h := range hierarchies {
		if dir, err := h.group(i.api.PID()); err == nil && strings.HasPrefix(filepath.Base(dir), "ironic-throttle-") {
			ours = append(ours, dir)
		}
	}
	i.StopAPI()
	if _, err := i.LimitAPI(0.5); err == nil {
		t.Error("a limit of an API that does not run")
	}
	for _, dir := range ours {
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s is left behind: %v", dir, err)
		}
	}
}

func groups(t *testing.T, i *Ironic) string {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(i.api.PID()) + "/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestConfineTellsWhyItCannot(t *testing.T) {
	i := busy(t)
	nothing := hierarchy{t.TempDir(), "cpu", hierarchies[0].settings}
	other := hierarchy{t.TempDir(), "none such", hierarchies[1].settings}
	_, err := confine([]hierarchy{nothing, other}, i.api.PID(), 1)
	if err == nil || !strings.Contains(err.Error(), other.dir) {
		t.Errorf("error %v, want one that names both", err)
	}
	for _, h := range []hierarchy{nothing, other} {
		if left, err := os.ReadDir(h.dir); err != nil || len(left) > 0 {
			t.Errorf("left behind: %q, %v", left, err)
		}
	}
}
