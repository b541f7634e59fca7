package ironic

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Who has failed, or is held, is read while the view wants it: until a poll is
// complete, and not after.
func TestBO16_LH24_AWholePollListsWhoHasFailedOrIsHeld(t *testing.T) {
	w := newWire(row("a", InspectFailed), row("b", CleanFailed), row("c", DeployFailed), row("d", Available),
		row("e", Error), row("f", RescueFailed), row("g", DeployHold), row("h", Servicing))
	w.max = 96
	v := &view{whole: true}
	p := poller(t, client(t, w), v)
	recorded(w, v, func(r *http.Request) (*http.Response, error) {
		if p.Stats().Failed == 0 && r.URL.Query().Get("provision_state") == "clean failed" {
			return nil, errors.New("away")
		}
		return nil, nil
	})
	for range 3 {
		_ = p.PollOnce(t.Context())
	}
	if s := counted(p); s != (PollStats{Complete: 2, Failed: 1, Listed: Listed{Cold: 1, Age: 1}}) || len(v.polls) != 2 {
		t.Fatalf("%+v, %d polls", s, len(v.polls))
	}
	node := func(uuid string, s State) Node { return Node{UUID: uuid, Name: "ns~" + uuid, State: s} }
	want := []Node{
		node("h", Servicing), node("g", DeployHold), node("a", InspectFailed), node("b", CleanFailed), node("c", DeployFailed),
		node("f", RescueFailed), node("e", Error),
	}
	byUUID := cmpopts.SortSlices(func(a, b Node) bool { return a.UUID < b.UUID }) // kinds of work are read side by side
	if diff := cmp.Diff(want, v.polls[0].Nodes, byUUID); diff != "" || !v.polls[0].Whole || v.polls[1].Whole {
		t.Errorf("first poll (-want +got):\n%s", diff)
	}
	if len(v.polls[1].Nodes) > 0 {
		t.Errorf("the second poll shows %v", v.polls[1].Nodes)
	}
}
