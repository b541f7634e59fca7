package breaker

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// crowd calls f from n goroutines at once and waits for all.
func crowd(n int, f func(i int)) {
	var ready, done sync.WaitGroup
	gun := make(chan struct{})
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			<-gun
			f(i)
		})
	}
	ready.Wait()
	close(gun)
	done.Wait()
}

func TestCB9_AThousandAsksAtOnce(t *testing.T) {
	s := opened(t, nil)
	s.Trip(start, ironic, recovery)
	var allowed, wrong atomic.Int32
	crowd(1000, func(i int) {
		scopes := []Scope{rack, ironic}
		if i%2 == 0 {
			scopes[0], scopes[1] = ironic, rack
		}
		_, err := s.Ask(bg, at(recovery), scopes...)
		var e *CircuitBreakerError
		switch {
		case err == nil:
			allowed.Add(1)
		case !errors.As(err, &e) || e.State != HalfOpen || e.TimeToWait <= 0:
			wrong.Add(1)
		}
	})
	if allowed.Load() != 2 || wrong.Load() != 0 {
		t.Errorf("%d allowed, %d refused wrongly, want 2, 0", allowed.Load(), wrong.Load())
	}
	for _, scope := range []Scope{rack, ironic} {
		if st := in(t, s, at(recovery), scope, HalfOpen); st.Probes != 2 || st.ConcurrentInstances != 2 {
			t.Errorf("%+v", st)
		}
	}
}

// TestCB14_TheSamePermitFromTwoSides: one settles it.
func TestCB14_TheSamePermitFromTwoSides(t *testing.T) {
	s := with(t, nil)
	for round := range 6000 {
		scopes := [][]Scope{{rack}, {rack, ironic}, {}}[round%3]
		p := yes(t, s, start, scopes...)
		var ready, first atomic.Int32
		meet := func() { // waits without sleep, so that both go on in the same moment
			for ready.Add(1); ready.Load() < 2; {
				runtime.Gosched()
			}
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			meet()
			if p.Cancel(start) == nil {
				first.Add(1)
			}
		}()
		meet()
		if p.Succeed(start, Work{}) == nil {
			first.Add(1)
		}
		<-done
		if n := first.Load(); n != 1 {
			t.Fatalf("%d ends of one permit", n)
		}
	}
	for _, st := range s.All(start) {
		if st.ConcurrentInstances != 0 {
			t.Errorf("%+v", st)
		}
	}
}

// TestEverythingAtOnce: nothing deadlocks, races or leaks a place, while scopes are
// made, cleaned away and made again.
func TestEverythingAtOnce(t *testing.T) {
	s := with(t, func(c *Config) {
		ratio(c)
		c.FailureThreshold = 50
		c.MaxConcurrent = 20
		c.RecoveryTimeout = time.Hour
	})
	var tick atomic.Int64
	crowd(16, func(i int) {
		for j := range 300 {
			now := at(time.Duration(tick.Add(1)) * time.Minute)
			a, b := Scope{"s", fmt.Sprint((i + j) % 7)}, Scope{"s", fmt.Sprint(i * j % 5)}
			p, err := s.Ask(bg, now, a, b, Scope{"own", fmt.Sprint(i, j)})
			w := Work{Host: fmt.Sprint(i), Kind: fmt.Sprint(j % 3)}
			switch {
			case err != nil:
				s.RecordForeign(now, w, err, b, a)
			case j%3 == 0:
				err = p.Fail(now, w, errBoom)
			case j%3 == 1:
				err = p.Succeed(now, w)
			default:
				err = p.Cancel(now)
			}
			if errors.Is(err, ErrSettled) {
				t.Error(err)
			}
			switch j % 10 {
			case 0:
				s.Clean(now)
			case 1:
				s.All(now)
			case 2:
				s.Reset(now, a)
			case 3:
				s.Trip(now, b, time.Minute)
			case 4:
				s.Events()
			case 5:
				_ = s.Check(now, b, a)
			}
		}
	})
	end := at(time.Duration(tick.Load())*time.Minute + 1000*time.Hour)
	for _, st := range s.All(end) {
		if st.ConcurrentInstances != 0 || st.Probes != 0 {
			t.Errorf("%+v", st)
		}
		s.Reset(end, st.Scope)
	}
	s.Clean(end.Add(3 * time.Hour))
	if all := s.All(end); len(all) != 0 {
		t.Errorf("%d scopes are left", len(all))
	}
}

// TestNobodyUsesAScopeThatIsGone: an ask that found it just before Clean took it away
// looks again, alone and with others.
func TestNobodyUsesAScopeThatIsGone(t *testing.T) {
	for _, scopes := range [][]Scope{{rack}, {ironic, rack}} {
		s := with(t, nil)
		for range 3 { // so that it is found without a lock
			settled(t, yes(t, s, start, scopes...).Cancel(start))
		}
		found := s.index.quick(rack)
		if found == nil {
			t.Fatal("the scope is not found without a lock")
		}
		found.gone = true // the middle of Clean
		delete(s.index.circuits, rack)
		p := yes(t, s, start, scopes...)
		for st := p.stakes(); st != nil; st = st.next {
			if st.circuit == found {
				t.Error("the permit is of a scope that is gone")
			}
		}
		if n := s.Status(start, rack).ConcurrentInstances; n != 1 {
			t.Errorf("%d running, want 1", n)
		}
	}
}

// TestCleanLooksTwice: what was idle when it looked and is used since stays, what is
// idle still is let go for good.
func TestCleanLooksTwice(t *testing.T) {
	s := with(t, nil)
	for range 3 {
		settled(t, yes(t, s, start, rack, ironic).Cancel(start))
	}
	idle := s.index.all()
	p := yes(t, s, at(3*time.Hour), rack)
	s.index.remove(at(3*time.Hour), idle)
	if s.index.quick(rack) != p.first.circuit || s.index.quick(ironic) != nil {
		t.Error("the scope in use is gone, or the idle one is not")
	}
	s.index.remove(at(3*time.Hour), idle) // by another Clean at the same time
	if all := s.All(at(3 * time.Hour)); len(all) != 1 || all[0].ConcurrentInstances != 1 {
		t.Errorf("%+v", all)
	}
}

// TestAScopeWaitsForNoOther: a decision holds the lock of its own scopes only.
func TestAScopeWaitsForNoOther(t *testing.T) {
	s := with(t, nil)
	yes(t, s, start, rack, ironic)
	_ = s.Status(start, ironic) // as often as needed to be found without a lock
	held := s.index.quick(rack)
	if held == nil {
		held = s.index.sure(rack, nil)
	}
	held.mu.Lock()
	defer held.mu.Unlock()
	s.index.mu.Lock()
	defer s.index.mu.Unlock()
	done := make(chan error, 1)
	go func() {
		p, err := s.Ask(bg, start, ironic)
		done <- errors.Join(err, p.Succeed(start, Work{}), s.Check(start, ironic))
	}()
	select {
	case err := <-done:
		settled(t, err)
	case <-time.After(10 * time.Second):
		t.Fatal("an ask of ironic waits while rack1 is decided")
	}
}

// TestCB27_MemoryIsBounded by a million failures, and by as many hosts, kinds and
// causes as there are failures.
func TestCB27_MemoryIsBounded(t *testing.T) {
	for _, tt := range []struct {
		n     int
		every int // a success after so many failures, lest it opens and counts no more
		work  func(i int) (Work, error)
	}{
		{1_000_000, 500, func(int) (Work, error) { return Work{}, errBoom }},
		{10_000, 500, func(i int) (Work, error) { return Work{Host: fmt.Sprint("host", i)}, fmt.Errorf("%1000d", i) }},
		{10_000, 1, func(i int) (Work, error) { return Work{Kind: fmt.Sprint("kind", i)}, fmt.Errorf("cause %d", i) }},
	} {
		t.Run(fmt.Sprint(tt.n, tt.every), func(t *testing.T) {
			s := with(t, func(c *Config) {
				c.FailureThreshold, c.FailureWindow = maxThreshold, maxDuration
				c.RatioPercent, c.RatioMinimum = 100, maxOutcomes
			})
			before := heap()
			for i := range tt.n {
				now := at(time.Duration(i))
				w, err := tt.work(i)
				s.RecordForeign(now, w, err, rack)
				if i%tt.every == 0 {
					s.RecordSuccess(now, w, rack)
				}
			}
			in(t, s, at(time.Duration(tt.n)), rack, Closed)
			if grown := heap() - before; grown > 2<<20 {
				t.Errorf("%d KiB more after %d failures", grown>>10, tt.n)
			}
			runtime.KeepAlive(s)
		})
	}
}

// heap is what is alive, in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestQuietScopesCostLittle: what they need grows with what they see.
func TestQuietScopesCostLittle(t *testing.T) {
	s, scopes := many(t, 1000)
	before := heap()
	for _, scope := range scopes {
		settled(t, yes(t, s, start, scope).Succeed(start, Work{Kind: "deploy"}))
	}
	if per := (heap() - before) / 1000; per > 1024 {
		t.Errorf("%d bytes for a scope with one outcome", per)
	}
	runtime.KeepAlive(s)
}

func TestEventsAreBoundedAndInOrder(t *testing.T) {
	s := with(t, nil)
	for i := range maxEvents { // two events each
		s.Trip(at(time.Duration(i)), Scope{"s", fmt.Sprint(i)}, 0)
		s.Reset(at(time.Duration(i)), Scope{"s", fmt.Sprint(i)})
	}
	events := s.Events()
	if len(events) != maxEvents {
		t.Fatalf("%d events", len(events))
	}
	for i, e := range events {
		from := maxEvents/2 + i/2
		want := Event{Scope: Scope{"s", fmt.Sprint(from)}, From: Closed, To: Open, At: at(time.Duration(from)), ByHand: true}
		if i%2 == 1 {
			want.From, want.To = Open, Closed
		}
		if diff := cmp.Diff(want, e); diff != "" {
			t.Fatal(diff)
		}
	}
	if s.Events() != nil {
		t.Error("events come twice")
	}
}

func TestAllIsSortedByText(t *testing.T) {
	s := with(t, nil)
	s.Take(start, Scope{"b", ""}, Scope{"a", "z"}, Scope{"a:", ""}, Scope{"a", ""}, rack)
	var texts []string
	for _, st := range s.All(start) {
		texts = append(texts, st.Scope.String())
	}
	if diff := cmp.Diff([]string{"a", "a%3A", "a:z", "b", "group:rack1"}, texts); diff != "" {
		t.Error(diff)
	}
}
