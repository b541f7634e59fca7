package bmo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// request is what went over the wire, and the asks of the capacity rule (ASK).
type request struct {
	at     time.Duration
	method string
	what   string // path without /v1 and with UUIDs left out, or the op
	status int    // 0 when there was no answer; an ask: 1 yes, 0 no
	state  api.BMHState
}

// stage is an operator in front of a fake Ironic inside a bubble.
type stage struct {
	t      *testing.T
	ironic *fakeironic.Server
	op     *Operator
	begin  time.Time

	mu  sync.Mutex
	log []request
	say func(api.Ask) bool // the capacity rule, unless rule is set
}

type setup struct {
	hosts   int
	workers int
	ironic  func(*fakeironic.Options)
	rule    func(*Client) Capacity
	change  func(*Options)
	create  bool // the nodes are left for the operator to make
}

// newStage must be called inside a bubble. Nothing runs before run.
func newStage(t *testing.T, s setup) *stage {
	t.Helper()
	st := &stage{t: t, begin: time.Now(), say: func(api.Ask) bool { return true }}
	o := fakeironic.DefaultOptions()
	one := func(d time.Duration) fakeironic.Span { return fakeironic.Span{Min: d, Max: d} }
	o.API.MaxMinor = 96
	o.Durations.Verify, o.Durations.Prepare, o.Durations.Boot = one(2*time.Second), one(10*time.Second), one(2*time.Minute)
	o.Durations.InspectRun, o.Durations.CleanRun, o.Durations.DeployRun = one(time.Minute), one(time.Minute), one(2*time.Minute)
	o.Durations.FinalReboot, o.Durations.TearDown = one(20*time.Second), one(20*time.Second)
	o.Fates.CleanReboot = 0
	o.Fleet.Start = ironic.Enroll
	if !s.create {
		o.Fleet.Nodes = s.hosts
	}
	if s.ironic != nil {
		s.ironic(&o)
	}
	world, err := fakeironic.NewWorld(o, st.begin)
	if err != nil {
		t.Fatal(err)
	}
	st.ironic = fakeironic.NewServer(world, time.Now)
	client, err := NewClient("http://ironic.test/v1", st)
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{
		Workers: max(1, s.workers), Ironic: client, Timings: DefaultTimings(), Speed: 1, Seed: 1,
		MaxProvisioningRetries: 5, Capacity: st,
	}
	if s.rule != nil {
		opt.Capacity = s.rule(client)
	}
	for i := range s.hosts {
		opt.Hosts = append(opt.Hosts, Host{Namespace: "ns-01", Name: hostName(i), Provision: true})
	}
	if s.change != nil {
		s.change(&opt)
	}
	if st.op, err = New(opt); err != nil {
		t.Fatal(err)
	}
	return st
}

func hostName(i int) string { return fmt.Sprintf("host-%05d", i+1) }

var uuid = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)

// RoundTrip lets the fake answer in memory and keeps a log.
func (st *stage) RoundTrip(r *http.Request) (*http.Response, error) {
	if p := r.URL.Path; p == "/v1/" || p == "/v1/drivers" { // before every reconcile, and no part of it
		return st.ironic.Transport().RoundTrip(r)
	}
	what := uuid.ReplaceAllString(strings.TrimPrefix(r.URL.RequestURI(), "/v1"), "ID")
	if r.Method == http.MethodPut && r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		what = strings.Trim(strings.TrimPrefix(string(body), `{"target":`), `"}`)
	}
	resp, err := st.ironic.Transport().RoundTrip(r)
	status := 0
	if err == nil {
		status = resp.StatusCode
	}
	st.note(request{method: r.Method, what: what, status: status})
	return resp, err
}

// HasCapacity is the rule of a stage that has none of its own.
func (st *stage) HasCapacity(_ context.Context, ask api.Ask) (bool, error) {
	st.mu.Lock()
	yes := st.say(ask)
	st.mu.Unlock()
	status := 0
	if yes {
		status = 1
	}
	st.note(request{method: "ASK", what: string(ask.Op), status: status, state: ask.BMHState})
	return yes, nil
}

func (st *stage) note(r request) {
	st.mu.Lock()
	defer st.mu.Unlock()
	r.at = time.Since(st.begin)
	st.log = append(st.log, r)
}

// answer changes what the rule says from now on.
func (st *stage) answer(say func(api.Ask) bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.say = say
}

// take returns the log so far and empties it.
func (st *stage) take() []request {
	st.mu.Lock()
	defer st.mu.Unlock()
	log := st.log
	st.log = nil
	return log
}

// run starts the operator; it has ended when the bubble's test has.
func (st *stage) run() {
	ctx, cancel := context.WithCancel(st.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := st.op.Run(ctx); err != nil {
			st.t.Error(err)
		}
	}()
	st.t.Cleanup(func() { cancel(); <-done })
}

// pass lets so much time go by.
func (st *stage) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// until lets time go by until all hosts are in that state.
func (st *stage) until(s api.BMHState) {
	st.t.Helper()
	for range 24 * 720 {
		if there := st.op.Hosts(); all(there, func(h HostStatus) bool { return h.State == s }) {
			return
		}
		st.pass(5 * time.Second)
	}
	st.t.Fatalf("after a day not all hosts are %s: %+v", s, st.op.Hosts())
}

func all(hosts []HostStatus, is func(HostStatus) bool) bool {
	for _, h := range hosts {
		if !is(h) {
			return false
		}
	}
	return true
}

func (st *stage) truth() fakeironic.Truth { return st.ironic.Truth() }

// spell writes a log as one word per request, for comparing.
func spell(log []request) []string {
	var out []string
	for _, r := range log {
		out = append(out, fmt.Sprintf("%s %s %d", r.method, r.what, r.status))
	}
	return out
}

func (st *stage) fault(f fakeironic.Fault) int {
	st.t.Helper()
	id, err := st.ironic.AddFault(f)
	if err != nil {
		st.t.Fatal(err)
	}
	return id
}

// befall lets a fate come over a host so many times.
func (st *stage) befall(key string, fate fakeironic.Fate, times int) {
	st.t.Helper()
	st.ironic.With(func(now time.Time, w *fakeironic.World) {
		for range times {
			if err := w.Befall(now, key, fate); err != nil {
				st.t.Fatal(err)
			}
		}
	})
}
