package bmo

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// TestDenied: a no is answered by 60 to 120 s of silence, no error and no look
// at Ironic; the yes is asked for again before the work starts.
func TestDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, setup{hosts: 5, workers: 2})
		st.answer(func(api.Ask) bool { return false })
		st.run()
		st.pass(20 * time.Minute)
		for _, h := range st.op.Hosts() {
			if !h.Delayed || h.State != api.BMHRegistering || h.ErrorCount != 0 || !h.Waiting() {
				t.Errorf("%+v", h)
			}
		}
		asks := 0
		for i, r := range st.take() {
			if r.method != "ASK" {
				if r.at > 30*time.Second {
					t.Errorf("request %d of a delayed host: %s %s at %s", i, r.method, r.what, r.at)
				}
				continue
			}
			if asks++; r.state != api.BMHRegistering || r.what != "inspect" {
				t.Errorf("asked for %s in state %s", r.what, r.state)
			}
		}
		if asks < 5*10 || asks > 5*20 {
			t.Errorf("%d asks of 5 hosts in 20 minutes: not every 60 to 120 s", asks)
		}
		st.answer(func(api.Ask) bool { return true })
		st.pass(2*time.Minute + 20*time.Second)
		inspects := 0
		for _, r := range st.take() {
			if r.method == "PUT" && r.what == "inspect" {
				inspects++
			}
		}
		if inspects != 5 {
			t.Errorf("%d of 5 started within 2 minutes of the yes", inspects)
		}
		st.until(api.BMHProvisioned)
	})
}

// TestServerError: a 503 is a reconcile error; the waits double from 5 ms up to
// 1,000 s, so a short outage empties the slots for minutes.
func TestServerError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, setup{hosts: 1, change: func(o *Options) { o.Timings.Act = draw.Span{} }})
		id := st.fault(fakeironic.Fault{Trouble: fakeironic.Status, Requests: "put", Code: 503, Skip: 1}) // not manage
		st.run()
		st.pass(2 * time.Hour)
		var puts []time.Duration
		for _, r := range st.take() {
			if r.method == "PUT" {
				puts = append(puts, r.at)
			}
		}
		puts = puts[1:] // manage
		for i := 1; i < len(puts); i++ {
			want := min(5*time.Millisecond<<(i-1), 1000*time.Second)
			if gap := puts[i] - puts[i-1]; gap != want {
				t.Errorf("wait %d: %s, want %s", i, gap, want)
			}
		}
		if gap := puts[len(puts)-1] - puts[len(puts)-2]; gap != 1000*time.Second {
			t.Errorf("the last wait is %s, want the ceiling", gap)
		}
		st.ironic.ClearFault(id)
		st.until(api.BMHProvisioned)
		if h := st.op.Hosts()[0]; h.ErrorCount != 0 {
			t.Errorf("an HTTP error counts as a host's: %+v", h)
		}
	})
}

// TestFailingHost: errorCount goes 0, 1, 0; provisioningFailCount goes up to the
// most and stays; the host is deprovisioned and tried again by itself.
func TestFailingHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, setup{hosts: 2, workers: 2})
		key := "ns-01~" + hostName(0)
		st.befall(key, fakeironic.FateFail, 99)
		st.befall("ns-01~"+hostName(1), fakeironic.FateFail, 2)
		st.run()
		most := 0
		for range 6 * 3600 {
			st.pass(time.Second)
			h := st.op.Hosts()[0]
			if most = max(most, h.ErrorCount); h.GaveUp {
				break
			}
		}
		h := st.op.Hosts()[0]
		if !h.GaveUp || h.ProvisioningFailCount != 5 || most != 1 || h.Failures() < 2 {
			t.Errorf("after 6 hours: %+v, errorCount was up to %d", h, most)
		}
		other := st.op.Hosts()[1]
		if other.State != api.BMHProvisioned || other.ProvisioningFailCount != 2 || other.ErrorCount != 0 {
			t.Errorf("the host that failed twice: %+v", other)
		}
		if err := st.op.SetImage(key, false); err != nil {
			t.Fatal(err)
		}
		st.pass(time.Hour)
		if h = st.op.Hosts()[0]; h.State != api.BMHAvailable || h.GaveUp {
			t.Errorf("deprovisioned by its user: %+v", h)
		}
	})
}
