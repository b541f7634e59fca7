package server

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// planner is a Planner that says what it is told to say, after a while.
type planner struct {
	plan  api.Plan
	err   error
	takes time.Duration
	asked atomic.Int32
}

func (p *planner) wait(ctx context.Context) error {
	p.asked.Add(1)
	select {
	case <-time.After(p.takes):
		return p.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *planner) Plan(ctx context.Context) (api.Plan, error) { return p.plan, p.wait(ctx) }

func (p *planner) Document(ctx context.Context) ([]byte, error) {
	return []byte(`{"version":1}`), p.wait(ctx)
}

func (p *planner) Explain(ctx context.Context, namespace, name string) (api.PlanExplanation, bool, error) {
	return api.PlanExplanation{Host: namespace + "/" + name, Summary: "It is."}, name == "host-1", p.wait(ctx)
}

func plans(p *planner) func(*Options) { return func(o *Options) { o.Planner = p } }

var planPaths = []string{"/v1/plan", "/v1/plan/state", "/v1/plan/hosts/metal3/host-1"}

func TestPlanIsShown(t *testing.T) {
	s := made(t, seen(), plans(&planner{plan: api.Plan{DryRun: true, Blocked: "3 hosts wait", Hosts: 7}}))
	for path, want := range map[string]string{
		planPaths[0]: `{"madeAt":"0001-01-01T00:00:00Z","executeAfter":"0001-01-01T00:00:00Z","dryRun":true,"blocked":"3 hosts wait","actions":[],"hosts":7,"nodes":0,"pods":0}` + "\n",
		planPaths[1]: `{"version":1}`,
		planPaths[2]: `{"host":"metal3/host-1","candidate":false,"summary":"It is.","conditions":[]}` + "\n",
	} {
		w := send(t, s.API(), "GET", path, "")
		if w.Code != 200 || w.Body.String() != want || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s %q, want %q", path, w.Code, w.Header(), w.Body, want)
		}
	}
	e := isError(t, send(t, s.API(), "GET", "/v1/plan/hosts/metal3/host-9", ""), 404, api.PlanHostUnknown)
	if !strings.Contains(e.Message, `"metal3/host-9"`) {
		t.Errorf("%+v", e)
	}
}

// What is being carried out is as it is now, also where the plan is some seconds old.
func TestWhatIsBeingCarriedOutIsShown(t *testing.T) {
	var now *api.PlanRunning
	s := made(t, seen(), plans(&planner{}), func(o *Options) { o.Running = func() *api.PlanRunning { return now } })
	if w := send(t, s.API(), "GET", "/v1/plan", ""); strings.Contains(w.Body.String(), "running") {
		t.Errorf("nothing is carried out: %s", w.Body)
	}
	now = &api.PlanRunning{ID: "abcdef", Decision: api.PlanRelease, Reason: api.PlanEmpty, Hosts: []string{"metal3/host-3"}, Step: "it begins", WaitsFor: "a turn", Stuck: true}
	want := `"running":{"id":"abcdef","decision":"release","reason":"Empty","hosts":["metal3/host-3"],"step":"it begins","waitsFor":"a turn","since":"0001-01-01T00:00:00Z","stuck":true}`
	if w := send(t, s.API(), "GET", "/v1/plan", ""); !strings.Contains(w.Body.String(), want) {
		t.Errorf("%s, want %s", w.Body, want)
	}
}

func TestAPlannerThatIsOffSaysHowItIsSwitchedOn(t *testing.T) {
	for _, path := range planPaths {
		e := isError(t, send(t, made(t, seen()).API(), "GET", path, ""), 404, api.PlannerOff)
		if e.Message != "the planner is off: set IRONIC_THROTTLE_DISRUPTION=plan" {
			t.Errorf("%s: %+v", path, e)
		}
	}
}

func TestOnlyTheLeaderPlans(t *testing.T) {
	var leads atomic.Bool
	p := &planner{}
	s := made(t, seen(), plans(p), standby(&leads, "throttle-0 leads"))
	for _, path := range planPaths {
		if e := isError(t, send(t, s.API(), "GET", path, ""), 503, ""); e.Reason != api.NotLeading {
			t.Errorf("%s: %+v", path, e)
		}
	}
	if p.asked.Load() != 0 {
		t.Error("a standby has planned")
	}
	leads.Store(true)
	if w := send(t, s.API(), "GET", "/v1/plan", ""); w.Code != 200 {
		t.Errorf("%d of the leader", w.Code)
	}
}

func TestWhyThereIsNoPlan(t *testing.T) {
	for _, path := range planPaths {
		broken := made(t, seen(), plans(&planner{err: errors.New("nodes: for\nbidden")}))
		if e := isError(t, send(t, broken.API(), "GET", path, ""), 502, ""); e.Message != "there is no plan: nodes: for bidden" {
			t.Errorf("%s: %+v", path, e)
		}
		synctest.Test(t, func(t *testing.T) {
			slow := made(t, seen(), plans(&planner{takes: time.Hour}))
			begun := time.Now()
			e := isError(t, send(t, slow.API(), "GET", path, ""), 503, "")
			if took := time.Since(begun); took != planTimeout || !strings.Contains(e.Message, "within 1m0s") {
				t.Errorf("%s after %v: %+v", path, took, e)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				if e := isError(t, send(t, slow.API(), "GET", path, ""), 503, ""); !strings.Contains(e.Message, "ending") {
					t.Errorf("%s: %+v", path, e)
				}
			}()
			synctest.Wait()
			slow.end()
			<-ended
		})
	}
	if planTimeout >= api.PlanTimeout {
		t.Error("the client gives up before the throttle says why")
	}
}

// oneConn is a listener with one connection.
type oneConn chan net.Conn

func (l oneConn) Accept() (net.Conn, error) {
	if c, ok := <-l; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (l oneConn) Close() error   { close(l); return nil }
func (l oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// A plan may take longer than any other answer: the deadlines of the connection move.
func TestASlowPlanArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := made(t, seen(), plans(&planner{takes: planTimeout - time.Second}))
		served, listener := s.newHTTP(s.API()), make(oneConn, 1)
		here, there := net.Pipe()
		listener <- here
		go func() { _ = served.Serve(listener) }()
		go func() { _, _ = there.Write([]byte("GET /v1/plan HTTP/1.1\r\nHost: throttle\r\n\r\n")) }()
		resp, err := http.ReadResponse(bufio.NewReader(there), nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(resp.Body); resp.StatusCode != 200 || err != nil {
			t.Errorf("%d %s, %v", resp.StatusCode, body, err)
		}
		_ = resp.Body.Close()
		_ = served.Close()
		_ = there.Close()
	})
}
