package fakeironic

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
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
