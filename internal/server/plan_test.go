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
}

func (p *planner) wait(ctx context.Context) error {
	select {
	case <-time.After(p.takes):
		return p.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *planner) Plan(ctx context.Context) (api.Plan, error) { return p.plan, p.wait(ctx) }

func (p *planner) Explain(ctx context.Context, namespace, name string) (api.PlanExplanation, bool, error) {
	return api.PlanExplanation{Host: namespace + "/" + name, Summary: "It is."}, name == "host-1", p.wait(ctx)
}

func plans(p *planner) func(*Options) { return func(o *Options) { o.Planner = p } }

var planPaths = []string{"/v1/plan", "/v1/plan/hosts/metal3/host-1"}

// What is being carried out is as it is now, also where the plan is some seconds old.
func TestPlanIsShown(t *testing.T) {
	running := &api.PlanRunning{ID: "abcdef", Hosts: []string{"metal3/host-3"}, Stuck: true}
	s := made(t, seen(), plans(&planner{plan: api.Plan{Blocked: "3 hosts wait"}}), func(o *Options) { o.Running = func() *api.PlanRunning { return running } })
	for path, want := range map[string]string{
		planPaths[0]: `"blocked":"3 hosts wait","running":{"id":"abcdef"`, planPaths[1]: `"conditions":[]`,
	} {
		w := send(t, s.api, "GET", path, "")
		if w.Code != 200 || !strings.Contains(w.Body.String(), want) || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s %s, want %s", path, w.Code, w.Header(), w.Body, want)
		}
	}
	if running = nil; decoded[api.Plan](t, send(t, s.api, "GET", "/v1/plan", "")).Running != nil {
		t.Error("nothing is carried out")
	}
	isError(t, send(t, s.api, "GET", "/v1/plan/hosts/metal3/host-9", ""), 404, api.PlanHostUnknown)
}

func TestWhyThereIsNoPlan(t *testing.T) {
	if planTimeout >= api.PlanTimeout {
		t.Error("the client gives up before the throttle says why")
	}
	for _, path := range planPaths {
		for _, row := range []struct {
			change      func(*Options)
			code        int
			field, want string
		}{
			{func(*Options) {}, 404, api.PlannerOff, plannerOff},
			{plans(&planner{err: errors.New("nodes: for\nbidden")}), 502, "", "there is no plan: nodes: for bidden"},
			{func(o *Options) { plans(&planner{})(o); standby(new(atomic.Bool))(o) }, 503, "", "this throttle does not decide: throttle-0 leads"},
		} {
			if e := isError(t, send(t, made(t, seen(), row.change).api, "GET", path, ""), row.code, row.field); e.Message != row.want {
				t.Errorf("%s: %+v, want %s", path, e, row.want)
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		slow := made(t, seen(), plans(&planner{takes: time.Hour}))
		begun := time.Now()
		e := isError(t, send(t, slow.api, "GET", "/v1/plan", ""), 503, "")
		if took := time.Since(begun); took != planTimeout || !strings.Contains(e.Message, "within 1m") {
			t.Errorf("after %v: %+v", took, e)
		}
		time.AfterFunc(time.Second, slow.end)
		if e := isError(t, send(t, slow.api, "GET", "/v1/plan", ""), 503, ""); !strings.Contains(e.Message, "ending") {
			t.Errorf("%+v", e)
		}
	})
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
		served, listener := s.newHTTP(s.api), make(oneConn, 1)
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
