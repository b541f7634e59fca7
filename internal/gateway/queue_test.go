package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// with so many workers of the operator, so many places.
func withPlaces(n int) func(*gateway.Options) {
	return func(o *gateway.Options) { o.Workers = n * workersAPlace }
}

// later is a reply that may not be there yet.
type later struct {
	reply
	took  time.Duration // once it is there
	there chan struct{}
}

// done reports whether it is there.
func (l *later) done() bool {
	select {
	case <-l.there:
		return true
	default:
		return false
	}
}

// ask sends a request of the operator, which waits for its answer.
func (s *stage) ask(r *http.Request) *later {
	r.Header.Set(version, "1.81")
	l, begin := &later{reply: reply{s, httptest.NewRecorder()}, there: make(chan struct{})}, time.Now()
	go func() {
		s.gate.ServeHTTP(l.ResponseRecorder, r)
		l.took = time.Since(begin)
		close(l.there)
	}()
	synctest.Wait()
	return l
}

// over lets the work of the nth node end, and the poller see it.
func (s *stage) over(n int) {
	s.Helper()
	s.ends(n, ironic.Active)
	s.poll()
	<-time.After(queueTick)
	synctest.Wait()
}

func TestGW19_TheNextHostWaitsForASlot(t *testing.T) {
	play(t, options{limit: 1, nodes: 3, gate: withPlaces(1)}, func(s *stage) {
		s.put(0, ironic.TargetActive).want(http.StatusAccepted)
		next := s.ask(putRequest(s.uuids[1], ironic.TargetActive))
		behind := s.ask(putRequest(s.uuids[2], ironic.TargetActive))
		if next.done() || !behind.done() {
			t.Fatalf("the next one is answered: %t, the one behind it: %t", next.done(), behind.done())
		}
		behind.refused(api.ReasonFull)
		s.pass(5 * time.Second)
		if next.done() {
			t.Fatalf("answered although no slot is free: %d %s", next.Code, next.Body)
		}
		s.over(0)
		if !next.done() {
			t.Fatal("a slot is free, and the next one still waits")
		}
		next.want(http.StatusAccepted)
		s.occupied(1)
		if s.state(1) != ironic.Deploying {
			t.Errorf("the node is %s", s.state(1))
		}
		if got := s.gate.Stats(); got.Waiting != 0 || got.Waited != 1 {
			t.Errorf("%d requests wait, %d have waited; want 0 and 1", got.Waiting, got.Waited)
		}
	})
}

func TestGW19_NobodyWaitsForLong(t *testing.T) {
	play(t, options{limit: 1, nodes: 2, gate: withPlaces(1)}, func(s *stage) {
		s.put(0, ironic.TargetActive)
		got := s.ask(putRequest(s.uuids[1], ironic.TargetActive))
		<-time.After(maxQueued)
		synctest.Wait()
		if !got.done() || got.took != maxQueued {
			t.Fatalf("answered: %t, after %s; want after %s", got.done(), got.took, maxQueued)
		}
		got.refused(api.ReasonFull)
		if puts, _ := s.wire.sent(); puts != 1 {
			t.Errorf("%d PUTs reached Ironic, want 1", puts)
		}
	})
}

func TestGW19_WhoIsGoneWaitsNoMore(t *testing.T) {
	play(t, options{limit: 1, nodes: 2, gate: withPlaces(1)}, func(s *stage) {
		s.put(0, ironic.TargetActive)
		r, cancel := canceled(putRequest(s.uuids[1], ironic.TargetActive))
		got := s.ask(r)
		cancel()
		synctest.Wait()
		if n := s.gate.Stats().Waiting; !got.done() || n != 0 {
			t.Fatalf("over: %t, %d wait", got.done(), n)
		}
		s.over(0)
		s.occupied(0)
		if s.state(1) != ironic.Available {
			t.Error("the PUT of a client that was gone was sent")
		}
	})
}

// Those who wait get slots in the order of the queue, whoever came first.
func TestGW19_InTheOrderOfTheQueue(t *testing.T) {
	play(t, options{limit: 1, nodes: 3, gate: withPlaces(2)}, func(s *stage) {
		s.put(0, ironic.TargetActive)
		first, second := s.ask(putRequest(s.uuids[1], ironic.TargetActive)), s.ask(putRequest(s.uuids[2], ironic.TargetActive))
		<-time.After(maxQueued - time.Second)
		s.poll()
		again := s.ask(putRequest(s.uuids[1], ironic.TargetActive)) // no place is left for it
		again.refused(api.ReasonFull)
		<-time.After(time.Second)
		synctest.Wait()
		if !first.done() || !second.done() {
			t.Fatal("they wait for too long")
		}
		s.poll()
		second, first = s.ask(putRequest(s.uuids[2], ironic.TargetActive)), s.ask(putRequest(s.uuids[1], ironic.TargetActive))
		s.over(0)
		if !first.done() || second.done() {
			t.Fatalf("answered: the first %t, the second %t", first.done(), second.done())
		}
		first.want(http.StatusAccepted)
		s.over(1)
		if !second.done() {
			t.Fatal("a slot is free, and the second still waits")
		}
		second.want(http.StatusAccepted)
	})
}

// Whatever else than a free slot is missing is told at once, also to those who wait.
func TestGW19_OnlyAFreeSlotIsWaitedFor(t *testing.T) {
	play(t, options{limit: 1, nodes: 2, gate: withPlaces(1)}, func(s *stage) {
		s.put(0, ironic.TargetActive)
		s.pass(0)
		<-time.After(20 * time.Second)
		got := s.ask(putRequest(s.uuids[1], ironic.TargetActive))
		if got.done() {
			t.Fatalf("it does not wait: %d %s", got.Code, got.Body)
		}
		<-time.After(maxQueued - time.Second) // and nobody polls Ironic
		synctest.Wait()
		if !got.done() {
			t.Fatal("it waits, with a view that is too old")
		}
		got.refused(api.ReasonStale)
	})
}

func TestGW19_WhatIsNeverKept(t *testing.T) {
	for name, row := range map[string]struct {
		gate func(*gateway.Options)
		body string
	}{
		"workers not known": {func(*gateway.Options) {}, ""},
		"few workers":       {func(o *gateway.Options) { o.Workers = workersAPlace - 1 }, ""},
		"a large body":      {withPlaces(1), strings.Repeat("x", smallBody)},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, options{limit: 1, nodes: 2, gate: row.gate}, func(s *stage) {
				s.put(0, ironic.TargetActive)
				r := newRequest(http.MethodPut, "/v1/nodes/"+s.uuids[1]+"/states/provision", `{"configdrive": "`+row.body+`", "target": "active"}`)
				got := s.ask(r)
				if !got.done() {
					t.Fatal("it waits")
				}
				got.refused(api.ReasonFull)
			})
		})
	}
}

// The workers of the operator may be found out later, and be others then.
func TestGW19_WorkersThatAreFoundLater(t *testing.T) {
	playWired(t, options{limit: 1, nodes: 2}, nil, func(w *wired) {
		w.gate.SetWorkers(2*workersAPlace + 1)
		if n := w.gate.Stats().WaitingLimit; n != 2 {
			t.Errorf("%d may wait, want 2", n)
		}
		w.ask(w.putText(0, ironic.TargetActive), http.StatusAccepted, 0)
		waits := w.call(w.putText(1, ironic.TargetActive))
		synctest.Wait()
		if n := w.gate.Stats().Waiting; n != 1 {
			t.Errorf("%d wait, want 1", n)
		}
		w.stop()
		waits.want(http.StatusConflict, 0)
	})
}

// A gateway that ends keeps nobody: who waits is told to come again.
func TestGW19_TheEndKeepsNobody(t *testing.T) {
	playWired(t, options{limit: 1, nodes: 2, gate: withPlaces(1)}, nil, func(w *wired) {
		w.ask(w.putText(0, ironic.TargetActive), http.StatusAccepted, 0)
		waits := w.call(w.putText(1, ironic.TargetActive))
		synctest.Wait()
		if n := w.gate.Stats().Waiting; n != 1 {
			t.Fatalf("%d requests wait, want 1", n)
		}
		begin := time.Now()
		w.stop()
		waits.want(http.StatusConflict, 0)
		<-w.ended
		if took := time.Since(begin); took > time.Second {
			t.Errorf("the end took %v", took)
		}
	})
}
