package child

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// status is a number that the kernel tells of a process, in /proc. One that has ended has none, which is an error.
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

// Memory is what a process has now, and the most it had, in MiB.
type Memory struct{ Now, Most float64 }

func (m Memory) String() string {
	return fmt.Sprintf("%.0f MiB resident, %.0f at most", m.Now, m.Most)
}

// Memory reads how much memory the process takes.
func (p *Process) Memory() (Memory, error) {
	now, err := p.status("VmRSS", 10)
	if err != nil {
		return Memory{}, err
	}
	most, err := p.status("VmHWM", 10)
	return Memory{float64(now) / 1024, float64(most) / 1024}, err
}

// Catches reports whether the process has a handler of its own for sig. Until then a SIGTERM
// ends a service without the tidying up that its handler would do.
func (p *Process) Catches(sig syscall.Signal) (bool, error) {
	caught, err := p.status("SigCgt", 16)
	return caught&(1<<(sig-1)) != 0, err
}
