package child

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Memory is what the kernel says of a process, in MiB: what it has now, and the most it
// had.
type Memory struct{ Now, Most float64 }

func (m Memory) String() string {
	return fmt.Sprintf("%.0f MiB resident, %.0f at most", m.Now, m.Most)
}

// Memory reads how much memory the process takes. One that has ended takes none, which is
// an error.
func (p *Process) Memory() (m Memory, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		return m, fmt.Errorf("memory of %s: %w", p.name, err)
	}
	for name, into := range map[string]*float64{"VmRSS:": &m.Now, "VmHWM:": &m.Most} {
		_, rest, _ := strings.Cut(string(text), name)
		kib, err := strconv.ParseFloat(strings.Fields(rest + " -")[0], 64)
		if err != nil {
			return Memory{}, fmt.Errorf("memory of %s: no %s in %s", p.name, name, text)
		}
		*into = kib / 1024
	}
	return m, nil
}
