package gateway_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// line is the way to Ironic of a history: it keeps requests back, and loses answers.
type line struct {
	next  http.RoundTripper
	queue chan *ordeal // what is to be done to the next request; empty: nothing
	sent  atomic.Int64 // writes that came through
}

// ordeal is what a request goes through.
type ordeal struct {
	method      string
	early, late bool          // it is kept back before, or after, it is carried out
	lost        bool          // it is not carried out now, and has no answer
	there       chan struct{} // closed when it is kept back
	on          chan struct{} // closed when it may go on
}

func (v *line) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		v.sent.Add(1)
	}
	var p *ordeal
	select {
	case p = <-v.queue:
	default:
	}
	if p == nil || p.method != r.Method { // whether its client is let in
		if p != nil {
			v.queue <- p
		}
		return v.next.RoundTrip(r)
	}
	if p.lost {
		return nil, errors.New("connection reset by peer")
	}
	if p.early {
		close(p.there)
		<-p.on
	}
	resp, err := v.next.RoundTrip(r)
	if p.late {
		close(p.there)
		<-p.on
	}
	return resp, err
}

// past is what Ironic has said to a read, and when.
type past struct {
	said  string
	since int
}

// history plays hosts that wait and whatever happens to them. Each moment is counted: a
// client may be told what Ironic says at the floor of a path, or later.
type history struct {
	*lab
	via    *line
	writes []bmoRequest
	moment int
	pasts  map[string][]past
	floor  map[string]int
	nth    int

	onWay []func()          // ends of requests that are kept back
	owed  map[int]func()    // writes whose answer is lost, by their number
	until map[int]time.Time // when they are given up
	late  func()            // a poll whose end is kept back
	hits  *int
}

const waiting = 4 // hosts of a history

func (h *history) name(n int) string { return fmt.Sprintf("ns-01~host-%05d", n+1) }

// note takes down what Ironic says now.
func (h *history) note() {
	h.moment++
	for n := 1; n <= waiting; n++ {
		for _, path := range readsOf(h.uuids[n]) {
			said, was := bodyOf(h.direct(read(path))), h.pasts[path]
			if len(was) == 0 || was[len(was)-1].said != said {
				h.pasts[path] = append(was, past{said, h.moment})
			}
		}
	}
}

// known: nobody is told any more what was so before the moment.
func (h *history) known(uuid string, moment int) {
	for path := range h.pasts {
		if strings.Contains(path, uuid) {
			h.floor[path] = max(h.floor[path], moment)
		}
	}
}

// true reports whether Ironic has said so at the floor or later.
func (h *history) true(path, said string) bool {
	was := h.pasts[path]
	for i, p := range was {
		if p.said == said && (i+1 == len(was) || was[i+1].since > h.floor[path]) {
			return true
		}
	}
	return false
}

// ask reads as a host does that waits.
func (h *history) ask(path string) {
	h.Helper()
	got := h.do(read(path))
	if got.Header().Get(cacheHeader) == "" {
		return
	}
	if *h.hits++; !h.true(path, bodyOf(got)) {
		h.Fatalf("%s: %s\nis not what Ironic has said since %d: %+v", path, bodyOf(got), h.floor[path], h.pasts[path])
	}
}

// written: a write has gone through the gateway since so many had, or it has not, and
// whatever was so of the node before that is known to be over.
func (h *history) written(of string, sent int64) {
	h.note()
	if h.via.sent.Load() > sent && of != "" {
		h.known(of, h.moment)
	}
}

// try is what a host does that waits: it reads, and sends its PUT.
func (h *history) try(uuid string) {
	h.Helper()
	for _, path := range readsOf(uuid) {
		h.ask(path)
	}
	h.do(named(putRequest(uuid, ironic.TargetActive)))
}

// again tries until all that may be kept is.
func (h *history) again(uuid string) {
	h.Helper()
	for range 3 {
		h.try(uuid)
		h.note()
	}
}

// keepBack sends a request that is kept back on its way; then is called when it is over.
func (h *history) keepBack(r *http.Request, p *ordeal, then func()) {
	p.method, p.there, p.on = r.Method, make(chan struct{}), make(chan struct{})
	h.via.queue <- p
	over := make(chan struct{})
	go func() {
		defer close(over)
		h.do(r)
	}()
	select {
	case <-p.there:
		h.onWay = append(h.onWay, func() { close(p.on); <-over; then() })
	case <-over: // it did not go to Ironic
		select {
		case <-h.via.queue:
		default:
		}
		then()
	}
}

// write draws a write of BMO's to one of the hosts, by UUID or by name.
func (h *history) write(t *rapid.T) (anew func() *http.Request, uuid string, of string) {
	q := rapid.SampledFrom(h.writes).Draw(t, "write")
	n := rapid.IntRange(1, waiting).Draw(t, "node")
	uuid = h.uuids[n]
	ident := uuid
	if strings.HasPrefix(q.path, "/v1/nodes/") && rapid.IntRange(0, 4).Draw(t, "by name") == 0 {
		ident = h.name(n)
	}
	if q.method == http.MethodDelete && strings.HasSuffix(q.path, "{node}") && rapid.IntRange(0, 9).Draw(t, "really") > 0 {
		q = h.writes[1]
		ident = uuid
	}
	if q.touches == "node" {
		of = uuid
	}
	h.nth++
	nth := h.nth
	return func() *http.Request { return q.of(ident, fmt.Sprintf("ns-01~new-%05d", nth), nth) }, uuid, of
}

// Whatever happens, an answer from the cache is Ironic's own but for changes that no poll
// has seen and nobody made through the gateway; and it is never from before a write of BMO's
// through the gateway, however long that takes and however it ends.
func TestGW18_AnAnswerIsNeverOlderThanWhatIsKnown(t *testing.T) {
	hits, histories := 0, 0
	defer func() {
		if hits < histories {
			t.Errorf("only %d reads of %d histories were answered from the cache", hits, histories)
		}
	}()
	var writing []bmoRequest
	for _, q := range bmoRequests(t) {
		if !q.reads() {
			writing = append(writing, q)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		histories++
		h := &history{
			writes: writing, pasts: map[string][]past{}, floor: map[string]int{}, hits: &hits,
			owed: map[int]func(){}, until: map[int]time.Time{},
		}
		nodes := rapid.SampledFrom([]int{6, 40}).Draw(t, "nodes")
		h.lab = full(t, labOptions{
			start: day,
			fake: func(o *fakeironic.Options) {
				o.Fleet.Nodes, o.Fleet.Unnamed = nodes, 0
			},
			gate: func(o *gateway.Options) {
				h.via = &line{next: o.Transport, queue: make(chan *ordeal, 1)}
				o.Transport = h.via
			},
		})
		defer h.close()
		for n := 1; n <= waiting; n++ {
			h.refuse(n)
		}
		h.poll()
		h.note()
		defer func() {
			for _, end := range h.onWay {
				end()
			}
		}()
		t.Repeat(map[string]func(*rapid.T){
			"":          func(*rapid.T) { h.note() },
			"try":       func(t *rapid.T) { h.try(h.uuids[rapid.IntRange(1, waiting).Draw(t, "node")]) },
			"try again": func(t *rapid.T) { h.again(h.uuids[rapid.IntRange(1, waiting).Draw(t, "node")]) },
			"write": func(t *rapid.T) {
				write, uuid, of := h.write(t)
				h.again(uuid)
				r := write()
				fault := rapid.SampledFrom([]fakeironic.Trouble{"", "", "", fakeironic.Refuse, fakeironic.CutAfter, fakeironic.Status}).Draw(t, "fault")
				if fault != "" {
					f := fakeironic.Fault{Trouble: fault, Count: 1, Method: r.Method}
					if fault == fakeironic.Status {
						f.Code = rapid.SampledFrom([]int{400, 409, 500, 503}).Draw(t, "status")
					}
					if _, err := h.ironic.AddFault(f); err != nil {
						t.Fatal(err)
					}
				}
				sent := h.via.sent.Load()
				h.do(r)
				h.ironic.ClearFault(0)
				h.written(of, sent)
				h.again(uuid)
			},
			"write that takes long": func(t *rapid.T) {
				if len(h.onWay) > 2 {
					return
				}
				write, uuid, of := h.write(t)
				early := rapid.Bool().Draw(t, "before it is done")
				h.again(uuid)
				sent := h.via.sent.Load()
				h.keepBack(write(), &ordeal{early: early, late: !early}, func() {
					h.written(of, sent)
					h.again(uuid)
				})
				if !early {
					h.written(of, sent)
				}
				h.again(uuid)
			},
			"write whose answer is lost": func(t *rapid.T) {
				write, uuid, of := h.write(t)
				r := write()
				h.via.queue <- &ordeal{method: r.Method, lost: true}
				h.do(r)
				select {
				case <-h.via.queue: // it did not go to Ironic
					return
				default:
				}
				h.nth++
				h.until[h.nth] = h.now().Add(readMaxAge)
				h.owed[h.nth] = func() {
					h.direct(write())
					h.written(of, 0)
					h.again(uuid)
				}
			},
			"read that takes long": func(t *rapid.T) {
				if len(h.onWay) > 2 {
					return
				}
				uuid := h.uuids[rapid.IntRange(1, waiting).Draw(t, "node")]
				path := rapid.SampledFrom(readsOf(uuid)).Draw(t, "path")
				h.keepBack(read(path), &ordeal{late: true}, func() { h.again(uuid) })
			},
			"what took long": func(t *rapid.T) {
				if len(h.onWay) == 0 {
					return
				}
				n := rapid.IntRange(0, len(h.onWay)-1).Draw(t, "which")
				end := h.onWay[n]
				h.onWay = append(h.onWay[:n:n], h.onWay[n+1:]...)
				end()
			},
			"what was lost": func(*rapid.T) {
				for n, carryOut := range h.owed {
					if h.now().Before(h.until[n]) {
						carryOut()
					}
					delete(h.owed, n)
				}
			},
			"change": func(t *rapid.T) {
				uuid := h.uuids[rapid.IntRange(1, waiting).Draw(t, "node")]
				h.again(uuid)
				state := rapid.SampledFrom([]ironic.State{ironic.Available, ironic.Manageable, ironic.Cleaning, ironic.DeployFailed, ironic.Verifying}).Draw(t, "state")
				others := rapid.IntRange(0, 3).Draw(t, "others") == 0 // more than a probe shows
				h.ironic.With(func(now time.Time, w *fakeironic.World) {
					_ = w.SetState(now, uuid, state, false) // or it is gone
					for _, other := range h.uuids[waiting+1:] {
						if others {
							_ = w.SetState(now, other, ironic.Manageable, false)
						}
					}
				})
			},
			"time": func(t *rapid.T) {
				h.pass(time.Duration(rapid.IntRange(1, 4000).Draw(t, "ms")) * time.Millisecond)
			},
			"much time": func(t *rapid.T) {
				h.pass(time.Duration(rapid.IntRange(1, 60).Draw(t, "s")) * time.Second)
			},
			"poll": func(*rapid.T) {
				if h.late != nil {
					h.late()
				}
				h.poll()
				h.known("", h.moment)
				for n := 1; n <= waiting; n++ {
					h.try(h.uuids[n])
				}
			},
			"poll that takes long": func(*rapid.T) {
				if h.late != nil {
					h.late()
				}
				begun := h.moment
				var polls []ironic.Observation
				h.polled = func(o ironic.Observation) { polls = append(polls, o) }
				h.poll()
				h.polled = nil
				h.late = func() {
					h.late = nil
					for _, o := range polls {
						h.gate.Polled(h.now(), o)
						h.known("", begun)
					}
				}
			},
			"end of that poll": func(*rapid.T) {
				if h.late != nil {
					h.late()
				}
			},
		})
	})
}
