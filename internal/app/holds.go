package app

import (
	"context"
	"fmt"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/clusterhosts"
	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/store"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

// newHolds says where holds are kept.
func (a *App) newHolds(h config.Holdoff) {
	var place store.Store
	switch {
	case a.holdMap != nil:
		place = a.holdMap
	case h.File != "":
		place = store.NewFile(h.File)
	}
	a.holds = store.New(place, a.now, a.log)
}

// holdsPause is between two tries to read the ConfigMap of the holds.
const holdsPause = 5 * time.Second

// readHolds reads the holds, a ConfigMap however long that takes: who decides without them would let go whom the leader before
// held. No error of it is final, not even a refusal: an API server that has just started refuses everything.
func (a *App) readHolds(ctx context.Context) (store.Value, error) {
	for told := ""; ; {
		kept, err := a.holds.Load(ctx)
		switch {
		case err == nil:
			a.waits.Store(nil)
			return kept, nil
		case a.holdMap == nil:
			return kept, fmt.Errorf("IRONIC_THROTTLE_STATE: %w", err)
		case ctx.Err() != nil: // this process ends, which is no fault of theirs
			return kept, context.Cause(ctx)
		}
		if text := "no host starts before the holds of failed hosts are read: " + err.Error(); text != told {
			told = text
			a.waits.Store(&text)
			a.log.Error("holds cannot be read: trying again", "why", text)
		}
		select {
		case <-ctx.Done():
			return kept, context.Cause(ctx)
		case <-time.After(holdsPause):
		}
	}
}

// holdoffConfig is what the decision needs of h, with what single hosts ask for.
func holdoffConfig(h config.Holdoff, hosts *clusterhosts.Hosts) (holdoff.Config, holdoff.Quota, error) {
	quota, err := holdoff.ParseQuota(h.MaxFailed)
	if err != nil {
		return holdoff.Config{}, quota, fmt.Errorf("IRONIC_THROTTLE_MAX_FAILED: %w", err)
	}
	const longest = 48 * time.Hour // that HOLDOFF_GROWTH makes; it shortens none
	c := holdoff.Config{
		Timeout: h.Timeout, Stage: holdoff.Stage(h.Stage), Growth: h.Growth, GrowthCap: longest,
		Hosts: hosts.Holdoffs(h.Hosts, max(h.Timeout, longest)),
	}
	return c, quota, c.Validate()
}
