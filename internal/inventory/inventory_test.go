package inventory

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stage is an inventory of a fake Ironic, in a bubble.
type stage struct {
	*testing.T
	ironic *fakeironic.Server
	source *counted
	nodes  *Inventory
	uuids  []string
	seq    atomic.Uint64
}

// counted counts the lists, and fails or waits when it is told to.
type counted struct {
	Source
	lists atomic.Int64
	fail  atomic.Bool
	wait  time.Duration
}

func (c *counted) Catalog(ctx context.Context) (*ironic.Catalog, error) {
	c.lists.Add(1)
	if c.fail.Load() {
		return nil, errors.New("no list today")
	}
	list, err := c.Source.Catalog(ctx)
	select { // what the list shows was read before the wait
	case <-time.After(c.wait):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return list, err
}

func play(t *testing.T, script func(*stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{T: t}
		fake := fakeironic.DefaultOptions()
		fake.Fleet.Nodes = 3
		world, err := fakeironic.NewWorld(fake, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		s.ironic, s.uuids = fakeironic.NewServer(world, time.Now), world.Idents()
		client, err := ironic.NewClient(ironic.Settings{Endpoint: "http://ironic", Transport: s.ironic.Transport()})
		if err != nil {
			t.Fatal(err)
		}
		s.source = &counted{Source: client}
		if s.nodes, err = New(Options{Source: s.source, Begin: s.begin, MaxAge: time.Minute, Now: time.Now}); err != nil {
			t.Fatal(err)
		}
		defer s.nodes.Close()
		script(s)
	})
}

func (s *stage) begin(now time.Time) ironic.Mark { return ironic.Mark{Seq: s.seq.Add(1), At: now} }

func (s *stage) get() View {
	s.Helper()
	v, err := s.nodes.Get(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return v
}

// sees tells of a poll that has seen the nth node in a state.
func (s *stage) sees(n int, state ironic.State) {
	now := time.Now()
	s.nodes.Observe(now, ironic.Observation{Mark: s.begin(now), Nodes: []ironic.Node{{UUID: s.uuids[n], State: state}}})
}

func (s *stage) shows(n int, want ironic.State) {
	s.Helper()
	v := s.get()
	i, ok := v.Find(s.uuids[n])
	if got := v.At(i).State; !ok || got != want {
		s.Errorf("node %d is shown as %q, want %q", n, got, want)
	}
}

func (s *stage) listed(want int64) {
	s.Helper()
	if got := s.source.lists.Load(); got != want {
		s.Errorf("%d lists, want %d", got, want)
	}
}

func TestNobodyAsksNobodyLists(t *testing.T) {
	play(t, func(s *stage) {
		s.sees(0, ironic.Deploying)
		<-time.After(time.Hour)
		s.listed(0)
		s.get()
		<-time.After(time.Hour)
		s.listed(1)
	})
}

// Observations are laid over a list that was begun before them, also one that is on its way, and not over a later one.
func TestObservationsBeforeAndAfterAList(t *testing.T) {
	play(t, func(s *stage) {
		s.shows(0, ironic.Available)
		s.sees(0, ironic.Deploying)
		s.shows(0, ironic.Deploying)
		s.shows(1, ironic.Available)
		s.listed(1)

		now := time.Now()
		busy := ironic.Observation{Mark: s.begin(now), Nodes: []ironic.Node{{UUID: s.uuids[1], State: ironic.Cleaning}}}
		busy.Fetched = []ironic.NodeObservation{{Mark: s.begin(now), Found: true, Node: ironic.Node{UUID: s.uuids[0], State: ironic.Active}}, {Key: "gone"}}
		s.nodes.Observe(now, busy)
		s.shows(0, ironic.Active)
		s.shows(1, ironic.Cleaning)
		s.listed(1)

		<-time.After(time.Minute)
		s.shows(0, ironic.Available) // says Ironic, in a list begun later
		s.listed(2)

		<-time.After(61 * time.Second)
		s.source.wait = 10 * time.Second
		done := make(chan struct{})
		go func() { s.get(); close(done) }()
		<-time.After(5 * time.Second)
		s.sees(2, ironic.Deploying)
		<-done
		s.shows(2, ironic.Deploying)
		s.listed(3)
	})
}

func TestAListThatCannotBeHad(t *testing.T) {
	play(t, func(s *stage) {
		s.source.fail.Store(true)
		for range 100 {
			if _, err := s.nodes.Get(s.Context()); err == nil {
				s.Fatal("a list without a list")
			}
		}
		s.listed(1) // the others wait out its pause
		s.source.fail.Store(false)
		<-time.After(afterFault)
		s.shows(0, ironic.Available)
		s.nodes.Close()
		if _, err := s.nodes.Get(s.Context()); err == nil {
			t.Error("a closed one has a list")
		}
	})
}

// What polls see is kept no longer than it is of use, however much it is.
func TestObservationsAreBounded(t *testing.T) {
	play(t, func(s *stage) {
		for i := range 3600 {
			s.get()
			<-time.After(time.Second)
			now := time.Now()
			s.nodes.Observe(now, ironic.Observation{
				Mark: s.begin(now), Nodes: []ironic.Node{{UUID: fmt.Sprint(i), State: ironic.Active}, {UUID: fmt.Sprint(-i)}},
			})
		}
		if n := len(s.nodes.seen); n != 181 {
			t.Errorf("%d observations are kept of three minutes", n)
		}
	})
}
