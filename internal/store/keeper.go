package store

import (
	"bytes"
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
	lookEvery   = 30 * time.Second // what is learned of limits, and what somebody else has done to the place
	saveTimeout = 10 * time.Second
	flushWait   = 3 * time.Second // of a caller of Flush
	lastSave    = 2 * time.Second // after the end of Run's context
)

// Source is what is kept.
type Source interface {
	HoldRecords(now time.Time) (records []holdoff.Record, revision uint64)
	UnsavedHolds() int
	SavedHolds(revision uint64)
	LostHolds()
	LearnedLimits() sizing.State
}

// Keeper keeps a Source in a Store. Make one with New.
type Keeper struct {
	Source Source // to be set before Run

	store Store
	now   func() time.Time
	log   *slog.Logger
	wake  chan struct{}
	asked chan chan<- error
	fault atomic.Pointer[string] // never nil

	// What follows belongs to the goroutine that saves.
	value   []byte // as it was packed last
	left    int    // hosts without room in it
	limits  []byte // text of the limits in it
	seen    []byte // text of the limits when they were looked at last
	learned bool   // limits are not saved yet
	told    string
}

// New returns a Keeper. With a nil Store nothing outlives the process.
func New(s Store, now func() time.Time, log *slog.Logger) *Keeper {
	k := &Keeper{store: s, now: now, log: log, wake: make(chan struct{}, 1), asked: make(chan chan<- error)}
	k.fault.Store(new(string))
	return k
}

// Load takes the place and returns what an earlier process has left.
func (k *Keeper) Load(ctx context.Context) (v Value, err error) {
	if k.store == nil {
		return v, nil
	}
	value, err := k.store.Load(ctx)
	if err != nil {
		return v, err
	}
	if value == nil {
		k.log.Warn("there are no holds yet: hosts that have failed before are held from now on", "place", k.store.String())
		return v, nil
	}
	if v, err = Unpack(value, k.now()); err != nil {
		k.log.Error("holds or limits are damaged, or of a later version: what is there is kept aside, and hosts that have failed are held from now on",
			"place", k.store.String(), "read", len(v.Records), "error", err, "aside", k.store.Aside(value))
	} else {
		k.log.Info("holds of failed hosts were read", "place", k.store.String(), "hosts", len(v.Records), "limits", len(v.Limits.Pools))
	}
	if len(v.Limits.Pools) > 0 {
		k.limits, _ = v.Limits.Text() // as it was read
	}
	return v, nil
}

// Close lets another process have the place, where Run was never called.
func (k *Keeper) Close() error {
	if k.store == nil {
		return nil
	}
	return k.store.Close()
}

// Changed tells that a hold has begun or ended. It does not wait.
func (k *Keeper) Changed() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

var errLate = fmt.Errorf("what keeps them did not answer within %s", flushWait)

// Flush saves what has changed and waits for that, but not for a place that hangs.
func (k *Keeper) Flush() error {
	late := time.NewTimer(flushWait)
	defer late.Stop()
	done := make(chan error, 1)
	select {
	case k.asked <- done:
	case <-late.C:
		return errLate
	}
	select {
	case err := <-done:
		return err
	case <-late.C:
		return errLate
	}
}

// Fault says what is not kept; "" while all is.
func (k *Keeper) Fault() string { return *k.fault.Load() }

// Run saves what changes until ctx ends, and once more then, for 2 s at most. It fails with ErrTakenOver.
func (k *Keeper) Run(ctx context.Context) error {
	saving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(k.saveUntil(ctx, saving), k.Close()) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	late := time.NewTimer(lastSave)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-late.C: // the place stays ours until the process ends
		k.log.Error("the last save has not ended in time: what has changed since the one before may be lost", "after", lastSave)
		return nil
	}
}

func (k *Keeper) saveUntil(ctx, saving context.Context) (err error) {
	save, look := time.NewTicker(saveEvery), time.NewTicker(lookEvery)
	defer save.Stop()
	defer look.Stop()
	k.seen, _ = k.Source.LearnedLimits().Text() // nothing was learned yet
	for err = k.save(saving, true); !errors.Is(err, ErrTakenOver); {
		select {
		case <-k.wake:
			err = k.save(saving, false)
		case <-save.C:
			err = k.save(saving, false)
		case done := <-k.asked:
			err = k.save(saving, false)
			done <- err
		case <-look.C:
			k.learn()
			err = k.save(saving, true)
		case <-ctx.Done():
			k.learn()
			_ = k.save(saving, k.learned) // what goes wrong is in the log
			return nil
		}
	}
	return err
}

// learn finds out whether something was learned of limits that is not saved.
func (k *Keeper) learn() {
	text, err := k.Source.LearnedLimits().Text()
	if err == nil && !bytes.Equal(text, k.seen) {
		k.seen, k.limits, k.learned = text, text, true
	}
}

// save saves where a hold has changed, or always.
func (k *Keeper) save(ctx context.Context, always bool) (err error) {
	unsaved := k.Source.UnsavedHolds()
	if unsaved == 0 && !always {
		return nil
	}
	limits := unsaved == 0 && k.learned // alone
	var revision uint64
	if unsaved > 0 || k.learned || k.value == nil {
		revision, err = k.pack()
	}
	if err == nil && k.store != nil {
		bounded, cancel := context.WithTimeout(ctx, saveTimeout)
		err = k.store.Save(bounded, k.value)
		cancel()
	}
	switch {
	case err == nil:
		k.learned = false
		k.Source.SavedHolds(revision)
	case errors.Is(err, ErrNotLeading):
		return err // why this process does not lead is in the log
	case unsaved == 0 && !limits:
		k.Source.LostHolds() // what was saved is not there any more, as far as is known
	}
	k.tell(err, limits)
	return err
}

// pack makes the next value, and returns the revision of the holds in it.
func (k *Keeper) pack() (revision uint64, err error) {
	records, revision := k.Source.HoldRecords(k.now())
	if k.store != nil {
		k.value, k.left, err = Pack(records, k.limits, k.store.Room())
	}
	return revision, err
}

// tell logs what is new of what is not kept.
func (k *Keeper) tell(err error, limits bool) {
	level, text, why := slog.LevelError, "", ""
	switch {
	case err != nil && limits:
		level, text, why = slog.LevelWarn, "what was learned of the limits cannot be saved; it is in force, but a restart would lose it", err.Error()
	case err != nil:
		text, why = "the holds of failed hosts cannot be saved; they are in force, but a restart would lose them", err.Error()
	case k.left > 0:
		text, why = "there is no room for all holds; they are in force, but a restart would lose some", fmt.Sprintf("%d hosts are left out", k.left)
	}
	fault := text
	if text != "" {
		fault += ": " + why
	}
	k.fault.Store(&fault)
	if text == k.told {
		return
	}
	if k.told = text; text == "" {
		k.log.Info("the holds of failed hosts are saved again")
		return
	}
	k.log.Log(context.Background(), level, text, "why", why) //nolint:sloglint // one of three texts
}
