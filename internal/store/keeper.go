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
	saveEvery   = 5 * time.Second  // what no Changed has told, and what could not be saved
	saveAnyway  = 30 * time.Second // what is learned of limits, and over what somebody else has done to the place
	saveTimeout = 10 * time.Second
	flushWait   = 3 * time.Second // of a caller of Flush
	lastSave    = 2 * time.Second // after the end of Run's context
)

// Source is what is kept.
type Source interface {
	HoldRecords(now time.Time) (records []holdoff.Record, revision uint64)
	UnsavedHolds() int
	SavedHolds(revision uint64)
	LearnedLimits() sizing.State
}

// Keeper keeps a Source in a Store. Make one with New.
type Keeper struct {
	Source Source // to be set before Run

	store Store
	now   func() time.Time
	log   *slog.Logger
	asked chan chan<- error      // to save; a nil one waits for nothing
	fault atomic.Pointer[string] // never nil
	saved time.Time              // when that went well last; it belongs to Run
}

// New returns a Keeper. With a nil Store nothing outlives the process.
func New(s Store, now func() time.Time, log *slog.Logger) *Keeper {
	k := &Keeper{store: s, now: now, log: log, asked: make(chan chan<- error, 1)}
	k.fault.Store(new(string))
	return k
}

// Load takes the place and returns what an earlier process has left.
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

// Changed tells that a hold has begun or ended. It does not wait.
func (k *Keeper) Changed() {
	select {
	case k.asked <- nil:
	default:
	}
}

// Flush saves what has changed and waits for that, but not for a place that hangs.
func (k *Keeper) Flush() error {
	late := time.After(flushWait)
	done := make(chan error, 1)
	for asked := k.asked; ; asked = nil {
		select {
		case asked <- done:
		case err := <-done:
			return err
		case <-late:
			return fmt.Errorf("what keeps them did not answer within %s", flushWait)
		}
	}
}

// Fault says what is not kept; "" while all is.
func (k *Keeper) Fault() string { return *k.fault.Load() }

// Run saves what changes until ctx ends, and once more then, for 2 s at most. It fails with ErrTakenOver.
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
			_ = k.save(saving) // what goes wrong is in the log
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

// close lets another process have the place.
func (k *Keeper) close() error {
	if k.store == nil {
		return nil
	}
	return k.store.Close()
}

// save saves all that is known.
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
	case errors.Is(err, ErrNotLeading): // why is in the log
	case err != nil:
		level := slog.LevelError
		if errors.Is(err, context.Canceled) { // this process ends, or leads no more: who leads next has what was saved before
			level = slog.LevelWarn
		}
		k.tell(level, fmt.Sprintf("the holds of failed hosts cannot be saved; they are in force, but a restart would lose them: %v", err))
	case left > 0:
		k.tell(slog.LevelError, fmt.Sprintf("there is no room for the holds of %d hosts; they are in force, but a restart would lose them", left))
	default:
		k.tell(slog.LevelInfo, "")
	}
	if err == nil {
		k.saved = time.Now()
		k.Source.SavedHolds(revision)
	}
	return err
}

// tell logs the first fault, and the end of all.
func (k *Keeper) tell(level slog.Level, fault string) {
	switch was := *k.fault.Swap(&fault); {
	case was == "" && fault != "":
		k.log.Log(context.Background(), level, "not all is kept", "why", fault)
	case was != "" && fault == "":
		k.log.Info("the holds of failed hosts are saved again")
	}
}
