package admission

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// UnsavedHolds returns what a file must take to keep the holds through a restart. Save
// it, then call SavedHolds; only one caller may do so at a time.
func (c *Controller) UnsavedHolds(now time.Time) holdoff.Batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.policy.book.Unsaved(now)
}

// SavedHolds notes that the file has batch.
func (c *Controller) SavedHolds(batch holdoff.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revision.Add(1)
	c.policy.book.Saved(batch)
}

// LostHolds notes that the file is lost: everything in it is unsaved again.
func (c *Controller) LostHolds() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revision.Add(1)
	c.policy.book.Lost()
}

// Holds shows the failed hosts.
func (c *Controller) Holds(now time.Time) api.Holds {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.policy
	cfg := s.book.Config()
	view := api.Holds{
		Timeout: cfg.Timeout.String(), Stage: string(cfg.Stage), Hosts: []api.Hold{}, Pools: s.showPools(),
		Unsaved: s.book.UnsavedCount(),
	}
	for _, e := range s.book.View(now) {
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

// holdCounts counts the failed hosts; nil where nobody can be held.
func (s *policy) holdCounts(now time.Time) *api.HoldCounts {
	if !s.book.Config().On() {
		return nil
	}
	failed, held := s.book.Count(now, func(string) bool { return true })
	return &api.HoldCounts{Held: held, Failed: failed - held}
}

// show returns what the status says of failures.
func (s *policy) show() api.Storm {
	begun, ended := s.book.Counts()
	released := map[string]uint64{}
	for _, how := range api.HoldEnds() {
		released[how] = ended[holdoff.End(how)]
	}
	return api.Storm{
		Opened: maps.Clone(s.counts.opened), HoldsBegun: begun, HoldsReleased: released,
		Outcomes: s.counts.outcomes(), Pools: s.showPools(),
	}
}

// showPools lists the pools that MAX_FAILED watches, by name.
func (s *policy) showPools() []api.PoolFailures {
	pools := make([]api.PoolFailures, 0, len(s.pools))
	for _, p := range s.pools {
		pools = append(pools, p.show())
	}
	slices.SortFunc(pools, func(a, b api.PoolFailures) int { return cmp.Compare(a.Pool, b.Pool) })
	return pools
}

// ReleaseHold lets a failed host queue again before its time; it gets no slot out of
// turn (BO-10). The host is namespace and name of its BareMetalHost, or with an empty
// namespace a node's name or UUID; an empty episode means the present one. The errors are
// api.ErrNoHold and *api.EpisodeError.
func (c *Controller) ReleaseHold(now time.Time, namespace, name, episode string) (api.ReleaseAnswer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revision.Add(1)
	s := c.policy
	host := name
	if namespace != "" {
		host = namespace + "~" + name
	}
	uuid, known := s.book.Find(host)
	if !known {
		return api.ReleaseAnswer{}, fmt.Errorf("%q: %w", strings.Replace(host, "~", "/", 1), api.ErrNoHold)
	}
	released, err := s.book.Release(now, uuid, episode)
	var old *holdoff.OldEpisodeError
	switch {
	case errors.As(err, &old):
		return api.ReleaseAnswer{}, &api.EpisodeError{Given: old.Given, Present: old.Present}
	case err != nil:
		return api.ReleaseAnswer{}, fmt.Errorf("%q: %w", host, api.ErrNoHold)
	}
	answer := api.ReleaseAnswer{Released: released, Message: "nothing held it any more"}
	if released {
		if ref, known := c.ledger.Find(slots.ID{UUID: uuid}); known && hostOf(ref) != nil {
			c.note(now, hostOf(ref), holdReleased, 0)
		}
		answer.Message = "it may queue again"
		c.countPools(now)
	}
	e, _ := s.book.Entry(now, uuid)
	answer.Hold = showHold(e)
	return answer, nil
}

// SetHoldoff changes the hold-off while running, for hosts that have failed already too:
// all, or nothing with an error.
func (c *Controller) SetHoldoff(now time.Time, cfg holdoff.Config, maxFailed holdoff.Quota) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.change(func(all *Config) { all.Holdoff, all.MaxFailed = cfg, maxFailed }); err != nil {
		return err
	}
	c.revision.Add(1)
	if err := c.policy.book.Configure(now, c.cfg.Holdoff); err != nil {
		return err
	}
	c.policy.quota = c.cfg.MaxFailed
	c.countPools(now)
	return nil
}
