package fakebmo

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

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

// TestDelayedHostThatWantsNothing asks with op none (LH-38).
func TestDelayedHostThatWantsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, setup{hosts: 1})
		st.answer(func(a api.Ask) bool { return a.Op != api.OpProvision })
		st.run()
		st.until(api.BMHAvailable)
		st.pass(time.Minute)
		if h := st.op.Hosts()[0]; !h.Delayed || h.State != api.BMHAvailable {
			t.Fatalf("%+v", h)
		}
		st.take()
		if err := st.op.SetImage("ns-01~"+hostName(0), false); err != nil {
			t.Fatal(err)
		}
		st.pass(5 * time.Minute)
		log := st.take()
		if diff := cmp.Diff([]string{"ASK none 1"}, spell(log)); diff != "" {
			t.Errorf("asks (-want +got):\n%s", diff)
		}
		if h := st.op.Hosts()[0]; h.Delayed || h.Waiting() {
			t.Errorf("%+v", h)
		}
	})
}

// TestMidwayHostIsAskedAbout: also a host that works, or is done, asks at each
// reconcile; a no delays it although Ironic goes on (docs/dev/reference/bmo.md).
func TestMidwayHostIsAskedAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, setup{hosts: 1})
		st.run()
		st.until(api.BMHProvisioning)
		st.pass(30 * time.Second)
		st.answer(func(api.Ask) bool { return false })
		st.pass(20 * time.Minute)
		h := st.op.Hosts()[0]
		if !h.Delayed || h.State != api.BMHProvisioning {
			t.Errorf("%+v", h)
		}
		if work := st.truth(); work.Working != 0 || work.Finished != 2 {
			t.Errorf("Ironic was not let finish: %+v", work)
		}
		st.answer(func(api.Ask) bool { return true })
		st.until(api.BMHProvisioned)
	})
}

// TestBusy: a 409 to a PUT is no error; the whole pass, ask included, is made
// again after 3 to 3.75 s.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, setup{hosts: 1, change: func(o *Options) { o.Timings.Act = Span{} }})
		st.fault(fakeironic.Fault{Trouble: fakeironic.Status, Requests: "put", Code: 409, Count: 20, Skip: 1}) // not manage
		st.run()
		st.until(api.BMHProvisioning)
		var last time.Duration
		refused := 0
		var pass []string
		for _, r := range st.take() {
			pass = append(pass, r.method+" "+r.what)
			if r.method != "PUT" || r.what != "inspect" {
				continue
			}
			if gap := r.at - last; refused > 0 && (gap < 3*time.Second || gap > 3750*time.Millisecond) {
				t.Errorf("again after %s", gap)
			}
			if refused > 0 {
				want := []string{"ASK inspect", "GET /nodes/ID", "GET /ports?node_uuid=ID", "GET /nodes/ID/firmware", "GET /nodes/ID/inventory", "PUT inspect"}
				if diff := cmp.Diff(want, pass); diff != "" {
					t.Errorf("retry (-want +got):\n%s", diff)
				}
			}
			last, pass = r.at, nil
			if r.status == 409 {
				refused++
			}
		}
		if refused != 20 || st.op.Counts().Busy != 20 || st.op.Hosts()[0].ErrorCount != 0 {
			t.Errorf("%d refusals, %+v, %+v", refused, st.op.Counts(), st.op.Hosts()[0])
		}
	})
}

// TestServerError: a 503 is a reconcile error; the waits double from 5 ms up to
// 1,000 s, so a short outage empties the slots for minutes.
func TestServerError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, setup{hosts: 1, change: func(o *Options) { o.Timings.Act = Span{} }})
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

// TestUnreachable: without Ironic hosts are left alone and looked at again after
// 30 s, without back-off.
func TestUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, setup{hosts: 3, workers: 3})
		st.run()
		st.until(api.BMHProvisioning)
		before := st.op.Hosts()
		st.take()
		st.fault(fakeironic.Fault{Trouble: fakeironic.Refuse, For: 10 * time.Minute})
		st.pass(10*time.Minute - time.Second)
		for i, h := range st.op.Hosts() {
			if h.State != before[i].State || h.ErrorCount != 0 || h.Delayed {
				t.Errorf("%+v", h)
			}
		}
		tries := st.op.Counts().Gone
		if tries < 3*18 || tries > 3*21 {
			t.Errorf("%d tries of 3 hosts in 10 minutes: not every 30 s", tries)
		}
		st.until(api.BMHProvisioned)
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
			h, _ := st.op.Host(key)
			if most = max(most, h.ErrorCount); h.GaveUp {
				break
			}
		}
		h, _ := st.op.Host(key)
		if !h.GaveUp || h.ProvisioningFailCount != 5 || most != 1 || h.Failures() < 2 {
			t.Errorf("after 6 hours: %+v, errorCount was up to %d", h, most)
		}
		other, _ := st.op.Host("ns-01~" + hostName(1))
		if other.State != api.BMHProvisioned || other.ProvisioningFailCount != 2 || other.ErrorCount != 0 {
			t.Errorf("the host that failed twice: %+v", other)
		}
		if err := st.op.SetImage(key, false); err != nil {
			t.Fatal(err)
		}
		st.pass(time.Hour)
		if h, _ = st.op.Host(key); h.State != api.BMHAvailable || h.GaveUp {
			t.Errorf("deprovisioned by its user: %+v", h)
		}
	})
}

// TestFailedInspectionAndClean: a failed inspection counts, waits and tries again; a failed clean needs its
// maintenance ended first.
func TestFailedInspectionAndClean(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, setup{hosts: 1, ironic: func(o *fakeironic.Options) { o.Fates.FailTargets = []string{"inspect", "provide"} }})
		st.befall("ns-01~"+hostName(0), fakeironic.FateFail, 2)
		st.run()
		st.until(api.BMHProvisioned)
		puts := map[string]int{}
		for _, r := range st.take() {
			if r.method != "GET" && r.method != "ASK" {
				puts[r.method+" "+r.what]++
			}
		}
		want := map[string]int{"PUT manage": 1, "PUT inspect": 3, "PUT provide": 1, "PUT active": 1}
		if diff := cmp.Diff(want, puts); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if h := st.op.Hosts()[0]; h.ErrorCount != 0 {
			t.Errorf("%+v", h)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, setup{hosts: 1, ironic: func(o *fakeironic.Options) { o.Fates.FailTargets = []string{"provide"} }})
		st.befall("ns-01~"+hostName(0), fakeironic.FateFail, 1)
		st.run()
		st.until(api.BMHProvisioned)
		puts := map[string]int{}
		for _, r := range st.take() {
			if r.method == "PUT" || r.method == "DELETE" {
				puts[r.method+" "+r.what]++
			}
		}
		want := map[string]int{"PUT manage": 2, "DELETE /nodes/ID/maintenance": 1, "PUT inspect": 1, "PUT provide": 2, "PUT active": 1}
		if diff := cmp.Diff(want, puts); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestRestart: hosts go on from what is written; nothing is lost or done twice
// but what was in flight.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, setup{hosts: 10, workers: 4})
		st.op.Restart() // before Run: nothing
		st.run()
		for range 25 {
			st.pass(17 * time.Second)
			st.op.Restart()
			st.op.Restart()
		}
		st.until(api.BMHProvisioned)
		if got := st.truth(); got.Failed != 0 || got.Finished < 3*10 {
			t.Errorf("%+v", got)
		}
	})
}
