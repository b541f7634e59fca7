package holdoff

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	maxQuota   = 1_000_000
	leastHosts = 5 // a percentage of fewer hosts means nothing
)

// Quota is MAX_FAILED: how many hosts of a conductor group may fail before it is paused. The zero value is no limit.
type Quota struct {
	limits, share bool // limits: there is a limit; share: n is a percentage
	n             int
}

// ParseQuota reads "3", a number of hosts, or "40%", a percentage of the known hosts; "100%" is no limit.
func ParseQuota(text string) (Quota, error) {
	digits, share := strings.CutSuffix(text, "%")
	n, err := strconv.ParseUint(digits, 10, 32) // takes no sign
	if err != nil || n > maxQuota || share && n > 100 {
		return Quota{}, fmt.Errorf("max failed: %.64q must be a whole number of hosts from 0 to %d, "+
			"or a whole percentage from 0%% to 100%%", text, maxQuota)
	}
	if share && n == 100 {
		return Quota{}, nil
	}
	return Quota{limits: true, share: share, n: int(n)}, nil
}

// Allowed returns how many of hosts may have failed; a percentage is rounded down.
func (q Quota) Allowed(hosts int) int {
	switch {
	case !q.limits:
		return hosts
	case q.share:
		return hosts * q.n / 100
	}
	return q.n
}

// Exceeded reports whether too many of hosts have failed. A percentage of fewer than five hosts is never exceeded.
func (q Quota) Exceeded(failed, hosts int) bool {
	return failed > q.Allowed(hosts) && (!q.share || hosts >= leastHosts)
}
