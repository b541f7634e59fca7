package planner_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/planner"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is a cluster that counts, and takes its time.
type cluster struct {
	reads int
	takes time.Duration
	err   error
}

func (c *cluster) read(ctx context.Context) (disruption.State, error) {
	c.reads++
	select {
	case <-time.After(c.takes):
	case <-ctx.Done():
		return disruption.State{}, ctx.Err()
	}
	host := disruption.Host{Key: disruption.Key{Namespace: "metal3", Name: "host-1"}, State: "provisioned"}
	return disruption.State{TakenAt: time.Now(), Hosts: []disruption.Host{host}}, c.err
}

// scene is a Planner with a cluster of one host, which is provisioned and has no Machine.
type scene struct {
	*planner.Planner
	cluster *cluster
	config  disruption.Config
}

func staged() *scene {
	s := &scene{cluster: &cluster{}, config: disruption.Default()}
	s.Planner = planner.New(planner.Options{
		Read: s.cluster.read, Config: func() disruption.Config { return s.config },
		Throttle: func(now time.Time) disruption.Throttle { return disruption.Throttle{Limit: 20, Waiting: now.Second()} }, Now: time.Now,
	})
	return s
}

// pass lets d go by in a bubble.
func pass(d time.Duration) { <-time.After(d) }

func (s *scene) planned(t *testing.T) api.Plan {
	t.Helper()
	plan, err := s.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// The cluster is read once in a while. An error is not kept, and does not leave an old plan.
func TestTheClusterIsReadOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := staged()
		first := s.planned(t)
		for range 3 {
			if diff := cmp.Diff(first, s.planned(t)); diff != "" {
				t.Error(diff)
			}
			if e, known, err := s.Explain(t.Context(), "metal3", "host-1"); e.Host != "metal3/host-1" || !known || err != nil {
				t.Errorf("%+v, %t, %v", e, known, err)
			}
			if _, known, err := s.Explain(t.Context(), "", "host-1"); known || err != nil {
				t.Error(known, err)
			}
			pass(time.Second)
		}
		if s.cluster.reads != 1 {
			t.Errorf("%d reads", s.cluster.reads)
		}
		pass(5 * time.Second)
		s.cluster.err = errors.New("forbidden")
		if _, err := s.Plan(t.Context()); err == nil || err.Error() != "reading the cluster: forbidden" {
			t.Errorf("%v instead of the error, or an old plan", err)
		}
		s.cluster.err = nil
		if again := s.planned(t); s.cluster.reads != 3 || !again.MadeAt.After(first.MadeAt) {
			t.Errorf("%d reads, made at %v after %v", s.cluster.reads, again.MadeAt, first.MadeAt)
		}
		if state, err := s.State(t.Context()); err != nil || len(state.Hosts) != 1 || s.cluster.reads != 4 {
			t.Errorf("%+v, %v, %d reads", state, err, s.cluster.reads)
		}
	})
}

// One plan at a time: the others wait for it and share it, and who goes does not keep them.
func TestWhoAsksMeanwhileWaitsForThePlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := staged()
		s.cluster.takes = 30 * time.Second
		results := make(chan error, 10)
		for range 9 {
			go func() {
				_, err := s.Plan(t.Context())
				results <- err
			}()
		}
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Plan(short); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "another plan is being made") {
			t.Errorf("%v", err)
		}
		for range 9 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if s.cluster.reads != 1 {
			t.Errorf("%d reads", s.cluster.reads)
		}
	})
}
