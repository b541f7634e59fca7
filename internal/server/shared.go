package server

import (
	"context"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/page"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/snapshot"
)

const (
	// statusMaxAge bounds how old a status may be in which nothing but its ages has changed.
	statusMaxAge = time.Second
	// Readers may hold the lock of the decision for one lockShare-th of the time. lockPause is the longest pause after
	// a read.
	lockShare = 20
	lockPause = time.Second
)

// shared caches what list reads of the decision, for all readers. However many they are, list runs once for each change
// and once in statusMaxAge; a read of the cache needs no lock of the decision.
func shared[V any](d Decider, list func(context.Context, struct{}) (V, error)) (*snapshot.Cache[struct{}, V], error) {
	return snapshot.New(snapshot.Options[struct{}, V]{
		Generation: func(struct{}) snapshot.Generation { return snapshot.Generation(d.Revision()) },
		List:       list,
		MaxAge:     statusMaxAge,
	})
}

// share makes the caches that all readers share.
func (s *Server) share() (err error) {
	d, now := s.opts.Decider, s.opts.Now
	statusGentle := newGentle()
	if s.statuses, err = shared(d, func(ctx context.Context, _ struct{}) (st api.Status, err error) {
		err = statusGentle.do(ctx, func() { st = d.Status(now()) })
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

// gentle keeps readers off the lock of the decision: one reader at a time has it, and then none for a while. So
// decisions have nearly all of the time, however many read. There is one for the status, and one for everything else.
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
