package fakeironic

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// serve returns a server of one node whose clock stands at t0.
func serve(t *testing.T) *Server {
	t.Helper()
	return NewServer(newWorld(t, nil), func() time.Time { return t0 })
}

func get(t *testing.T, s *Server) (status int, body string, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://ironic/v1/nodes", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: s.Transport()}).Do(r)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	return response.StatusCode, string(read), err
}

// TestFaultsOnDemand plays the troubles one after the other; afterwards all is well again.
func TestFaultsOnDemand(t *testing.T) {
	for fault, seen := range map[Fault]func(status int, body string, err error) bool{
		{Trouble: Refuse, Count: 1}:            func(_ int, _ string, err error) bool { return errors.Is(err, errDropped) },
		{Trouble: CutAfter, Count: 1}:          func(_ int, _ string, err error) bool { return errors.Is(err, errDropped) },
		{Trouble: Status, Code: 503, Count: 1}: func(status int, _ string, _ error) bool { return status == 503 },
		{Trouble: Torn, Count: 1, Requests: "list"}: func(status int, body string, err error) bool {
			return status == 200 && err == nil && !json.Valid([]byte(body))
		},
		{Trouble: Half, Count: 1}: func(status int, body string, err error) bool {
			return status == 200 && body != "" && errors.Is(err, io.ErrUnexpectedEOF)
		},
	} {
		t.Run(string(fault.Trouble), func(t *testing.T) {
			server := serve(t)
			if _, err := server.AddFault(fault); err != nil {
				t.Fatal(err)
			}
			if status, body, err := get(t, server); !seen(status, body, err) {
				t.Errorf("%d %q %v", status, body, err)
			}
			if status, body, err := get(t, server); status != 200 || err != nil || !json.Valid([]byte(body)) {
				t.Errorf("afterwards: %d %q %v", status, body, err)
			}
		})
	}
}

func TestAdmin(t *testing.T) {
	server := serve(t)
	admin := server.Admin()
	for _, c := range []struct {
		method, path, body string
		status             int
		answer             string
	}{
		{"POST", "/fake/faults", `{"trouble":"status","code":500,"count":3}`, 200, ""},
		{"POST", "/fake/faults", `{"trouble":"sour"}`, 400, `fault: trouble "sour": want refuse`},
		{"POST", "/fake/faults", `{"trouble":"slow"}`, 400, "delay 0s: want > 0"},
		{"POST", "/fake/faults", `{"trouble":"refuse","for":"soon"}`, 400, `invalid duration "soon"`},
		{"POST", "/fake/faults", `{"trouble":"refuse","delay":"2s","for":"30s"}`, 200, ""},
		{"DELETE", "/fake/faults", "", 200, ""},
		{"GET", "/fake/truth", "", 200, `"working":0`},
	} {
		out := httptest.NewRecorder()
		admin.ServeHTTP(out, httptest.NewRequestWithContext(t.Context(), c.method, c.path, strings.NewReader(c.body)))
		if out.Code != c.status || !strings.Contains(out.Body.String(), c.answer) {
			t.Errorf("%s %s %s: %d %s, want %d %s", c.method, c.path, c.body, out.Code, out.Body, c.status, c.answer)
		}
	}
	if status, _, err := get(t, server); status != 200 || err != nil {
		t.Errorf("after the end of all faults: %d, %v", status, err)
	}
}

// TestOptionsSayWhatIsWrong: each fault names the field, the value and the rule, and all come at once.
func TestOptionsSayWhatIsWrong(t *testing.T) {
	o := DefaultOptions()
	o.Speed, o.Fleet.Nodes, o.Fleet.Start = 0, -1, "asleep"
	o.Fates.Failing, o.Fates.FailTargets = 1.5, []string{"fly"}
	_, err := NewWorld(o, t0)
	if err == nil {
		t.Fatal("taken")
	}
	for _, want := range []string{"speed 0: want > 0", "nodes -1: want", "start-state asleep: want enroll", "failing 1.5: want 0..1",
		"fail-targets fly: want"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
}
