package fakeironic

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func putOn(t *testing.T, server *Server, f Fault) int {
	t.Helper()
	id, err := server.AddFault(f)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func client(server *Server) *http.Client { return &http.Client{Transport: server.Transport()} }

func get(t *testing.T, c *http.Client, url string) (int, string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(headerVersion, "1.81")
	response, err := c.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// TestFaultsOnDemand plays the troubles one after the other; the last line of
// each case is that all is well again.
func TestFaultsOnDemand(t *testing.T) {
	const list = "http://ironic/v1/nodes?fields=uuid"
	for _, c := range []struct {
		name  string
		fault Fault
		seen  func(status int, body string, err error) bool
	}{
		{"refuse", Fault{Trouble: Refuse, Count: 1}, func(_ int, _ string, err error) bool { return errors.Is(err, errDropped) }},
		{"status", Fault{Trouble: Status, Code: 503, Count: 1}, func(status int, _ string, _ error) bool { return status == 503 }},
		{"torn", Fault{Trouble: Torn, Count: 1, Requests: "list"}, func(status int, body string, err error) bool {
			return status == 200 && err == nil && !json.Valid([]byte(body))
		}},
		{"half", Fault{Trouble: Half, Count: 1}, func(status int, body string, err error) bool {
			return status == 200 && body != "" && errors.Is(err, io.ErrUnexpectedEOF)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := serve(t, nil, hostsNamed(ironic.Available, "a", "b"))
			putOn(t, server, c.fault)
			if status, body, err := get(t, client(server), list); !c.seen(status, body, err) {
				t.Errorf("%d %q %v", status, body, err)
			}
			if status, body, err := get(t, client(server), list); status != 200 || err != nil || !json.Valid([]byte(body)) {
				t.Errorf("afterwards: %d %q %v", status, body, err)
			}
		})
	}
}

func TestAdmin(t *testing.T) {
	server := serve(t, nil, hostsNamed(ironic.Available, "a"))
	admin := server.Admin()
	for _, c := range []struct {
		method, path, body string
		status             int
		answer             string
	}{
		{"POST", "/fake/faults", `{"trouble":"status","code":500,"count":3}`, 200, `{"id":1}`},
		{"POST", "/fake/faults", `{"trouble":"sour"}`, 400, `fault: trouble "sour": want refuse`},
		{"POST", "/fake/faults", `{"trouble":"slow"}`, 400, "delay 0s: want > 0"},
		{"POST", "/fake/faults", `{"trouble":"slow","delay":"2s","for":"30s"}`, 200, `{"id":2}`},
		{"DELETE", "/fake/faults", "", 204, ""},
		{"POST", "/fake/nodes/a/lock", "", 204, ""},
		{"POST", "/fake/nodes/a/sulk", "", 400, `fate "sulk": want`},
		{"GET", "/fake/states", "", 200, `{"available":1}`},
	} {
		status, body := serveAdmin(t, admin, c.method, c.path, c.body)
		if status != c.status || !strings.Contains(body, c.answer) {
			t.Errorf("%s %s %s: %d %s, want %d %s", c.method, c.path, c.body, status, body, c.status, c.answer)
		}
	}
}

// serve returns a server whose clock stands at t0.
func serve(t *testing.T, change func(*Options), setup func(stage)) *Server {
	t.Helper()
	w := newWorld(t, fixed(func(o *Options) {
		o.Fleet.Nodes = 0
		if change != nil {
			change(o)
		}
	}))
	if setup != nil {
		setup(stage{t, w})
	}
	return NewServer(w, func() time.Time { return t0 })
}
