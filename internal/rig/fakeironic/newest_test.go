package fakeironic

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// checkRanks holds that the index finds what a walk over all nodes would find.
func checkRanks(t *rapid.T, w *World) {
	t.Helper()
	for _, n := range w.ranked {
		if n.gone {
			t.Fatalf("%s is gone and still in the order", n.uuid)
		}
	}
	for _, desc := range []bool{true, false} {
		for _, limit := range []int{1, 3, len(w.nodes) + 1} {
			q := &Query{Limit: limit, SortKey: "provision_updated_at", Desc: desc}
			want := q.byKey(w.nodes, nil, columns[q.SortKey], w.opt.NullsFirst)
			if got := w.byStamp(q); !slices.Equal(got, want) {
				t.Fatalf("desc %v, limit %d: %d rows, want %d, or another order", desc, limit, len(got), len(want))
			}
		}
	}
}

// Databases differ in where NULL goes; stamps that are equal fall back on the id, in the
// same direction.
func TestNewestFirstOnEveryDatabase(t *testing.T) {
	for _, tt := range []struct {
		name       string
		nullsFirst bool
		desc       bool
		want       []string
	}{
		{"sqlite and MySQL, desc", false, true, []string{"c", "b", "d", "a"}},
		{"sqlite and MySQL, asc", false, false, []string{"a", "d", "b", "c"}},
		{"PostgreSQL, desc", true, true, []string{"d", "a", "c", "b"}},
		{"PostgreSQL, asc", true, false, []string{"b", "c", "a", "d"}},
	} {
		o := DefaultOptions()
		o.Conductors, o.NullsFirst = 1, tt.nullsFirst
		w, err := NewWorld(o, t0)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b", "c", "d"} {
			if _, err := w.CreateNode(t0, NodeSpec{Name: name}); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"c", "b"} {
			if err := w.SetState(t0.Add(time.Second), name, ironic.Active, false); err != nil {
				t.Fatal(err)
			}
		}
		page, _, fault := w.List(t0.Add(time.Second), Query{SortKey: "provision_updated_at", Desc: tt.desc})
		var got []string
		for _, n := range page {
			got = append(got, n.Name)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || fault != "" {
			t.Errorf("%s: %s (-want +got):\n%s", tt.name, fault, diff)
		}
	}
}

// MySQL keeps whole seconds: two changes within one look like one. What the agent's
// last heartbeat says is text.
func TestWholeSeconds(t *testing.T) {
	o := DefaultOptions()
	o.WholeSeconds, o.Conductors = true, 1
	w, err := NewWorld(o, t0)
	if err != nil {
		t.Fatal(err)
	}
	id, err := w.CreateNode(t0, NodeSpec{})
	if err != nil {
		t.Fatal(err)
	}
	at := func(d time.Duration) ironic.Node {
		t.Helper()
		if err := w.SetState(t0.Add(d), id, ironic.CleanWait, true); err != nil {
			t.Fatal(err)
		}
		n, _ := w.Node(t0.Add(d), id)
		return n
	}
	first, same, next := at(1300*time.Millisecond), at(1900*time.Millisecond), at(2100*time.Millisecond)
	if first.ProvisionUpdatedAt != same.ProvisionUpdatedAt || first.ProvisionUpdatedAt == next.ProvisionUpdatedAt {
		t.Errorf("stamps %s, %s, %s", first.ProvisionUpdatedAt, same.ProvisionUpdatedAt, next.ProvisionUpdatedAt)
	}
	stamp, err := time.Parse("2006-01-02T15:04:05-07:00", first.ProvisionUpdatedAt)
	if err != nil || !stamp.Equal(t0.Add(time.Second).Truncate(time.Second)) {
		t.Errorf("stamp %s, %v", first.ProvisionUpdatedAt, err)
	}
	if first.AgentHeartbeat == same.AgentHeartbeat {
		t.Errorf("the heartbeat %s lost its fraction", first.AgentHeartbeat)
	}
}

// A heartbeat in a wait state moves a node to the front, though its state stays; in
// other states it does not (docs/dev/reference/ironic.md).
func TestHeartbeatsMoveTheProbeInWaitStatesOnly(t *testing.T) {
	for state, moves := range map[ironic.State]bool{ironic.CleanWait: true, ironic.DeployWait: true, ironic.Cleaning: false, ironic.Deploying: false} {
		o := DefaultOptions()
		o.Conductors, o.Fleet.Nodes = 1, 2
		w, err := NewWorld(o, t0)
		if err != nil {
			t.Fatal(err)
		}
		beats, last := w.nodes[0], w.nodes[1]
		for i, n := range w.nodes {
			if err := w.SetState(t0.Add(time.Duration(i)*time.Second), n.uuid, state, true); err != nil {
				t.Fatal(err)
			}
		}
		w.Advance(t0.Add(2 * time.Second))
		w.heartbeat(beats)
		page, _, _ := w.List(t0.Add(2*time.Second), Query{SortKey: "provision_updated_at", Desc: true, Limit: 1})
		want := last.uuid
		if moves {
			want = beats.uuid
		}
		if len(page) != 1 || page[0].UUID != want || page[0].State != state {
			t.Errorf("%s: the newest is %+v, want %s", state, page, want)
		}
	}
}
