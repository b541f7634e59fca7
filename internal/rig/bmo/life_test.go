package bmo

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
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
