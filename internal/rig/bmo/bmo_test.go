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

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// request is what went over the wire, and the asks of the capacity rule (ASK).
type request struct {
	at   time.Duration
	text string // method, path without /v1 and with UUIDs left out, or target or op, status; an ask: 1 yes, 0 no
}

// acts is how long the operator takes between a yes and its PUT.
var acts = draw.Span{Min: 500 * time.Millisecond, Max: 4 * time.Second}

// stage is an operator in front of a fake Ironic inside a bubble. Nothing runs before run.
type stage struct {
	*testing.T
	ironic *fakeironic.Server
	op     *Operator
	begin  time.Time

	mu  sync.Mutex
	log []request
	no  bool // the capacity rule
}

func newStage(t *testing.T, hosts int, act draw.Span) *stage {
	t.Helper()
	st := &stage{T: t, begin: time.Now()}
	o := fakeironic.DefaultOptions()
	one := func(d time.Duration) fakeironic.Span { return fakeironic.Span{Min: d, Max: d} }
	o.API.MaxMinor = 96
	o.Durations.Verify, o.Durations.Prepare, o.Durations.Boot = one(2*time.Second), one(10*time.Second), one(2*time.Minute)
	o.Durations.InspectRun, o.Durations.CleanRun, o.Durations.DeployRun = one(time.Minute), one(time.Minute), one(2*time.Minute)
	o.Durations.FinalReboot, o.Durations.TearDown = one(20*time.Second), one(20*time.Second)
	o.Fates.CleanReboot = 0
	o.Fleet.Start, o.Fleet.Nodes = ironic.Enroll, hosts
	world, err := fakeironic.NewWorld(o, st.begin)
	if err != nil {
		t.Fatal(err)
	}
	st.ironic = fakeironic.NewServer(world, time.Now)
	opt := Options{Workers: 2, Ironic: NewClient("http://ironic.test", st), Act: act, Speed: 1, Seed: 1, Capacity: st.capacity}
	for i := range hosts {
		opt.Hosts = append(opt.Hosts, Host{Namespace: "ns-01", Name: fmt.Sprintf("host-%05d", i+1)})
	}
	st.op = New(opt)
	return st
}

var uuid = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)

// RoundTrip lets the fake answer in memory and keeps a log.
func (st *stage) RoundTrip(r *http.Request) (*http.Response, error) {
	if p := r.URL.Path; p == "/v1/" || p == "/v1/drivers" { // before every reconcile, and no part of it
		return st.ironic.Transport().RoundTrip(r)
	}
	what := uuid.ReplaceAllString(strings.TrimPrefix(r.URL.RequestURI(), "/v1"), "ID")
	if r.Method == http.MethodPut {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		what = strings.Trim(strings.TrimPrefix(string(body), `{"target":`), `"}`)
	}
	resp, err := st.ironic.Transport().RoundTrip(r)
	if err == nil {
		st.notef("%s %s %d", r.Method, what, resp.StatusCode)
	}
	return resp, err
}

func (st *stage) capacity(_ context.Context, ask api.Ask) (bool, error) {
	st.mu.Lock()
	no := st.no
	st.mu.Unlock()
	st.notef("ASK %s %d", ask.Op, map[bool]int{false: 1}[no])
	return !no, nil
}

func (st *stage) notef(format string, args ...any) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.log = append(st.log, request{time.Since(st.begin), fmt.Sprintf(format, args...)})
}

// say changes what the rule says from now on, and returns the log so far.
func (st *stage) say(no bool) []request {
	st.mu.Lock()
	defer st.mu.Unlock()
	log := st.log
	st.log, st.no = nil, no
	return log
}

// run starts the operator; it has ended when the bubble's test has.
func (st *stage) run() {
	ctx, cancel := context.WithCancel(st.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = st.op.Run(ctx)
	}()
	st.Cleanup(func() { cancel(); <-done })
}

// until lets time go by until all hosts are in that state.
func (st *stage) until(s api.BMHState) {
	st.Helper()
	for range 24 * 720 {
		there := true
		for _, h := range st.op.Hosts() {
			there = there && h.State == s
		}
		if there {
			return
		}
		<-time.After(5 * time.Second)
	}
	st.Fatalf("after a day not all hosts are %s: %+v", s, st.op.Hosts())
}

// TestOrderOfALife holds the requests of one host from its registration to its image: asks first, then node, ports
// and firmware, inventory or validate, and the PUT last. Looks at a host that works are left out.
func TestOrderOfALife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, 1, acts)
		st.run()
		st.until(api.BMHProvisioned)
		look := []string{"GET /nodes/ID 200", "GET /ports?node_uuid=ID 200", "GET /nodes/ID/firmware 200"}
		want := []string{"GET /nodes/ns-01~host-00001 200", "PUT manage 202", "GET /nodes/ns-01~host-00001 200", "ASK inspect 1"}
		phase := func(ask string, rest ...string) { want = append(append(append(want, ask), look...), rest...) }
		phase("ASK inspect 1", "GET /nodes/ID/inventory 404", "PUT inspect 202")
		phase("ASK inspect 1", "GET /nodes/ID/inventory 200") // done, and asked all the same
		want = append(want, "ASK provision 1")
		phase("ASK provision 1", "PUT provide 202")
		phase("ASK provision 1", "GET /nodes/ID/validate 200", "PUT active 202")
		phase("ASK provision 1")
		if diff := cmp.Diff(want, withoutPolls(st.say(false))); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	})
}

// withoutPolls leaves out the asks and looks at a host that still works: those
// before which nothing changed and after which the next comes 10 s later.
func withoutPolls(log []request) (out []string) {
	for len(log) > 0 {
		n := 1
		for n < len(log) && log[n].at-log[n-1].at < 5*time.Second {
			n++
		}
		idle := n < len(log) && n == 4 && strings.HasPrefix(log[0].text, "ASK")
		for _, r := range log[:n] {
			if !idle {
				out = append(out, r.text)
			}
		}
		log = log[n:]
	}
	return out
}

// TestDenied: a no is answered by 60 to 120 s of silence, no error and no look
// at Ironic; the yes is asked for again before the work starts.
func TestDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, 5, acts)
		st.say(true)
		st.run()
		<-time.After(20 * time.Minute)
		for _, h := range st.op.Hosts() {
			if !h.Delayed || h.State != api.BMHRegistering || h.ErrorCount != 0 || !h.Waiting() {
				t.Errorf("%+v", h)
			}
		}
		asks := 0
		for _, r := range st.say(false) {
			if r.text == "ASK inspect 0" {
				asks++
			} else if r.at > 30*time.Second {
				t.Errorf("%s of a delayed host at %s", r.text, r.at)
			}
		}
		if asks < 5*10 || asks > 5*20 {
			t.Errorf("%d asks of 5 hosts in 20 minutes: not every 60 to 120 s", asks)
		}
		st.until(api.BMHProvisioned)
	})
}

// TestServerError: a 503 is a reconcile error; the waits double from 5 ms up to
// 1,000 s, so a short outage empties the slots for minutes.
func TestServerError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, 1, draw.Span{})
		st.ironic.With(func(now time.Time, w *fakeironic.World) {
			_ = w.SetState(now, "ns-01~host-00001", ironic.Manageable, false)
		})
		id, err := st.ironic.AddFault(fakeironic.Fault{Trouble: fakeironic.Status, Requests: "put", Code: 503})
		if err != nil {
			t.Fatal(err)
		}
		st.run()
		<-time.After(2 * time.Hour)
		n, last := 0, time.Duration(0)
		for _, r := range st.say(false) {
			if r.text != "PUT inspect 503" {
				continue
			}
			if want := min(5*time.Millisecond<<n, 2000*time.Second) / 2; n > 0 && r.at-last != want {
				t.Errorf("wait %d: %s, want %s", n, r.at-last, want)
			}
			n, last = n+1, r.at
		}
		if n < 20 {
			t.Errorf("%d PUTs", n)
		}
		st.ironic.ClearFault(id)
		st.until(api.BMHProvisioned)
	})
}

// TestFailingHost: errorCount goes 0, 1, 0; provisioningFailCount goes up to the
// most and stays; the host is deprovisioned and tried again by itself.
func TestFailingHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, 2, acts)
		st.ironic.With(func(now time.Time, w *fakeironic.World) {
			for i := range 99 {
				if err := w.Befall(now, "ns-01~host-00001", fakeironic.FateFail); err != nil {
					t.Fatal(err)
				}
				if i < 2 {
					_ = w.Befall(now, "ns-01~host-00002", fakeironic.FateFail)
				}
			}
		})
		st.run()
		<-time.After(6 * time.Hour)
		if h := st.op.Hosts()[0]; !h.GaveUp || h.ProvisioningFailCount != 5 || h.ErrorCount != 1 {
			t.Errorf("after 6 hours: %+v", h)
		}
		if h := st.op.Hosts()[1]; h.State != api.BMHProvisioned || h.ProvisioningFailCount != 2 || h.ErrorCount != 0 {
			t.Errorf("the host that failed twice: %+v", h)
		}
	})
}
