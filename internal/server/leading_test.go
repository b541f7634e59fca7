package server

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// standby is a change of Options: another one leads until *leads is true.
func standby(leads *atomic.Bool) func(*Options) {
	return func(o *Options) {
		o.Leading, o.Standby = leads.Load, func() string { return "throttle-0 leads" }
	}
}

func observing(o *Options) { o.Observe = func() bool { return true } }

// A standby shows what there is and decides nothing. It has no view of Ironic, so asks do not wait for one. In mode
// observe it answers them: nothing is refused, whichever process answers.
func TestAStandbyDecidesAndChangesNothing(t *testing.T) {
	var leads atomic.Bool
	f := unseen()
	s, observer := made(t, f, standby(&leads)), made(t, f, standby(&leads), observing)
	deciding := 0
	for _, r := range everyRoute {
		w, open := send(t, s.API(), r.method, r.path, r.body, jsonType...), send(t, made(t, seen()).API(), r.method, r.path, r.body, jsonType...)
		observed := send(t, observer.API(), r.method, r.path, r.body, jsonType...).Code
		switch ask := r.path == "/v1/isready"; {
		case r.method == "POST" || ask:
			deciding++
			if e := isError(t, w, 503, ""); e.Reason != api.NotLeading || !strings.Contains(e.Message, "throttle-0 leads") {
				t.Errorf("%s %s: %+v", r.method, r.path, e)
			}
			if open.Code != 200 || (observed == 200) != ask {
				t.Errorf("%s %s: %d of a leader, %d in mode observe", r.method, r.path, open.Code, observed)
			}
		case w.Code != open.Code:
			t.Errorf("%s %s: %d, of a leader %d", r.method, r.path, w.Code, open.Code)
		}
	}
	if deciding != 5 || f.asked() != 1 || len(f.changes) > 0 {
		t.Errorf("%d routes decide, asked %d times, changed %q", deciding, f.asked(), f.changes)
	}
	leads.Store(true)
	close(f.first)
	if w := send(t, s.API(), "POST", "/v1/isready", goodAsk, jsonType...); w.Code != 200 {
		t.Errorf("%d after it became the leader", w.Code)
	}
}

func TestReadyz(t *testing.T) {
	fresh, early := api.View{Fresh: true, AgeSeconds: 3}, api.View{AgeSeconds: -1}
	for _, row := range []struct {
		leads, could, observes bool
		view                   api.View
		code                   int
		want                   string
	}{
		{true, false, false, fresh, 200, "ok\n"},
		{true, false, false, api.View{Fresh: true, AgeSeconds: 9, LastError: "500"}, 200, "ok\n"},
		{true, true, false, early, 503, "starting: no complete poll of Ironic yet\n"},
		{true, false, false, api.View{AgeSeconds: -1, LastError: "refused"}, 503, "starting: no complete poll of Ironic yet: refused\n"},
		{true, false, false, api.View{AgeSeconds: 42.4, LastError: "time-out"}, 503, "stale: the last complete poll of Ironic is 42s old: time-out\n"},
		{false, false, false, fresh, 503, "standby: throttle-0 leads\n"},
		{false, true, false, early, 200, "ok, standby: throttle-0 leads\n"},
		{false, false, true, early, 200, "ok, mode observe refuses nothing; standby: throttle-0 leads\n"},
		{true, false, true, early, 200, "ok, mode observe refuses nothing; starting: no complete poll of Ironic yet\n"},
	} {
		var leads atomic.Bool
		leads.Store(row.leads)
		f := seen()
		f.status.View = row.view
		s := made(t, f, standby(&leads), func(o *Options) {
			o.CouldLead, o.Observe = func() bool { return row.could }, func() bool { return row.observes }
		})
		if w := send(t, s.Health(), "GET", "/readyz", ""); w.Code != row.code || w.Body.String() != row.want {
			t.Errorf("%+v: %d %q", row, w.Code, w.Body)
		}
		if w := send(t, s.Health(), "GET", "/healthz", ""); w.Code != 200 || w.Body.String() != "ok\n" {
			t.Errorf("healthz: %d %q", w.Code, w.Body)
		}
		want := map[bool]string{true: "\nironic_throttle_leading 1\n", false: "\nironic_throttle_leading 0\n"}[row.leads]
		if got := send(t, s.Metrics(), "GET", "/metrics", "").Body.String(); !strings.Contains(got, want) {
			t.Errorf("no %s", want)
		}
	}
}
