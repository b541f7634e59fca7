package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/store"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// place is a File that can go wrong.
type place struct {
	*store.File
	*decision
}

func (p place) Room() (room int) {
	p.with(func() { room = p.room })
	return room
}

func (p place) Save(ctx context.Context, value []byte) (err error) {
	var hangs chan struct{}
	p.with(func() { p.saves, err, hangs = p.saves+1, p.err, p.hangs })
	if hangs != nil {
		<-hangs
	}
	return errors.Join(err, p.File.Save(ctx, value))
}

// decision is a Source, and says what goes wrong with its place.
type decision struct {
	mu              sync.Mutex
	records         []holdoff.Record
	limit           int
	revision, saved uint64

	room, saves int
	err         error         // of each Save
	hangs       chan struct{} // until it is closed, no Save returns, whatever becomes of its context
}

// with does something to the decision, as one who decides.
func (d *decision) with(do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	do()
}

func (d *decision) HoldRecords(time.Time) (all []holdoff.Record, revision uint64) {
	d.with(func() { all, revision = slices.Clone(d.records), d.revision })
	return all, revision
}

func (d *decision) UnsavedHolds() (n int) {
	d.with(func() { n = int(d.revision - d.saved) })
	return n
}

func (d *decision) SavedHolds(revision uint64) { d.with(func() { d.saved = revision }) }

func (d *decision) LearnedLimits() (s sizing.State) {
	d.with(func() { s = limits(d.limit) })
	return s
}

// keeping is a Keeper at work, in a bubble.
type keeping struct {
	*testing.T
	*store.Keeper
	*decision
	path string
	log  bytes.Buffer
	stop context.CancelFunc
	done chan error
}

// keep lets a Keeper keep a file at path, and plays script.
func keep(t *testing.T, path string, script func(k *keeping)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		k := &keeping{T: t, decision: &decision{limit: 20, room: 1 << 20}, path: path, done: make(chan error, 1)}
		k.Keeper = store.New(place{store.NewFile(path), k.decision}, time.Now, slog.New(slog.NewTextHandler(&k.log, nil)))
		v, err := k.Keeper.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if k.records = v.Records; len(v.Limits.Pools) > 0 {
			k.limit = v.Limits.Pools[""].Limit
		}
		k.Source = k.decision
		ctx, cancel := context.WithCancel(t.Context())
		k.stop = cancel
		defer cancel()
		go func() { k.done <- k.Keeper.Run(ctx) }()
		synctest.Wait()
		script(k)
		cancel()
		synctest.Wait()
	})
}

// fails lets hosts fail, and tells.
func (k *keeping) fails(hosts ...int) {
	for _, n := range hosts {
		k.with(func() { k.records, k.revision = append(k.records, record(n)), k.revision+1 })
	}
	k.Changed()
	synctest.Wait()
}

// pass lets time pass.
func (k *keeping) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (k *keeping) told(n int, words string) {
	k.Helper()
	if got := strings.Count(k.log.String(), words); got != n {
		k.Errorf("%q is told %d times, want %d: %s", words, got, n, &k.log)
	}
}

// want demands how many hosts are kept, and what limit, and that nothing is unsaved.
func (k *keeping) want(hosts, limit int) {
	k.Helper()
	value, err := os.ReadFile(k.path)
	if err != nil {
		k.Fatal(err)
	}
	v, err := store.Unpack(value)
	if err != nil || len(v.Records) != hosts || v.Limits.Pools[""].Limit != limit || k.UnsavedHolds() != 0 {
		k.Errorf("%d hosts and limit %d are kept, %v, and %d are unsaved, want %d and %d",
			len(v.Records), v.Limits.Pools[""].Limit, err, k.UnsavedHolds(), hosts, limit)
	}
}

func TestHoldsAreSavedAtOnceAndLimitsNowAndThen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holds")
	keep(t, path, func(k *keeping) {
		k.told(1, "there are no holds yet")
		k.fails(1, 2)
		k.want(2, 20)
		k.with(func() { k.revision++ }) // nobody has told
		k.pass(5 * time.Second)
		k.want(2, 20)
		k.with(func() { k.saves, k.limit = 0, 31 })
		k.pass(20 * time.Second)
		k.with(func() {
			if k.saves > 0 {
				t.Errorf("%d saves of no hold", k.saves)
			}
		})
		k.pass(10 * time.Second) // also over what somebody has done to the place
		k.want(2, 31)
		k.with(func() { k.limit, k.records, k.revision = 32, k.records[:1], k.revision+1 })
		k.stop()
		if err := <-k.done; err != nil {
			t.Error(err)
		}
		k.want(1, 32)
	})
	keep(t, path, func(k *keeping) { // the place is free
		k.told(1, "hosts=1 limits=1")
		k.pass(time.Minute)
		k.want(1, 32)
	})
}

func TestFlushWaitsForItsSaveAndForNoPlaceThatHangs(t *testing.T) {
	keep(t, filepath.Join(t.TempDir(), "holds"), func(k *keeping) {
		k.with(func() { k.records, k.revision = records(1), 1 })
		if err := k.Flush(); err != nil {
			t.Fatal(err)
		}
		k.want(1, 20)
		k.with(func() { k.hangs = make(chan struct{}) })
		k.with(func() { k.revision++ })
		for range 2 { // the second one cannot even be begun
			begun := time.Now()
			if err := k.Flush(); err == nil || time.Since(begun) != 3*time.Second {
				t.Errorf("%v after %v", err, time.Since(begun))
			}
		}
		k.with(func() { close(k.hangs) })
	})
}

func TestWhatCannotBeSavedIsToldOnceAndTriedAgain(t *testing.T) {
	keep(t, filepath.Join(t.TempDir(), "holds"), func(k *keeping) {
		const words = "the holds of failed hosts are in force, but not saved: a restart would lose them: "
		k.fails(1)
		k.with(func() { k.err = errors.New("fault 1") })
		k.pass(31 * time.Second) // nothing is new, but what was there may be lost
		k.told(1, words+"fault 1")
		k.with(func() { k.err = errors.New("fault 2") })
		k.fails(2)
		k.pass(2 * time.Minute)
		if k.told(0, "fault 2"); k.Fault() != words+"fault 2" || k.UnsavedHolds() != 1 {
			t.Errorf("fault %q, %d unsaved", k.Fault(), k.UnsavedHolds())
		}
		k.with(func() { k.err = nil })
		k.pass(5 * time.Second)
		if k.told(1, "are saved again"); k.Fault() != "" {
			t.Error(k.Fault())
		}
		k.with(func() { k.room = 1000 })
		k.fails(3, 4, 5, 6, 7, 8, 9)
		k.told(1, "but there is no room to save them")
		value, _ := os.ReadFile(k.path)
		v, err := store.Unpack(value)
		missing := fmt.Sprintf("the holds of %d hosts are in force, but there is no room to save them", 9-len(v.Records))
		if err != nil || len(v.Records) == 0 || !strings.Contains(k.Fault(), missing) || k.UnsavedHolds() > 0 {
			t.Errorf("%d are kept, fault %q, %d unsaved, %v", len(v.Records), k.Fault(), k.UnsavedHolds(), err)
		}
	})
}

// A process that does not lead writes nothing and does not complain; one whose place another process has ends.
func TestWhoMustNotSave(t *testing.T) {
	keep(t, filepath.Join(t.TempDir(), "holds"), func(k *keeping) {
		k.with(func() { k.err = fmt.Errorf("place: %w", store.ErrNotLeading) })
		k.fails(1)
		k.pass(time.Minute)
		if err := k.Flush(); !errors.Is(err, store.ErrNotLeading) {
			t.Errorf("Flush: %v", err)
		}
		if k.told(0, "cannot"); k.Fault() != "" || k.UnsavedHolds() != 1 {
			t.Errorf("fault %q, %d unsaved", k.Fault(), k.UnsavedHolds())
		}
		k.with(func() { k.err = fmt.Errorf("place: %w", context.Canceled) }) // it is cut off, and ends
		if err := k.Flush(); err == nil {
			t.Error("it was saved")
		}
		k.told(1, "level=WARN msg=\"not all is kept\"")
		k.with(func() { k.err = fmt.Errorf("place: %w", store.ErrTakenOver) })
		if err := k.Flush(); !errors.Is(err, store.ErrTakenOver) {
			t.Error(err)
		}
		if err := <-k.done; !errors.Is(err, store.ErrTakenOver) {
			t.Error(err)
		}
	})
}

// A value that is damaged is kept aside, and the next save replaces it.
func TestADamagedValueIsKeptAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holds")
	damaged := append(packed(t, records(3)), "more"...)
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	keep(t, path, func(k *keeping) {
		k.told(1, "level=ERROR msg=\"holds and limits cannot be read: they are kept aside")
		k.fails(1)
		k.want(1, 20)
		if aside, err := os.ReadFile(path + ".broken"); !bytes.Equal(aside, damaged) {
			t.Errorf("%q is kept aside, %v", aside, err)
		}
	})
}
