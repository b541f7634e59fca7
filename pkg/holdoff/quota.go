package holdoff

import (
	"fmt"
	"strconv"
	"strings"
)

// maxQuota bounds a Quota that is a number.
const maxQuota = 1_000_000

// Quota is MAX_FAILED: how many hosts of a pool may have failed before the pool is
// paused (BO-14). The zero Quota allows none at all, not even no failures: a pool
// under it is always paused.
type Quota struct {
	of unit
	n  int
}

type unit uint8

const (
	nothing unit = iota
	hosts
	percent
)

// ParseQuota reads "40%" or "3". With an error it returns the zero Quota: what cannot
// be read pauses.
func ParseQuota(text string) (Quota, error) {
	digits, of, most := text, hosts, maxQuota
	if d, ok := strings.CutSuffix(text, "%"); ok {
		digits, of, most = d, percent, 100
	}
	n, err := strconv.ParseUint(digits, 10, 32) // takes no sign
	if err != nil || n > uint64(most) {
		const shown = 64
		if len(text) > shown {
			text = text[:shown] + "..."
		}
		return Quota{}, fmt.Errorf("max failed: %q must be a whole number of hosts from 0 to %d, or a whole percentage from 0%% to 100%%", text, maxQuota)
	}
	return Quota{of: of, n: int(n)}, nil
}

// Allowed returns how many of total hosts may have failed; more pause the pool. A
// percentage is rounded down. It is -1 for the zero Quota.
func (q Quota) Allowed(total int) int {
	switch q.of {
	case hosts:
		return q.n
	case percent:
		total = max(total, 0)
		return total/100*q.n + total%100*q.n/100
	default:
		return -1
	}
}

// Share reports whether q is a percentage above 0: of how many hosts matters then.
func (q Quota) Share() bool { return q.of == percent && q.n > 0 }

// Limits reports whether q can pause a pool: 100 % cannot.
func (q Quota) Limits() bool { return q.of != percent || q.n < 100 }

// String returns what ParseQuota reads, or "nothing".
func (q Quota) String() string {
	switch q.of {
	case hosts:
		return strconv.Itoa(q.n)
	case percent:
		return strconv.Itoa(q.n) + "%"
	default:
		return "nothing"
	}
}
