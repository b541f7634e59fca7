package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/decisionlog"
	"github.com/ironic-throttle/ironic-throttle/internal/parts"
	"github.com/ironic-throttle/ironic-throttle/internal/store"
)

// termGrace bounds the end of what a term runs: the last save above all.
const termGrace = 3 * time.Second

// decisionGrace is what the end of the decision has for itself where the cluster is
// written to: servers that wait for an Ironic that hangs must not keep the Lease from being
// given up.
func (a *App) decisionGrace() time.Duration {
	if a.cluster == nil {
		return 0
	}
	return termGrace + 2*time.Second
}

// decide is the part that decides: all the time, or as long as this replica leads.
func (a *App) decide(ctx context.Context) error {
	if a.elector == nil {
		err := a.term(ctx)
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return nil // it was to end before it could begin
		}
		return err
	}
	labelled, stop := context.WithCancel(ctx)
	var label sync.WaitGroup
	label.Go(func() { a.label.Run(labelled) })
	off := func() {
		stop()
		label.Wait()
	}
	defer off()
	err := a.elector.Run(ctx, func(ctx context.Context) error {
		defer off() // before the Lease is released
		return a.term(ctx)
	})
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return nil // it was to end before the term could begin
	case ctx.Err() == nil && err == nil:
		return errors.New("it has ended by itself")
	}
	return err
}

// term polls, keeps the holds and watches the hosts until ctx ends.
func (a *App) term(ctx context.Context) error {
	if a.elector != nil {
		if err := a.begin(ctx); err != nil {
			return err
		}
	}
	all := []parts.Part{
		{Name: "holds", Run: a.holds.Run},
		{Name: "poller", Run: a.poller.Run},
		{Name: "log", Run: func(ctx context.Context) error { return decisionlog.Watch(ctx, a.log, a.now, a.controller) }},
	}
	if a.directory != nil {
		all = append(all, parts.Part{Name: "annotations", Run: a.runAnnotations}, parts.Part{Name: "hosts", Run: a.directory.Run},
			parts.Part{Name: "settings of others", Run: a.runOthers})
		if a.hosts.Recorder != nil {
			all = append(all, parts.Part{Name: "events", Run: a.hosts.Recorder.Run})
		}
	}
	if a.execution != nil {
		all = append(all, parts.Part{Name: "planned work", Run: a.execution.Run})
	}
	return parts.Run(ctx, termGrace, all...)
}

// begin begins a term: nothing from before it counts, but the holds that were kept, and what was learned of limits.
func (a *App) begin(ctx context.Context) error {
	if a.holdMap != nil {
		if err := a.readHolds(ctx); err != nil {
			return err
		}
	}
	if err := a.controller.Start(a.now(), a.kept.Records, a.kept.Limits); err != nil {
		return err
	}
	a.kept = store.Value{} // the decision has it
	a.begun.Store(true)
	return nil
}
