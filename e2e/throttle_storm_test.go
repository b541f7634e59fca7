//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

const stormHosts, stormLimit = 6, 2

// storm is a number of hosts that ask and act, as BMO would for them.
type storm struct {
	*lab
	url      atomic.Pointer[string] // of the throttle, which may be restarted
	asks     atomic.Int64
	finished atomic.Int64 // pieces of work
}

// truth counts the nodes that work, by one of Ironic's own lists.
func (l *lab) truth() (busy int) {
	l.Helper()
	status, body := ask(l.T, l.ironic, http.MethodGet, "/v1/nodes?fields=uuid,provision_state", "")
	var page struct {
		Nodes []struct {
			State ironic.State `json:"provision_state"`
		}
	}
	if err := json.Unmarshal([]byte(body), &page); status != http.StatusOK || err != nil {
		l.Errorf("list: %d, %v", status, err)
	}
	for _, n := range page.Nodes {
		if n.State.Busy() {
			busy++
		}
	}
	return busy
}

// mayStart asks for a host. No throttle there is a no.
func (s *storm) mayStart(ctx context.Context, host string, uuid string, op api.Op) bool {
	client, err := api.NewClient(*s.url.Load())
	if err != nil {
		s.Error(err)
		return false
	}
	defer client.CloseIdleConnections()
	s.asks.Add(1)
	answer, err := client.IsReady(ctx, api.Ask{Namespace: "metal3", Name: host, NodeUUID: uuid, Op: op})
	return err == nil && answer.Ready
}

// drive brings one host to a goal: it asks before each try, acts on a yes, and
// asks again all the time, as BMO does.
func (s *storm) drive(ctx context.Context, host string, op api.Op, target ironic.Target, from, goal ironic.State) error {
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	for {
		n, found, err := s.client.Node(ctx, key(host))
		if err != nil || !found {
			return fmt.Errorf("%s: found %v, %w", host, found, err)
		}
		if n.State == goal {
			s.finished.Add(1)
			return nil
		}
		if s.mayStart(ctx, host, n.UUID, op) && n.State == from {
			if status, answer := s.tryPut(host, target); status != http.StatusAccepted && status != http.StatusConflict {
				return fmt.Errorf("%s: PUT %s: %d %s", host, target, status, answer)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s in %q: %w", host, n.State, ctx.Err())
		}
	}
}

// watch samples the truth until ctx ends, and returns the most it saw.
func (s *storm) watch(ctx context.Context) (peak, samples int) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		peak = max(peak, s.truth())
		samples++
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	return peak, samples
}

// TestThrottleStorm lets six hosts be provisioned and deprovisioned on two
// slots, and kills the throttle in the middle. Never more than two may work, by
// Ironic's own lists (F-1).
func TestThrottleStorm(t *testing.T) {
	t.Parallel()
	l := newLab(t, realironic.Options{Settings: map[string]map[string]string{"fake": {"deploy_delay": "1"}}})
	for i := range stormHosts {
		host := fmt.Sprint("host-", i)
		l.create(host, "")
		l.put(host, ironic.TargetProvide)
		l.await(host, ironic.Available)
	}
	s := &storm{lab: l}
	first := serveThrottle(t, settings(l.ironic.URL))
	s.url.Store(&first.at.API)

	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	watching, end := context.WithCancel(ctx)
	var watched, driven sync.WaitGroup
	var peak, samples int
	watched.Go(func() { peak, samples = s.watch(watching) })
	for i := range stormHosts {
		driven.Go(func() {
			host := fmt.Sprint("host-", i)
			err := s.drive(ctx, host, api.OpProvision, ironic.TargetActive, ironic.Available, ironic.Active)
			if err == nil {
				err = s.drive(ctx, host, api.OpDeprovision, ironic.TargetDeleted, ironic.Active, ironic.Available)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	poll(t, "some work done and some going on", func() bool {
		return s.finished.Load() >= stormHosts/2 && s.truth() == stormLimit
	}, first.log.String)
	first.kill()
	second := serveThrottle(t, settings(l.ironic.URL))
	s.url.Store(&second.at.API)
	driven.Wait()
	end()
	watched.Wait()

	if peak != stormLimit {
		t.Errorf("at most %d hosts worked at once, want %d: no more, and no slot idle all the time", peak, stormLimit)
	}
	if n := s.finished.Load(); n != 2*stormHosts {
		t.Errorf("%d pieces of work were finished, want %d", n, 2*stormHosts)
	}
	second.shows(nobody)
	second.stop()
	t.Logf("%d asks, %d looks at the truth", s.asks.Load(), samples)
}
