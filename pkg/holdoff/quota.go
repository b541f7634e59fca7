package holdoff

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	maxQuota = 1_000_000
	// leastHosts must be known for a percentage of them to mean anything.
	leastHosts = 5
)

// Quota is MAX_FAILED: how many hosts of a conductor group may have failed before the group is paused. The zero Quota is no
// limit.
type Quota struct {
	limits, share bool // share: n is a percentage
	n             int
}

// ParseQuota reads "3", a number of hosts, or "40%", a percentage of those that are known; "100%" is no limit.
func ParseQuota(text string) (Quota, error) {
	digits, share := strings.CutSuffix(text, "%")
	n, err := strconv.ParseUint(digits, 10, 32) // takes no sign
	if err != nil || n > maxQuota || share && n > 100 {
		return Quota{}, fmt.Errorf("max failed: %.64q must be a whole number of hosts from 0 to %d, or a whole percentage from 0%% to 100%%", text, maxQuota)
	}
	if share && n == 100 {
		return Quota{}, nil
	}
	return Quota{limits: true, share: share, n: int(n)}, nil
}

// Allowed returns how many of so many hosts may have failed; a percentage is rounded down.
func (q Quota) Allowed(hosts int) int {
	switch {
	case !q.limits:
		return hosts
	case q.share:
		return hosts * q.n / 100
	}
	return q.n
}

// Exceeded reports whether so many failed of so many hosts are too many. Of fewer than five hosts no percentage is taken.
func (q Quota) Exceeded(failed, hosts int) bool {
	return failed > q.Allowed(hosts) && (!q.share || hosts >= leastHosts)
}
