package slots

import (
	"cmp"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Boot is the time that a host spends in a wait state until its agent calls, as polls see it.
type Boot struct {
	Host    *Host
	State   ironic.State
	Pool    Pool          // the pool of the host's slot
	Counted bool          // the host holds a slot that counts
	Began   time.Time     // zero: before anybody watched
	Took    time.Duration // so far, while it lasts; 0 if Began is not known
	Result  Result        // "" while it lasts; Succeeded: the agent has called
}

// waitStates are the states in which a host boots until its agent calls.
var waitStates = []ironic.State{
	ironic.InspectWait, ironic.CleanWait, ironic.DeployWait, ironic.RescueWait, ironic.ServiceWait,
}

// timeBoot follows the boot in the work of h. watched: the throttle saw that work start.
func (l *Ledger) timeBoot(h *Host, watched bool) {
	n, b := h.Node, &h.work.boot
	boots := slices.Contains(waitStates, n.State) && !n.AgentURL
	if b.State != "" && (!boots || b.State != n.State) {
		l.endBoot(h, b, Succeeded)
	}
	if boots && b.State == "" {
		b.State = n.State
		if watched {
			b.Began = l.now
		}
	}
}

func (l *Ledger) endBoot(h *Host, b *Boot, result Result) {
	out := l.shown(h, *b)
	out.Result = result
	l.booted = append(l.booted, out)
	*b = Boot{}
}

// shown returns b with the fields that depend on how h stands now.
func (l *Ledger) shown(h *Host, b Boot) Boot {
	b.Host, b.Counted = h, h.counts()
	if h.Slot != nil {
		b.Pool = h.Pool
	}
	if !b.Began.IsZero() {
		b.Took = l.now.Sub(b.Began)
	}
	return b
}

// Boots returns the boots that have ended since the last call, in the order in which they ended, and the boots that
// last of hosts whose slots count, oldest first.
func (l *Ledger) Boots(now time.Time) (ended, open []Boot) {
	l.Tick(now)
	ended, l.booted = l.booted, nil
	for h := range l.live {
		if h.work != nil && h.work.boot.State != "" && h.counts() {
			open = append(open, l.shown(h, h.work.boot))
		}
	}
	slices.SortFunc(open, func(a, b Boot) int {
		return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.Host.UUID, b.Host.UUID))
	})
	return ended, open
}
