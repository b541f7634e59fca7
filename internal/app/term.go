package app

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/decisionlog"
	"github.com/ironic-throttle/ironic-throttle/internal/store"
)

// termGrace bounds the end of what a term runs, the last save above all: a hung one must not keep the Lease.
const termGrace = 3 * time.Second

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
		return nil //nolint:nilerr // it was to end before it could begin
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

// holdsPause is between two tries to read the ConfigMap of the holds.
const holdsPause = 5 * time.Second

// readHolds reads the holds, a ConfigMap however long that takes: who decides without them would let go whom the leader before
// held. No error of it is final, not even a refusal: an API server that has just started refuses everything.
func (a *App) readHolds(ctx context.Context) (store.Value, error) {
	for {
		kept, err := a.holds.Load(ctx)
		switch {
		case err == nil:
			a.waits.Store(nil)
			return kept, nil
		case a.holdMap == nil:
			return kept, fmt.Errorf("IRONIC_THROTTLE_STATE must be a regular file that no other process keeps, in a "+
				"folder that is there and can be written: %w", err)
		case ctx.Err() != nil: // this process ends, which is no fault of theirs
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
