package ironic

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The failed are looked for until a first poll is complete, and not after.
func TestBO16_TheFirstCompletePollListsWhoHasFailed(t *testing.T) {
	w := newWire(row("a", InspectFailed), row("b", CleanFailed), row("c", DeployFailed), row("d", Available), row("e", Error))
	v := &view{}
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
	if s := counted(p); s != (PollStats{Complete: 2, Failed: 1, Listed: Listed{Cold: 1, Age: 1}}) || len(v.looks) != 2 {
		t.Fatalf("%+v, %d looks", s, len(v.looks))
	}
	node := func(uuid string, s State) Node { return Node{UUID: uuid, Name: "ns~" + uuid, State: s} }
	want := []Node{node("a", InspectFailed), node("b", CleanFailed), node("c", DeployFailed)}
	if diff := cmp.Diff(want, v.looks[0].Nodes); diff != "" {
		t.Errorf("first look (-want +got):\n%s", diff)
	}
	if len(v.looks[1].Nodes) > 0 {
		t.Errorf("the second look shows %v", v.looks[1].Nodes)
	}
}
