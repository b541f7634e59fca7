package server

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// standby is a change of Options: another one leads until *leads is true.
func standby(leads *atomic.Bool, holder string) func(*Options) {
	return func(o *Options) { o.Leading, o.Standby = leads.Load, func() string { return holder } }
}

func TestAStandbyDecidesAndChangesNothing(t *testing.T) {
	var leads atomic.Bool
	f := eager()
	s := made(t, f, standby(&leads, "throttle-0 leads"))
	var deciding int
	for _, r := range everyRoute {
		w := send(t, s.API(), r.method, r.path, r.body, jsonType...)
		open := send(t, made(t, eager()).API(), r.method, r.path, r.body, jsonType...)
		if r.method != "POST" && r.path != "/v1/isready" {
			if w.Code != open.Code {
				t.Errorf("%s %s: %d, of a leader %d", r.method, r.path, w.Code, open.Code)
			}
			continue
		}
		deciding++
		e := isError(t, w, 503, "")
		if e.Reason != api.NotLeading || !strings.Contains(e.Message, "throttle-0 leads") {
			t.Errorf("%s %s: %+v", r.method, r.path, e)
		}
		if open.Code != 200 {
			t.Errorf("%s %s: %d of a leader", r.method, r.path, open.Code)
		}
	}
	if deciding != 5 || f.asked() != 0 {
		t.Errorf("%d routes decide, asked %d times", deciding, f.asked())
	}
	leads.Store(true)
	if w := send(t, s.API(), "POST", "/v1/isready", goodAsk, jsonType...); w.Code != 200 {
		t.Errorf("%d after it became the leader", w.Code)
	}
}

// A standby has no view of Ironic, so an ask must not wait for one.
func TestAStandbyAnswersAtOnce(t *testing.T) {
	f := unseen()
	s := made(t, f, standby(new(atomic.Bool), "no replica leads yet"))
	e := isError(t, send(t, s.API(), "POST", "/v1/isready", goodAsk, jsonType...), 503, "")
	if e.Reason != api.NotLeading || !strings.Contains(e.Message, "no replica leads yet") {
		t.Errorf("%+v", e)
	}
}

func TestAStandbyThatCouldNotLeadIsNotReadyAndSaysWhoIs(t *testing.T) {
	var leads atomic.Bool
	s := made(t, seen(), standby(&leads, "throttle-0 leads"))
	if w := send(t, s.Health(), "GET", "/readyz", ""); w.Code != 503 || w.Body.String() != "standby: throttle-0 leads\n" {
		t.Errorf("%d %q", w.Code, w.Body)
	}
	if w := send(t, s.Health(), "GET", "/healthz", ""); w.Code != 200 {
		t.Errorf("healthz %d", w.Code)
	}
	gauge := func(want string) {
		t.Helper()
		if got := send(t, s.Metrics(), "GET", "/metrics", "").Body.String(); !strings.Contains(got, "\nironic_throttle_leading "+want+"\n") {
			t.Errorf("no ironic_throttle_leading %s", want)
		}
	}
	gauge("0")
	leads.Store(true)
	gauge("1")
	if w := send(t, s.Health(), "GET", "/readyz", ""); w.Code != 200 {
		t.Errorf("%d %q of a leader", w.Code, w.Body)
	}
}

// A standby that could take over is ready, and answers as it does when it is not.
func TestAStandbyThatCouldLeadIsReady(t *testing.T) {
	var leads, could atomic.Bool
	s := made(t, seen(), standby(&leads, "throttle-0 leads"), func(o *Options) { o.CouldLead = could.Load })
	for _, row := range []struct {
		could, leads bool
		code         int
		text         string
	}{
		{false, false, 503, "standby: throttle-0 leads\n"},
		{true, false, 200, "ok, standby: throttle-0 leads\n"},
		{false, true, 200, "ok\n"},
	} {
		could.Store(row.could)
		leads.Store(row.leads)
		if w := send(t, s.Health(), "GET", "/readyz", ""); w.Code != row.code || w.Body.String() != row.text {
			t.Errorf("%d %q, want %d %q", w.Code, w.Body, row.code, row.text)
		}
		want := 503
		if row.leads {
			want = 200
		}
		if w := send(t, s.API(), "POST", "/v1/isready", goodAsk, jsonType...); w.Code != want {
			t.Errorf("asked: %d, want %d", w.Code, want)
		}
	}
	leads.Store(true)
	could.Store(true) // whoever leads is asked for its view
	f := seen()
	f.status = func() api.Status { return api.Status{View: api.View{AgeSeconds: -1}} }
	s = made(t, f, standby(&leads, ""), func(o *Options) { o.CouldLead = could.Load })
	if w := send(t, s.Health(), "GET", "/readyz", ""); w.Code != 503 {
		t.Errorf("%d %q of a leader that sees nothing", w.Code, w.Body)
	}
}

// Mode observe refuses nothing, whoever leads: asks are answered and the Service leads
// here. What changes something is the leader's all the same.
func TestAStandbyThatObservesAnswersAsks(t *testing.T) {
	var leads atomic.Bool
	f := unseen() // it does not poll
	f.answer = api.Answer{Ready: true, Reason: api.ReasonObserve}
	s := made(t, f, standby(&leads, "no replica leads yet"), func(o *Options) { o.Observe = func() bool { return true } })
	for _, r := range everyRoute {
		w := send(t, s.API(), r.method, r.path, r.body, jsonType...)
		if change := r.method == "POST" && r.path != "/v1/isready"; change {
			if e := isError(t, w, 503, ""); e.Reason != api.NotLeading {
				t.Errorf("%s %s: %+v", r.method, r.path, e)
			}
		} else if w.Code == 503 {
			t.Errorf("%s %s: %d", r.method, r.path, w.Code)
		}
	}
	if f.asked() != 1 {
		t.Errorf("asked %d times", f.asked())
	}
	for _, row := range []struct {
		leads bool
		view  api.View
		want  string
	}{
		{false, api.View{AgeSeconds: -1}, "ok, mode observe refuses nothing; standby: no replica leads yet\n"},
		{true, api.View{AgeSeconds: -1}, "ok, mode observe refuses nothing; starting: no complete poll of Ironic yet\n"},
		{true, api.View{Fresh: true}, "ok\n"},
	} {
		leads.Store(row.leads)
		f.status = func() api.Status { return api.Status{View: row.view} }
		if w := send(t, s.Health(), "GET", "/readyz", ""); w.Code != 200 || w.Body.String() != row.want {
			t.Errorf("%d %q, want 200 %q", w.Code, w.Body, row.want)
		}
	}
	leads.Store(false)
	if got := send(t, s.Metrics(), "GET", "/metrics", "").Body.String(); !strings.Contains(got, "\nironic_throttle_leading 0\n") {
		t.Error("the metric says that it leads")
	}
}
