package fakebmo

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// TestLife_order holds the order of requests of one host from its registration
// to its image and back: asks first, then node, ports and firmware, inventory or
// validate, and the PUT last. Looks at a host that works are left out.
func TestLife_order(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, setup{hosts: 1})
		st.run()
		st.until(api.BMHProvisioned)
		if err := st.op.SetImage("ns-01~"+hostName(0), false); err != nil {
			t.Fatal(err)
		}
		st.until(api.BMHAvailable)
		look := []string{"GET /nodes/ID 200", "GET /ports?node_uuid=ID 200", "GET /nodes/ID/firmware 200"}
		phase := func(ask string, rest ...string) []string { return append(append([]string{ask}, look...), rest...) }
		var want []string
		want = append(want, "GET /nodes/ns-01~host-00001 200", "PUT manage 202", "GET /nodes/ns-01~host-00001 200", "ASK inspect 1")
		want = append(want, phase("ASK inspect 1", "GET /nodes/ID/inventory 404", "PUT inspect 202")...)
		want = append(want, phase("ASK inspect 1", "GET /nodes/ID/inventory 200")...) // done, and asked all the same
		want = append(want, "ASK provision 1")
		want = append(want, phase("ASK provision 1", "PUT provide 202")...)
		want = append(want, phase("ASK provision 1", "GET /nodes/ID/validate 200", "PUT active 202")...)
		want = append(want, phase("ASK provision 1")...)
		want = append(want, "ASK deprovision 1")
		want = append(want, phase("ASK deprovision 1", "PUT deleted 202")...)
		want = append(want, phase("ASK deprovision 1")...)
		if diff := cmp.Diff(want, spell(withoutPolls(st.take()))); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	})
}

// withoutPolls leaves out the asks and looks at a host that still works: those
// before which nothing changed and after which the next comes 10 s later.
func withoutPolls(log []request) []request {
	var out []request
	for len(log) > 0 {
		n := 1
		for n < len(log) && log[n].at-log[n-1].at < 5*time.Second {
			n++
		}
		pass := log[:n]
		log = log[n:]
		idle := len(log) > 0 && len(pass) == 4 && pass[0].method == "ASK"
		if !idle {
			out = append(out, pass...)
		}
	}
	return out
}

// TestLife_creates makes a node that Ironic does not know.
func TestLife_creates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, setup{hosts: 1, create: true})
		st.run()
		st.until(api.BMHProvisioned)
		got := spell(st.take())[:3]
		want := []string{"GET /nodes/ns-01~host-00001 404", "POST /nodes 201", "PUT manage 202"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("first requests (-want +got):\n%s", diff)
		}
	})
}

// TestLife_idleGap: a host that is clean early waits for its next look all the
// same, so 10 s and some go by between provide and active (docs/dev/reference/bmo.md).
func TestLife_idleGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, setup{hosts: 3, workers: 3, ironic: func(o *fakeironic.Options) { o.AutomatedClean = false }})
		st.run()
		st.until(api.BMHProvisioned)
		var provide, active []time.Duration
		for _, r := range st.take() {
			switch r.method + " " + r.what {
			case "PUT provide":
				provide = append(provide, r.at)
			case "PUT active":
				active = append(active, r.at)
			}
		}
		if len(provide) != 3 || len(active) != 3 {
			t.Fatalf("provide at %v, active at %v", provide, active)
		}
		most := 10*time.Second + DefaultTimings().Act.Max
		if gap := active[0] - provide[0]; gap < 10*time.Second || gap > most {
			t.Errorf("gap %s, want 10s to %s", gap, most)
		}
		for _, d := range st.op.Waits() {
			if d > most {
				t.Errorf("a wait of %s with room for all", d)
			}
		}
	})
}

// TestDelete: a host that is not provisioned goes with its node; a provisioned
// one is deprovisioned first; a delayed one is not let go (docs/dev/reference/bmo.md).
func TestDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, setup{hosts: 2, workers: 2})
		st.run()
		st.until(api.BMHProvisioned)
		first, second := "ns-01~"+hostName(0), "ns-01~"+hostName(1)
		if err := st.op.Delete(first); err != nil {
			t.Fatal(err)
		}
		st.pass(time.Hour)
		if _, there := st.op.Host(first); there {
			t.Error("a deleted host is there after an hour")
		}
		st.answer(func(api.Ask) bool { return false })
		if err := st.op.Delete(second); err != nil {
			t.Fatal(err)
		}
		st.pass(time.Hour)
		if h, there := st.op.Host(second); !there || !h.Delayed {
			t.Errorf("a host that nobody lets through: %+v, there %t", h, there)
		}
		st.answer(func(api.Ask) bool { return true })
		st.pass(time.Hour)
		if hosts := st.op.Hosts(); len(hosts) != 0 {
			t.Errorf("left over: %+v", hosts)
		}
		st.ironic.With(func(_ time.Time, w *fakeironic.World) {
			if left := w.Idents(); len(left) != 0 {
				t.Errorf("nodes left over: %v", left)
			}
		})
		if err := st.op.Delete(first); err == nil {
			t.Error("a host that is gone can be deleted")
		}
	})
}

// TestActiveNode: a node that has its image is not inspected or deployed again.
func TestActiveNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, setup{hosts: 1, ironic: func(o *fakeironic.Options) { o.Fleet.Start = ironic.Active }})
		st.run()
		st.until(api.BMHProvisioned)
		for _, r := range st.take() {
			if r.method == "PUT" {
				t.Errorf("PUT %s", r.what)
			}
		}
	})
}
