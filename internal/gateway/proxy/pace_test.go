package proxy

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// oneByOne is an Ironic with little of a core: it does one thing at a time, each of which
// takes so long.
type oneByOne struct {
	turn  chan struct{}
	takes atomic.Int64 // nanoseconds
}

func (i *oneByOne) answer() {
	i.turn <- struct{}{}
	<-time.After(time.Duration(i.takes.Load()))
	<-i.turn
}

// crowd are workers of the operator, each of which asks again as soon as it has its answer.
// It returns how many answers they got.
func crowd(ctx context.Context, workers int, p *paced, ironic *oneByOne) (answers *atomic.Int64, done chan struct{}) {
	answers, done = &atomic.Int64{}, make(chan struct{}, workers)
	for range workers {
		go func() {
			defer func() { done <- struct{}{} }()
			for {
				vacate, err := enter(ctx, p)
				if err != nil {
					return
				}
				ironic.answer()
				answers.Add(1)
				vacate()
			}
		}()
	}
	return answers, done
}

// TestASlowIronicIsAskedByFewAtOnce plays 32 workers in front of an Ironic that needs 150 ms
// for a request: a poll of ours, four small lists one after the other, took 20 s behind
// them. After a few it takes a quarter, the workers get as many answers as before, and all
// of their places when Ironic is quick again.
func TestASlowIronicIsAskedByFewAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p, ironic := newPaced(48), &oneByOne{turn: make(chan struct{}, 1)}
		ironic.takes.Store(int64(150 * time.Millisecond))
		answers, done := crowd(ctx, 32, p, ironic)
		poll := func() time.Duration {
			begun := time.Now()
			for range 4 {
				at := time.Now()
				ironic.answer()
				p.measured(at, time.Since(at), true)
			}
			return time.Since(begun)
		}
		first := poll()
		for range 10 {
			poll()
		}
		was, begun := answers.Load(), time.Now()
		later := poll()
		for range 9 {
			poll()
		}
		rate := float64(answers.Load()-was) / time.Since(begun).Seconds()
		if first < 15*time.Second || later > 5*time.Second || p.places() != leastConns {
			t.Errorf("a poll took %v, and then %v with %d places", first, later, p.places())
		}
		if rate < 5 { // of 6.7 that Ironic answers in all, polls included
			t.Errorf("the workers get %.1f answers a second", rate)
		}
		ironic.takes.Store(int64(time.Millisecond))
		for range 30 {
			poll()
		}
		if p.places() != 48 {
			t.Errorf("%d places at a quick Ironic", p.places())
		}
		cancel()
		for range 32 {
			<-done
		}
		if !p.TryAcquire(48) {
			t.Error("a place is lost")
		}
	})
}

// TestPlacesAreNeverLost holds for any order of what happens: at most as many are taken as
// there may be, but for those that were taken before there were fewer, and all come back.
func TestPlacesAreNeverLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const all = 12
		p, taken, now := newPaced(all), int64(0), time.Unix(0, 0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(10 * time.Second)
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				was := taken
				if p.TryAcquire(1) {
					taken++
				}
				if took := taken > was; took != (was+p.kept < all) {
					t.Fatalf("%d taken and %d held back of %d: took one more: %t", was, p.kept, all, took)
				}
			case 1:
				if taken > 0 {
					p.Release(1)
					taken--
				}
			case 2:
				p.measured(now, slowAnswer, rapid.Bool().Draw(t, "answered"))
			case 3:
				p.measured(now, time.Millisecond, rapid.Bool().Draw(t, "answered"))
			}
			if p.most < leastConns || p.most > all || p.kept > all-p.most {
				t.Fatalf("%d places, %d held back of %d", p.most, p.kept, all)
			}
		}
		for range taken {
			p.Release(1)
		}
		for range all {
			p.measured(now, 0, true)
		}
		if !p.TryAcquire(all) {
			t.Fatalf("not all places came back: %d held back", p.kept)
		}
	})
}

// What was asked for while there were more places says nothing of the fewer.
func TestOneSlowPollTakesPlacesOnce(t *testing.T) {
	p, now := newPaced(48), time.Unix(0, 0)
	for i := range 4 { // side by side
		p.measured(now, 2*time.Second+time.Duration(i)*time.Millisecond, true)
	}
	if p.places() != 36 {
		t.Errorf("%d places after four slow answers at once, want 36", p.places())
	}
	p.measured(now.Add(time.Minute), time.Millisecond, false)
	if p.places() != 36 {
		t.Errorf("%d places after a quick failure, want 36", p.places())
	}
}
