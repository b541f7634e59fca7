package fakeironic

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func serveAdmin(t *testing.T, admin http.Handler, method, path, body string) (int, string) {
	t.Helper()
	out := httptest.NewRecorder()
	admin.ServeHTTP(out, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
	return out.Code, out.Body.String()
}

// TestOptionsSayWhatIsWrong: each fault names the field, the value and the rule,
// and all come at once.
func TestOptionsSayWhatIsWrong(t *testing.T) {
	o := DefaultOptions()
	o.Speed, o.Fleet.Nodes, o.Fleet.Start = 0, -1, "asleep"
	o.API.Username, o.Fates.Flap, o.Fates.FailTargets = "admin", 1.5, []string{"fly"}
	o.Durations.Boot = Span{Min: time.Minute, Max: time.Second}
	_, err := NewWorld(o, t0)
	if err == nil {
		t.Fatal("taken")
	}
	for _, want := range []string{"speed 0: want > 0", "nodes -1: want", `start-state "asleep": want enroll`, `username "admin": want`,
		"flap 1.5: want 0..1", `fail-targets "fly": want`, "boot 1m0s-1s: want 0 <= minimum <= maximum"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
}

func TestFlags(t *testing.T) {
	o := DefaultOptions()
	fs := pflag.NewFlagSet("fake-ironic", pflag.ContinueOnError)
	o.Flags(fs)
	if err := fs.Parse([]string{"--nodes=5", "--speed=60", "--boot=1m-2m", "--heartbeat=10s", "--start-state=manageable",
		"--conductor-groups=a,b", "--failing=0.5", "--boot-capacity=20", "--limit=20", "--hang=0.1"}); err != nil {
		t.Fatal(err)
	}
	want := DefaultOptions()
	want.Fleet.Nodes, want.Speed, want.Fleet.Start, want.Limit = 5, 60, ironic.Manageable, 20
	want.Durations.Boot, want.Durations.Heartbeat = Span{Min: time.Minute, Max: 2 * time.Minute}, Span{Min: 10 * time.Second, Max: 10 * time.Second}
	want.Fleet.ConductorGroups, want.Fates.Failing, want.Fates.Hang, want.Overload.BootCapacity = []string{"a", "b"}, 0.5, 0.1, 20
	if diff := cmp.Diff(want, o); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, bad := range []string{"soon", "1m-soon", "2m-1m", "-1s"} {
		if err := fs.Set("boot", bad); err == nil {
			t.Errorf("boot %s: taken", bad)
		}
	}
}

func TestFleet(t *testing.T) {
	o := DefaultOptions()
	o.Fleet = Fleet{Nodes: 200, Namespaces: 4, Start: ironic.Manageable, Unnamed: 0.1, VirtualMedia: 0.5, ConductorGroups: []string{"Rack1", "rack2"}}
	w, again := newWorld(t, o), newWorld(t, o)
	if diff := cmp.Diff(w.Idents(), again.Idents()); diff != "" {
		t.Error("the same seed gives other UUIDs")
	}
	page, _, _ := w.List(t0, Query{})
	unnamed, media, groups, tenants := 0, 0, map[string]int{}, map[string]bool{}
	for _, n := range page {
		namespace, _, named := strings.Cut(n.Name, "~")
		if named {
			tenants[namespace] = true
		} else {
			unnamed++
		}
		if n.VirtualMedia() {
			media++
		}
		groups[n.ConductorGroup]++
	}
	if len(page) != 200 || len(tenants) != 4 || unnamed < 5 || unnamed > 40 || media < 70 || media > 130 || groups["rack1"] != 100 || groups["rack2"] != 100 {
		t.Errorf("%d nodes, %d tenants, %d unnamed, %d by media, groups %v", len(page), len(tenants), unnamed, media, groups)
	}
}
