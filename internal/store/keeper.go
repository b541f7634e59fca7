package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

const (
	saveEvery   = 5 * time.Second  // for changes without a call of Changed, and after a save that failed
	saveAnyway  = 30 * time.Second // for what the throttle learns about limits, and if somebody else changed the place
	saveTimeout = 10 * time.Second
	flushWait   = 3 * time.Second // how long Flush waits
	lastSave    = 2 * time.Second // how long the last save may take, after the end of Run's context
)

// Source has what a Keeper keeps: admission.Controller.
type Source interface {
	HoldRecords(now time.Time) (records []holdoff.Record, revision uint64)
	UnsavedHolds() int
	SavedHolds(revision uint64)
	LearnedLimits() sizing.State
}

// Keeper keeps a Source in a Store. Make one with New. Call Load before Run; others are safe for concurrent use.
type Keeper struct {
	Source Source // set it before Run

	store Store
	now   func() time.Time
	log   *slog.Logger
	asked chan chan<- error      // requests to save; the result goes to the inner channel unless that is nil
	fault atomic.Pointer[string] // never nil
	saved time.Time              // when the last save succeeded; only Run uses it
}

// New returns a Keeper. With a nil Store, it saves nothing.
func New(s Store, now func() time.Time, log *slog.Logger) *Keeper {
	k := &Keeper{store: s, now: now, log: log, asked: make(chan chan<- error, 1)}
	k.fault.Store(new(string))
	return k
}

// Load takes the place, and returns what an earlier process has left. A value that is damaged is no error.
func (k *Keeper) Load(ctx context.Context) (v Value, err error) {
	if k.store == nil {
		return v, nil
	}
	value, err := k.store.Load(ctx)
	switch {
	case err != nil:
		return v, err
	case value == nil:
		k.log.Warn("there are no holds yet: hosts that have failed before are held from now on", "place", k.store.String())
		return v, nil
	}
	if v, err = Unpack(value); err != nil {
		k.log.Error("holds and limits cannot be read: they are kept aside, and hosts that have failed are held from now on",
			"place", k.store.String(), "error", errors.Join(err, k.store.Aside(value)))
		return v, nil
	}
	k.log.Info("holds of failed hosts were read", "place", k.store.String(), "hosts", len(v.Records), "limits", len(v.Limits.Pools))
	return v, nil
}

// Changed says that a hold has begun or ended, so that Run saves soon. It does not wait.
func (k *Keeper) Changed() {
	select {
	case k.asked <- nil:
	default:
	}
}

// Flush saves what has changed, and waits for that, for 3 s at most.
func (k *Keeper) Flush() error {
	late := time.After(flushWait)
	done := make(chan error, 1)
	for asked := k.asked; ; asked = nil {
		select {
		case asked <- done:
		case err := <-done:
			return err
		case <-late:
			return fmt.Errorf("the place that keeps them did not answer within %s", flushWait)
		}
	}
}

// Fault says what the Keeper could not save; "": it has saved all.
func (k *Keeper) Fault() string { return *k.fault.Load() }

// Run saves changes until ctx ends, and then once more, for 2 s at most. It ends early only with ErrTakenOver.
func (k *Keeper) Run(ctx context.Context) error {
	saving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastSave, stop) })()
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	for {
		var done chan<- error
		select {
		case <-tick.C:
		case done = <-k.asked:
		case <-ctx.Done():
			_ = k.save(saving) // an error is in the log
			return k.close()
		}
		var err error
		if k.Source.UnsavedHolds() > 0 || time.Since(k.saved) >= saveAnyway {
			err = k.save(saving)
		}
		if done != nil {
			done <- err
		}
		if errors.Is(err, ErrTakenOver) {
			return errors.Join(err, k.close())
		}
	}
}

func (k *Keeper) close() error {
	if k.store == nil {
		return nil
	}
	return k.store.Close()
}

func (k *Keeper) save(ctx context.Context) (err error) {
	records, revision := k.Source.HoldRecords(k.now())
	left := 0
	if k.store != nil {
		ctx, cancel := context.WithTimeout(ctx, saveTimeout)
		defer cancel()
		var value []byte
		if value, left, err = Pack(Value{records, k.Source.LearnedLimits()}, k.store.Room()); err == nil {
			err = k.store.Save(ctx, value)
		}
	}
	switch {
	case errors.Is(err, ErrNotLeading): // the log has the reason
	case err != nil:
		level := slog.LevelError
		if errors.Is(err, context.Canceled) { // this process ends: the next leader has the save before
			level = slog.LevelWarn
		}
		k.tell(level, fmt.Sprintf("the holds of failed hosts are in force, but not saved: a restart would lose them: %v", err))
	case left > 0:
		k.tell(slog.LevelError, fmt.Sprintf("the holds of %d hosts are in force, but there is no room to save them", left))
	default:
		k.tell(slog.LevelInfo, "")
	}
	if err == nil {
		k.saved = time.Now()
		k.Source.SavedHolds(revision)
	}
	return err
}

// tell logs the first fault, and when all are over.
func (k *Keeper) tell(level slog.Level, fault string) {
	switch was := *k.fault.Swap(&fault); {
	case was == "" && fault != "":
		k.log.Log(context.Background(), level, "not all is kept", "why", fault)
	case was != "" && fault == "":
		k.log.Info("the holds of failed hosts are saved again")
	}
}
