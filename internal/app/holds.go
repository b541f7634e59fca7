package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/holdfile"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/holds"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// saveInterval bounds for how long what is no hold, or an ask has changed, is in memory only.
const saveInterval = 5 * time.Second

// saveTimeout is how long a release waits until it is on disk.
const saveTimeout = 3 * time.Second

// lastSave bounds the save that the end of a term waits for, which has termGrace.
const lastSave = 2 * time.Second

// toldInterval is the least time between two errors in the log that differ: with eight
// ConfigMaps there are many ways to fail.
const toldInterval = time.Minute

// holdKeeper keeps the file of the holds up to date. A hold is saved directly after the
// poll that saw the failure; a kill between the two is harmless, for the node is still in
// its failed state then, and the first poll of the next process finds it. No poll waits
// for the disk.
type holdKeeper struct {
	app  *App
	wake chan struct{}

	waiting atomic.Bool // a release waits for its save

	saving     sync.Mutex // one save at a time; guards what follows
	fault      complaint
	limitFault complaint
	learned    []byte // of the limits, as it is kept, or as the term began with

	mu     sync.Mutex // never held for long; guards what follows
	store  holdoff.Store
	closed bool
}

var errClosed = errors.New("the place where holds are kept is closed")

// keptHolds are those that an earlier process has left.
type keptHolds struct {
	records []holdoff.Record
	learned sizing.State // of the limits
}

// keepIn makes s the place where holds are kept from now on.
func (k *holdKeeper) keepIn(s holdoff.Store) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.store = s
}

// openHolds reads what an earlier process has left; without a file nothing is kept.
func (a *App) openHolds(c config.Config, decision *admission.Config) error {
	a.holds = &holdKeeper{
		app: a, wake: make(chan struct{}, 1),
		fault: complaint{
			level: slog.LevelError, back: "the holds of failed hosts are saved again",
			lost: "the holds of failed hosts cannot be saved; they are in force, but a restart would lose them",
		},
		limitFault: complaint{
			level: slog.LevelWarn, back: "what is learned of the limits is saved again",
			lost: "what was learned of the limits cannot be saved; it is in force, but a restart would lose it",
		},
	}
	if c.Holdoff.File == "" {
		return nil
	}
	file, err := holdfile.Open(c.Holdoff.File, a.log)
	if err != nil {
		return fmt.Errorf("IRONIC_THROTTLE_HOLDOFF_FILE: %w", err)
	}
	records, known, err := file.Load()
	if err != nil {
		_ = file.Close()
		return fmt.Errorf("IRONIC_THROTTLE_HOLDOFF_FILE: %w", err)
	}
	a.loadLimits(file)
	a.kept.records = records
	decision.Holds, decision.Learned = records, a.kept.learned
	a.holds.store = file
	if known { // if not, the file has said why
		a.log.Info("holds of failed hosts read", "file", c.Holdoff.File, "hosts", len(decision.Holds))
	}
	return nil
}

// place is where holds are kept; nil = nowhere.
func (k *holdKeeper) place() (holdoff.Store, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, errClosed
	}
	return k.store, nil
}

// save writes what has changed. A failure is logged when it is new; what could not be
// written is tried again with the next.
func (k *holdKeeper) save() error {
	k.saving.Lock()
	defer k.saving.Unlock()
	batch := k.app.controller.UnsavedHolds(k.app.now())
	if batch.Empty() {
		return nil
	}
	store, err := k.place()
	if err != nil {
		return err
	}
	if store == nil { // what is in memory is all there is
		k.app.controller.SavedHolds(batch)
		return nil
	}
	err = store.Save(batch)
	k.fault.note(k.app.log, err)
	if err == nil {
		k.app.controller.SavedHolds(batch)
	}
	return err
}

// complaint is what the log says of a save that fails, and when it succeeds again.
type complaint struct {
	level      slog.Level
	lost, back string

	told string // the error; "": there is none
	at   time.Time
}

// note tells what is new, and not much at a time. That a process which does not lead writes nothing is no fault: why it does
// not lead is in the log.
func (c *complaint) note(log *slog.Logger, err error) {
	now := time.Now()
	switch {
	case err == nil && c.told != "":
		c.told = ""
		log.Info(c.back) //nolint:sloglint // one of two texts
	case err == nil, errors.Is(err, holds.ErrNotLeading), c.told == err.Error():
	case c.told == "" || now.Sub(c.at) >= toldInterval:
		c.told, c.at = err.Error(), now
		log.Log(context.Background(), c.level, c.lost, "error", err) //nolint:sloglint // likewise
	}
}

// checkStore lets a store that others can change check whether they have. While that cannot be
// mended, all holds count as not saved.
func (k *holdKeeper) checkStore() error {
	k.saving.Lock()
	defer k.saving.Unlock()
	store, _ := k.place()
	shared, ok := store.(interface{ Look() error })
	if !ok {
		return nil
	}
	if err := shared.Look(); err != nil {
		k.app.controller.LostHolds()
		k.fault.note(k.app.log, err)
		return err
	}
	if k.app.controller.UnsavedHolds(k.app.now()).Empty() {
		k.fault.note(k.app.log, nil)
	}
	return nil
}

// takenOver reports that another process keeps the holds now.
func takenOver(err error) bool {
	return errors.Is(err, holds.ErrTakenOver) || errors.Is(err, holdfile.ErrHeld)
}

// saveSoon is save for somebody who waits for it, but not for a disk that hangs.
func (k *holdKeeper) saveSoon() error {
	if k.waiting.Swap(true) {
		return errDiskHangs // somebody waits already: one goroutine is enough
	}
	done := make(chan error, 1)
	go func() {
		defer k.waiting.Store(false)
		done <- k.save()
	}()
	late := time.NewTimer(saveTimeout)
	defer late.Stop()
	select {
	case err := <-done:
		return err
	case <-late.C:
		return errDiskHangs
	}
}

var errDiskHangs = errors.New("what keeps them does not answer")

// changed tells that a hold has begun or ended.
func (k *holdKeeper) changed() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// run saves holds that begin and end at once, and other changes now and then, until ctx ends, and once more then, as far
// as that goes quickly. So it does, more rarely, with what is learned of limits.
// It fails when another process keeps them now: that one decides.
func (k *holdKeeper) run(ctx context.Context) (err error) {
	tick, limits := time.NewTicker(saveInterval), time.NewTicker(limitsInterval)
	defer tick.Stop()
	defer limits.Stop()
	k.beginLimits()
	ended := make(chan struct{})
	defer close(ended)
	defer context.AfterFunc(ctx, func() { k.closeLate(ended) })()
	for {
		select {
		case <-k.wake:
			err = k.save() // what goes wrong is in the log
		case <-tick.C:
			if err = k.save(); !takenOver(err) {
				err = k.checkStore()
			}
		case <-limits.C:
			err = k.saveLimits()
		case <-ctx.Done():
			_ = k.save()
			_ = k.saveLimits()
			return k.close()
		}
		if takenOver(err) {
			return errors.Join(err, k.close())
		}
	}
}

// closeLate ends a save that takes too long for the end of a term: one that runs, or the
// last one.
func (k *holdKeeper) closeLate(ended <-chan struct{}) {
	late := time.NewTimer(lastSave)
	defer late.Stop()
	select {
	case <-late.C:
		_ = k.close()
	case <-ended:
	}
}

// close does not wait for a save that runs: closing may be what ends it.
func (k *holdKeeper) close() error {
	k.mu.Lock()
	store := k.store
	k.store, k.closed = nil, k.closed || store != nil
	k.mu.Unlock()
	if store == nil {
		return nil
	}
	return store.Close()
}

// holdoffConfig is what the decision needs of h, with what single hosts ask for.
func (a *App) holdoffConfig(h config.Holdoff) (holdoff.Config, holdoff.Quota, error) {
	c, quota, err := holdoffConfig(h)
	c.Hosts = a.hosts.Holdoffs(c.Hosts, max(c.Timeout, c.GrowthCap))
	return c, quota, err
}

// holdoffConfig is what the decision needs of the hold-off's settings.
func holdoffConfig(h config.Holdoff) (holdoff.Config, holdoff.Quota, error) {
	quota, err := holdoff.ParseQuota(h.MaxFailed)
	if err != nil {
		return holdoff.Config{}, quota, fmt.Errorf("IRONIC_THROTTLE_MAX_FAILED: %w", err)
	}
	c := holdoff.Config{
		Timeout: h.Timeout, Stage: holdoff.Stage(h.Stage), Growth: h.Growth, GrowthCap: h.GrowthCap, Hosts: h.Hosts,
	}
	return c, quota, c.Validate()
}

// breakers are what circuit breakers watch; nil when they are off.
func breakers(b config.Breaker) *admission.Breakers {
	if !b.Enabled {
		return nil
	}
	d := admission.DefaultBreakers()
	d.Scopes = b.Scopes
	for _, c := range []*breaker.Config{&d.Ironic, &d.Others} {
		c.Mode = breaker.Mode(b.Mode)
		c.FailureThreshold = b.GroupThreshold
		c.FailureWindow, c.RecoveryTimeout = b.FailureWindow, b.RecoveryTimeout
		c.HalfOpenMaxRequests = b.HalfOpenMaxRequests
	}
	d.Ironic.FailureThreshold = b.Threshold
	if d.Ironic.RatioPercent = b.Ratio; b.Ratio == 0 {
		d.Ironic.RatioMinimum = 0 // both or none
	}
	d.Ironic.RateLimitPerMinute = b.RateLimitPerMinute
	return d
}
