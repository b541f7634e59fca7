package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/decisionlog"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/holds"
	"github.com/ironic-throttle/ironic-throttle/internal/parts"
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
	defer func() { _ = a.holds.close() }() // also where no term began
	if a.elector == nil {
		err := a.term(ctx)
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return nil // it was to end before it could begin
		}
		return err
	}
	standing, stop := context.WithCancel(ctx)
	var label sync.WaitGroup
	label.Go(func() { a.standBy(standing) })
	defer label.Wait()
	defer stop()
	err := a.elector.Run(ctx, func(ctx context.Context) error {
		stop()
		return a.term(ctx)
	})
	if err == nil && ctx.Err() == nil {
		return errors.New("it has ended by itself")
	}
	return err
}

// term polls, keeps the holds and watches the hosts until ctx ends.
func (a *App) term(ctx context.Context) error {
	if a.elector != nil || a.holdMap != nil {
		if err := a.begin(ctx); err != nil {
			return err
		}
	}
	all := []parts.Part{
		{Name: "holds", Run: a.holds.run},
		{Name: "poller", Run: a.poller.Run},
		{Name: "log", Run: func(ctx context.Context) error { return decisionlog.Watch(ctx, a.log, a.now, a.controller) }},
	}
	if a.directory != nil {
		all = append(all, parts.Part{Name: "annotations", Run: a.runAnnotations}, parts.Part{Name: "hosts", Run: a.directory.Run},
			parts.Part{Name: "operator", Run: a.runOperator}, parts.Part{Name: "MachineHealthChecks", Run: a.health.Run})
		if a.hosts.Recorder != nil {
			all = append(all, parts.Part{Name: "events", Run: a.hosts.Recorder.Run})
		}
	}
	if a.execution != nil {
		all = append(all, parts.Part{Name: "planned work", Run: a.execution.Run})
	}
	if a.label != nil { // the last one: it ends first
		all = append(all, parts.Part{Name: "label", Run: a.carryLabel})
	}
	return parts.Run(ctx, termGrace, all...)
}

// begin begins a term: nothing from before it counts, but the holds that were kept,
// and what is known of limits.
func (a *App) begin(ctx context.Context) error {
	if a.holdMap != nil {
		kept, err := a.openHoldMap(ctx)
		if err != nil {
			return err
		}
		a.holds.keepIn(kept)
		if a.kept.records, _, err = kept.Load(); err != nil {
			return fmt.Errorf("IRONIC_THROTTLE_HOLDOFF_CONFIGMAP: %w", err)
		}
		a.loadLimits(kept)
	}
	if err := a.controller.Start(a.now(), a.kept.records, a.kept.learned); err != nil {
		return err
	}
	a.kept.records = nil // the decision has them
	a.begun.Store(true)
	return nil
}

// openHoldMap opens the ConfigMaps of the holds, however long that takes: who decides
// without them would let go whom the leader before held.
func (a *App) openHoldMap(ctx context.Context) (*holds.Map, error) {
	pause := time.Second
	o := *a.holdMap
	o.Waiting = func(err error) {
		why := "nobody is let start before the holds of failed hosts are read from their ConfigMaps: " + err.Error()
		a.waits.Store(&why)
	}
	for told := ""; ; {
		kept, err := holds.Open(ctx, o)
		switch {
		case err == nil:
			a.waits.Store(nil)
			return kept, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx) // we end: no fault of theirs
		}
		if text := err.Error(); text != told {
			told = text
			o.Waiting(err)
			a.log.Error("the holds of failed hosts cannot be read, nobody is let start before: trying again",
				"configmaps", a.holdMap.Name, "namespace", a.holdMap.Namespace, "error", err)
		}
		again := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			again.Stop()
			return nil, context.Cause(ctx)
		case <-again.C:
		}
		pause = min(2*pause, maxHoldPause)
	}
}

const maxHoldPause = 15 * time.Second
