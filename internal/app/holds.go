package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/clusterhosts"
	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/store"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

// newHolds says where holds are kept, and reads a file of them.
func (a *App) newHolds(ctx context.Context, h config.Holdoff) (err error) {
	var place store.Store
	switch {
	case a.holdMap != nil:
		place = a.holdMap
	case h.File != "":
		place = store.NewFile(h.File)
	}
	a.holds = store.New(place, a.now, a.log)
	if h.File == "" {
		return nil
	}
	if a.kept, err = a.holds.Load(ctx); err != nil {
		return fmt.Errorf("IRONIC_THROTTLE_HOLDOFF_FILE: %w", errors.Join(err, a.holds.Close()))
	}
	return nil
}

// maxHoldPause bounds the time between two tries to read the ConfigMap of the holds.
const maxHoldPause = 15 * time.Second

// readHolds reads the ConfigMap of the holds, however long that takes: who decides without them would let go whom the leader
// before held. No error is final, not even a refusal: an API server that has just started refuses everything.
func (a *App) readHolds(ctx context.Context) (err error) {
	for pause, told := time.Second, ""; ; pause = min(2*pause, maxHoldPause) {
		a.kept, err = a.holds.Load(ctx)
		if err == nil {
			a.waits.Store(nil)
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx) // this process ends, which is no fault of theirs
		}
		if text := "nobody is let start before the holds of failed hosts are read: " + err.Error(); text != told {
			told = text
			a.waits.Store(&text)
			a.log.Error("holds cannot be read: trying again", "why", text)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// holdoffConfig is what the decision needs of h, with what single hosts ask for.
func holdoffConfig(h config.Holdoff, hosts *clusterhosts.Hosts) (holdoff.Config, holdoff.Quota, error) {
	quota, err := holdoff.ParseQuota(h.MaxFailed)
	if err != nil {
		return holdoff.Config{}, quota, fmt.Errorf("IRONIC_THROTTLE_MAX_FAILED: %w", err)
	}
	c := holdoff.Config{
		Timeout: h.Timeout, Stage: holdoff.Stage(h.Stage), Growth: h.Growth, GrowthCap: h.GrowthCap,
		Hosts: hosts.Holdoffs(h.Hosts, max(h.Timeout, h.GrowthCap)),
	}
	return c, quota, c.Validate()
}
