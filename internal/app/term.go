package app

import (
	"context"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/decisionlog"
	"github.com/ironic-throttle/ironic-throttle/internal/parts"
)

// termGrace bounds the end of what a term runs: the last save above all.
const termGrace = 3 * time.Second

// decisionGrace is what the end of the decision has for itself where the cluster is written to: servers that wait for an Ironic
// that hangs must not keep the Lease from being given up.
const decisionGrace = termGrace + 2*time.Second

// decide is the part that decides: all the time, or as long as this replica leads.
func (a *App) decide(ctx context.Context) error {
	if a.elector == nil {
		return a.term(ctx)
	}
	labelled, stop := context.WithCancel(ctx)
	var label sync.WaitGroup
	label.Go(func() { a.label.Run(labelled) })
	off := func() {
		stop()
		label.Wait()
	}
	defer off()
	return a.elector.Run(ctx, func(ctx context.Context) error {
		defer off() // before the Lease is released
		return a.term(ctx)
	})
}

// term polls, keeps the holds and watches the hosts until ctx ends. Nothing from before it counts, but the holds that were
// kept, and what was learned of limits.
func (a *App) term(ctx context.Context) error {
	kept, err := a.readHolds(ctx)
	if err == nil {
		err = a.controller.Start(a.now(), kept.Records, kept.Limits)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // it was to end before it could begin
	case err != nil:
		return err
	}
	a.begun.Store(true)
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
