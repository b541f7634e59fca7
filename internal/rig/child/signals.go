package child

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Catches reports whether the process has a handler of its own for sig. Until then a SIGTERM
// ends a service without the tidying up that its handler would do. A process that has ended
// has none, which is an error.
func (p *Process) Catches(sig syscall.Signal) (bool, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		return false, fmt.Errorf("signals of %s: %w", p.name, err)
	}
	_, rest, _ := strings.Cut(string(text), "SigCgt:")
	caught, err := strconv.ParseUint(strings.Fields(rest + " -")[0], 16, 64)
	if err != nil {
		return false, fmt.Errorf("signals of %s: no SigCgt in %s", p.name, text)
	}
	return caught&(1<<(sig-1)) != 0, nil
}
