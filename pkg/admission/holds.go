package admission

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

// HoldRecords returns what a store has to keep of all holds, in any order, and a revision for SavedHolds.
func (c *Controller) HoldRecords(now time.Time) (records []holdoff.Record, revision uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.policy.book.Records(now)
}

// UnsavedHolds counts the hosts whose record has changed since it was saved.
func (c *Controller) UnsavedHolds() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.policy.book.Unsaved()
}

// SavedHolds notes that a store has kept what HoldRecords returned with that revision.
func (c *Controller) SavedHolds(revision uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.policy.book.Saved(revision)
	c.revision.Add(1)
}

// Holds returns the failed hosts, held or released, and the conductor groups that MAX_FAILED watches.
func (c *Controller) Holds(now time.Time) api.Holds {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.policy
	cfg := p.book.Config()
	view := api.Holds{
		Timeout: cfg.Timeout.String(), Stage: string(cfg.Stage), Hosts: []api.Hold{}, Pools: p.showPools(),
		Unsaved: p.book.Unsaved(),
	}
	for _, e := range p.book.View(now) {
		view.Hosts = append(view.Hosts, showHold(e))
	}
	return view
}

func showHold(e holdoff.Entry) api.Hold {
	h := api.Hold{
		Name: e.Name, NodeUUID: e.UUID, Episode: e.Episode, Kind: string(e.Kind), State: e.State, Cause: e.Cause,
		Failures: e.Failures, Held: e.Held, Released: e.Released, Since: e.Since, Until: e.Until,
		RemainingSeconds: tenths(e.Remaining),
	}
	if namespace, name, ok := strings.Cut(e.Name, "~"); ok {
		h.Namespace, h.Name = namespace, name
	}
	return h
}

// holdCounts counts the failed hosts; nil if no host can be held.
func (p *policy) holdCounts(now time.Time) *api.HoldCounts {
	if !p.book.Config().On() {
		return nil
	}
	failed, held := p.book.Count(now, func(string) bool { return true })
	return &api.HoldCounts{Held: held, Failed: failed - held}
}

// show returns what the status says of failures.
func (p *policy) show() api.Storm {
	outcomes := []api.OutcomeCount{}
	for cell, n := range p.outcomes {
		cell.Count = n
		outcomes = append(outcomes, cell)
	}
	slices.SortFunc(outcomes, func(a, b api.OutcomeCount) int {
		return cmp.Or(cmp.Compare(a.Work, b.Work), cmp.Compare(a.Result, b.Result))
	})
	return api.Storm{Outcomes: outcomes, Pools: p.showPools()}
}

// showPools returns the conductor groups that MAX_FAILED watches, by name.
func (p *policy) showPools() []api.PoolFailures {
	pools := []api.PoolFailures{}
	for _, group := range slices.Sorted(maps.Keys(p.pools)) {
		pools = append(pools, *p.pools[group])
	}
	return pools
}

// ReleaseHold lets a failed host queue again before its hold ends; it gets no slot out of turn. namespace and name are
// those of its BareMetalHost; without a namespace, name is the name or UUID of its node. An empty episode means the
// last failure. It returns an *api.Error if the host has not failed, or episode is another one.
func (c *Controller) ReleaseHold(now time.Time, namespace, name, episode string) (api.ReleaseAnswer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, host := c.policy, name
	if namespace != "" {
		host = namespace + "/" + name
	}
	uuid, known := p.book.Find(host)
	e, _ := p.book.Entry(now, uuid)
	switch {
	case !known:
		return api.ReleaseAnswer{}, &api.Error{
			Code: 404, Field: "name", Message: fmt.Sprintf("%.64s has not failed, or is not known", strings.Replace(host, "~", "/", 1)),
		}
	case episode != "" && episode != e.Episode:
		return api.ReleaseAnswer{}, &api.Error{
			Code: 409, Field: "episode", Message: fmt.Sprintf("episode: %.64q is not the present one, which is %q", episode, e.Episode),
		}
	}
	answer := api.ReleaseAnswer{Released: p.book.Release(now, uuid), Message: "nothing held it any more"}
	if answer.Released {
		answer.Message = "it may queue again"
		p.countPools(now)
	}
	e, _ = p.book.Entry(now, uuid)
	answer.Hold = showHold(e)
	c.revision.Add(1)
	return answer, nil
}
