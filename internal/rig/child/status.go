package child

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// status reads a number from /proc/PID/status. It fails after the end of the process.
func (p *Process) status(name string, base int) (uint64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		return 0, fmt.Errorf("status of %s: %w", p.name, err)
	}
	_, rest, _ := strings.Cut(string(text), name+":")
	n, err := strconv.ParseUint(strings.Fields(rest + " -")[0], base, 64)
	if err != nil {
		return 0, fmt.Errorf("status of %s: no %s in %s", p.name, name, text)
	}
	return n, nil
}

// Memory is how much memory a process has now, and the most that it had, in MiB.
type Memory struct{ Now, Most float64 }

func (m Memory) String() string {
	return fmt.Sprintf("%.0f MiB resident, %.0f at most", m.Now, m.Most)
}

// Memory returns how much memory the process has.
func (p *Process) Memory() (Memory, error) {
	now, err := p.status("VmRSS", 10)
	if err != nil {
		return Memory{}, err
	}
	most, err := p.status("VmHWM", 10)
	return Memory{float64(now) / 1024, float64(most) / 1024}, err
}

// Catches reports whether the process has a handler for sig. Before it has one, a SIGTERM ends it without its handler.
func (p *Process) Catches(sig syscall.Signal) (bool, error) {
	caught, err := p.status("SigCgt", 16)
	return caught&(1<<(sig-1)) != 0, err
}
