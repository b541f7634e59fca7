package server

import (
	"context"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/page"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/snapshot"
)

const (
	// statusMaxAge bounds what only the clock changes in a status: its ages.
	statusMaxAge = time.Second
	// lockShare is one part in so many of the time in which readers may have the decision's lock, and lockPause the
	// longest pause for that.
	lockShare = 20
	lockPause = time.Second
)

// shared caches what list reads of the decision, for all readers: it is read once for each change, however many want
// it, and when nothing has changed from no lock at all.
func shared[V any](d Decider, list func(context.Context, struct{}) (V, error)) (*snapshot.Cache[struct{}, V], error) {
	return snapshot.New(snapshot.Options[struct{}, V]{
		Generation: func(struct{}) snapshot.Generation { return snapshot.Generation(d.Revision()) },
		List:       list,
		MaxAge:     statusMaxAge,
	})
}

// share makes what readers share of the decision.
func (s *Server) share() (err error) {
	d, now := s.opts.Decider, s.opts.Now
	ofStatus := newGentle()
	if s.statuses, err = shared(d, func(ctx context.Context, _ struct{}) (st api.Status, err error) {
		err = ofStatus.do(ctx, func() { st = d.Status(now()) })
		return st, err
	}); err != nil {
		return err
	}
	s.pages, err = shared(d, func(ctx context.Context, _ struct{}) (shown page.View, err error) {
		err = s.gentle.do(ctx, func() {
			shown.Queue, shown.Holds = d.QueueOf(now(), api.QueueQuery{Limit: page.Rows}), d.Holds(now())
		})
		return shown, err
	})
	return err
}

// gentle keeps readers from the decision's lock: one at a time has it, and then none for a while, so that however many
// read, decisions have nearly all of the time. There is one for the status, which is shared, and one for all else.
type gentle struct {
	next chan time.Time // a reader takes it, reads from that time on, and puts the next one back
}

func newGentle() *gentle {
	g := &gentle{next: make(chan time.Time, 1)}
	g.next <- time.Time{}
	return g
}

// do calls read when it may, or returns the error of ctx if that ends before.
func (g *gentle) do(ctx context.Context, read func()) error {
	var next time.Time
	select {
	case next = <-g.next:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { g.next <- next }()
	wait := time.NewTimer(time.Until(next))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	begun := time.Now()
	defer func() {
		end := time.Now()
		next = end.Add(min((lockShare-1)*end.Sub(begun), lockPause))
	}()
	read()
	return nil
}
