package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/store"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// place is a Store in memory.
type place struct {
	mu     sync.Mutex
	kept   []byte
	aside  []byte
	saves  int
	closed int
	room   int
	err    error         // of each Save
	hangs  chan struct{} // until it is closed, no Save returns, whatever becomes of its context
}

func (p *place) Load(context.Context) ([]byte, error) { return p.kept, p.err }

func (p *place) Save(_ context.Context, value []byte) error {
	p.mu.Lock()
	p.saves++
	err, hangs := p.err, p.hangs
	if err == nil && hangs == nil {
		p.kept = value
	}
	p.mu.Unlock()
	if hangs != nil {
		<-hangs
	}
	return err
}

func (p *place) Aside(value []byte) error { p.aside = value; return nil }
func (p *place) Room() int                { return p.room }
func (p *place) Close() error             { p.closed++; return nil }
func (p *place) String() string           { return "place" }

func (p *place) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
}

// value is what is kept.
func (p *place) value(t *testing.T) store.Value {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	v, err := store.Unpack(p.kept)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// decision is a Source: a Book, and a limit.
type decision struct {
	mu    sync.Mutex
	book  *holdoff.Book
	limit int
}

func (d *decision) with(do func(*holdoff.Book)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	do(d.book)
}

func (d *decision) HoldRecords(now time.Time) (all []holdoff.Record, revision uint64) {
	d.with(func(b *holdoff.Book) { all, revision = b.Records(now) })
	return all, revision
}

func (d *decision) UnsavedHolds() (n int) {
	d.with(func(b *holdoff.Book) { n = b.Unsaved() })
	return n
}

func (d *decision) SavedHolds(revision uint64) { d.with(func(b *holdoff.Book) { b.Saved(revision) }) }

func (d *decision) LearnedLimits() sizing.State {
	d.mu.Lock()
	defer d.mu.Unlock()
	return sizing.State{Pools: map[string]sizing.Record{"": {Limit: d.limit}}}
}

func (d *decision) learn(limit int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.limit = limit
}

// kept is a Keeper at work, in a bubble.
type kept struct {
	*testing.T
	*store.Keeper
	*place
	*decision
	log  *bytes.Buffer
	stop context.CancelFunc
	done chan error
}

// keep lets a Keeper keep, and plays script. In the end it must have closed the place.
func keep(t *testing.T, p *place, script func(k *kept)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg := holdoff.DefaultConfig()
		cfg.Timeout = time.Hour
		book, err := holdoff.New(cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		k := &kept{T: t, place: p, decision: &decision{book: book, limit: 20}, log: &bytes.Buffer{}, done: make(chan error, 1)}
		if p.room == 0 {
			p.room = 1 << 20
		}
		k.Keeper = store.New(p, time.Now, slog.New(slog.NewTextHandler(k.log, nil)))
		v, err := k.Keeper.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		book.Restore(time.Now(), v.Records)
		if known := v.Limits.Pools[""].Limit; known > 0 {
			k.limit = known
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
func (k *kept) fails(hosts ...string) {
	k.with(func(b *holdoff.Book) {
		for _, h := range hosts {
			b.Failed(time.Now(), holdoff.Failure{UUID: h, Name: "metal3~" + h, State: "deploy failed", Kind: holdoff.Deployment})
		}
	})
	k.Changed()
}

// pass lets time pass.
func (k *kept) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (k *kept) told(n int, words string) {
	k.Helper()
	if got := strings.Count(k.log.String(), words); got != n {
		k.Errorf("%q is told %d times, want %d: %s", words, got, n, k.log)
	}
}

func (k *kept) want(hosts, unsaved int) {
	k.Helper()
	if v := k.value(k.T); len(v.Records) != hosts || k.UnsavedHolds() != unsaved {
		k.Errorf("%d hosts are kept and %d are unsaved, want %d and %d", len(v.Records), k.UnsavedHolds(), hosts, unsaved)
	}
}

func TestHoldsAreSavedAtOnceAndLimitsNowAndThen(t *testing.T) {
	p := &place{}
	keep(t, p, func(k *kept) {
		k.told(1, "there are no holds yet")
		k.fails("a", "b")
		synctest.Wait()
		k.want(2, 0)
		k.with(func(b *holdoff.Book) { b.Release(time.Now(), "a") })
		k.pass(5 * time.Second) // nobody has told
		k.want(2, 0)
		saves := k.saves
		k.learn(31)
		if k.pass(20 * time.Second); k.saves != saves {
			t.Errorf("%d saves of no hold", k.saves-saves)
		}
		k.pass(10 * time.Second) // also over what somebody has done to the place
		if got := k.value(t).Limits.Pools[""].Limit; got != 31 || k.saves != saves+1 {
			t.Errorf("limit %d, %d saves in 30 s", got, k.saves-saves)
		}
		k.learn(32)
		k.with(func(b *holdoff.Book) { b.Gone("b") })
		k.stop()
		synctest.Wait()
		if err := <-k.done; err != nil || k.closed != 1 {
			t.Errorf("%v, closed %d times", err, k.closed)
		}
		if k.want(1, 0); k.value(t).Limits.Pools[""].Limit != 32 {
			t.Error("the last save did not save the limits")
		}
	})
	keep(t, p, func(k *kept) {
		k.told(1, "hosts=1 limits=1")
		if k.pass(time.Minute); k.value(t).Limits.Pools[""].Limit != 32 {
			t.Errorf("%+v", k.value(t).Limits)
		}
		k.want(1, 0)
	})
}

func TestFlushWaitsForItsSaveAndForNoPlaceThatHangs(t *testing.T) {
	p := &place{}
	keep(t, p, func(k *kept) {
		k.with(func(b *holdoff.Book) { b.Failed(time.Now(), holdoff.Failure{UUID: "a", Kind: holdoff.Deployment}) })
		if err := k.Flush(); err != nil {
			t.Fatal(err)
		}
		k.want(1, 0)
		p.hangs = make(chan struct{})
		k.with(func(b *holdoff.Book) { b.Release(time.Now(), "a") })
		for range 2 { // the second one cannot even be begun
			begun := time.Now()
			if err := k.Flush(); err == nil || time.Since(begun) != 3*time.Second {
				t.Errorf("%v after %v", err, time.Since(begun))
			}
		}
		close(p.hangs)
	})
}

func TestWhatCannotBeSavedIsToldOnceAndTriedAgain(t *testing.T) {
	keep(t, &place{room: 400}, func(k *kept) {
		k.fails(uuidOf("a"))
		synctest.Wait()
		k.place.fail(errors.New("fault 1"))
		k.pass(31 * time.Second) // nothing is new, but what was there may be lost
		k.fails(uuidOf("b"))
		k.place.fail(errors.New("fault 2"))
		k.pass(2 * time.Minute)
		const words = "the holds of failed hosts cannot be saved; they are in force, but a restart would lose them"
		k.told(1, words+": fault 1")
		if fault := k.Fault(); fault != words+": fault 2" || k.UnsavedHolds() != 1 {
			t.Errorf("fault %q, %d unsaved", fault, k.UnsavedHolds())
		}
		k.place.fail(nil)
		k.pass(5 * time.Second)
		if k.told(1, "are saved again"); k.Fault() != "" {
			t.Error(k.Fault())
		}
		for i := range 20 {
			k.fails(uuidOf(i))
		}
		k.pass(time.Minute)
		missing := 22 - len(k.value(t).Records)
		words2 := fmt.Sprintf("there is no room for the holds of %d hosts", missing)
		if fault := k.Fault(); missing == 0 || !strings.Contains(fault, words2) || k.UnsavedHolds() > 0 {
			t.Errorf("fault %q, %d missing", fault, missing)
		}
		k.told(1, "there is no room")
	})
}

// A process that does not lead writes nothing and does not complain; one whose place another process has ends.
func TestWhoMustNotSave(t *testing.T) {
	keep(t, &place{}, func(k *kept) {
		k.place.fail(fmt.Errorf("place: %w", store.ErrNotLeading))
		k.fails("a")
		k.pass(time.Minute)
		if err := k.Flush(); !errors.Is(err, store.ErrNotLeading) {
			t.Errorf("Flush: %v", err)
		}
		if k.told(0, "cannot"); k.Fault() != "" || k.UnsavedHolds() != 1 {
			t.Errorf("fault %q, %d unsaved", k.Fault(), k.UnsavedHolds())
		}
		k.place.fail(fmt.Errorf("place: %w", store.ErrTakenOver))
		if err := k.Flush(); !errors.Is(err, store.ErrTakenOver) {
			t.Error(err)
		}
		if err := <-k.done; !errors.Is(err, store.ErrTakenOver) || k.closed != 1 {
			t.Errorf("%v, closed %d times", err, k.closed)
		}
	})
}

// A value that is damaged is kept aside, and the next save replaces it.
func TestADamagedValueIsKeptAside(t *testing.T) {
	damaged := append(packed(t, records(3)), "more"...)
	p := &place{kept: damaged}
	keep(t, p, func(k *kept) {
		k.told(1, "level=ERROR msg=\"holds and limits cannot be read: they are kept aside")
		k.fails("a")
		synctest.Wait()
		if k.want(1, 0); !bytes.Equal(p.aside, damaged) {
			t.Errorf("%q is kept aside", p.aside)
		}
	})
}

func TestWithoutAPlaceNothingCountsAsUnsaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book, err := holdoff.New(holdoff.DefaultConfig(), nil)
		if err != nil {
			t.Fatal(err)
		}
		k := &kept{Keeper: store.New(nil, time.Now, slog.New(slog.DiscardHandler)), decision: &decision{book: book}}
		k.Source = k.decision
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- k.Keeper.Run(ctx) }()
		k.fails("a")
		synctest.Wait()
		if n := k.UnsavedHolds(); n != 0 {
			t.Errorf("%d are unsaved", n)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
