package app

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/decisionlog"
	"github.com/ironic-throttle/ironic-throttle/internal/store"
)

// termGrace bounds the end of a term's parts. A last save that hangs must not keep the Lease.
const termGrace = 3 * time.Second

// decide runs one term: at once or, with a Lease, when this replica leads.
func (a *App) decide(ctx context.Context) error {
	if a.elector == nil {
		return a.term(ctx)
	}
	labelled, stop := context.WithCancel(ctx)
	var label sync.WaitGroup
	label.Go(func() { a.label.Run(labelled) })
	endLabel := func() {
		stop()
		label.Wait()
	}
	defer endLabel()
	return a.elector.Run(ctx, func(ctx context.Context) error {
		defer endLabel() // before the elector releases the Lease
		return a.term(ctx)
	})
}

// term polls, saves the holds and watches the hosts until ctx ends. From earlier terms it takes only what was saved:
// the holds and the learned limits.
func (a *App) term(ctx context.Context) error {
	kept, err := a.readHolds(ctx)
	if err == nil {
		err = a.controller.Start(a.now(), kept.Records, kept.Limits)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil //nolint:nilerr // ctx ended before the term could begin
	case err != nil:
		return err
	}
	a.begun.Store(true)
	parts := []part{
		{"holds", a.holds.Run, true},
		{"poller", a.poller.Run, false},
		{"log", func(ctx context.Context) error { return decisionlog.Watch(ctx, a.log, a.now, a.controller) }, false},
	}
	if a.directory != nil {
		parts = append(parts, part{"annotations", a.runAnnotations, false}, part{"hosts", a.directory.Run, false},
			part{"settings of others", a.runOthers, false}, part{"events", a.hosts.Recorder.Run, false})
	}
	if a.execution != nil {
		parts = append(parts, part{"planned work", a.execution.Run, false})
	}
	return runParts(ctx, termGrace, parts...)
}

// holdsPause is the time between two tries to read the ConfigMap of the holds.
const holdsPause = 5 * time.Second

// readHolds reads the saved holds. It tries a ConfigMap until ctx ends: without them, this leader would let hosts start
// that the last leader held. No refusal is final, because an API server that has just started refuses everything.
func (a *App) readHolds(ctx context.Context) (store.Value, error) {
	for {
		kept, err := a.holds.Load(ctx)
		switch {
		case err == nil:
			a.waits.Store(nil)
			return kept, nil
		case a.holdMap == nil:
			return kept, fmt.Errorf("IRONIC_THROTTLE_STATE must be a regular file that no other process uses, in a "+
				"folder that exists and is writable: %w", err)
		case ctx.Err() != nil: // this process ends: the ConfigMap has no fault
			return kept, context.Cause(ctx)
		}
		text := "no host starts before the holds of failed hosts are read: " + err.Error()
		if told := a.waits.Swap(&text); told == nil || *told != text {
			a.log.Error("holds cannot be read: trying again", "why", text)
		}
		select {
		case <-ctx.Done():
			return kept, context.Cause(ctx)
		case <-time.After(holdsPause):
		}
	}
}
