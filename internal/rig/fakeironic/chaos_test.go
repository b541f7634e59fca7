package fakeironic

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
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

// TestBrokenPUT: cut before nothing is started, cut after the work runs though
// nobody was told.
func TestBrokenPUT(t *testing.T) {
	for trouble, want := range map[Trouble]ironic.State{Refuse: ironic.Available, CutAfter: ironic.Deploying} {
		server := serve(t, nil, hostsNamed(ironic.Available, "a"))
		putOn(t, server, Fault{Trouble: trouble, Requests: "put", Count: 1})
		r, err := http.NewRequestWithContext(t.Context(), "PUT", "http://ironic/v1/nodes/a/states/provision", strings.NewReader(`{"target":"active"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(headerVersion, "latest")
		if _, err := server.Transport().RoundTrip(r); err == nil {
			t.Errorf("%s: answered", trouble)
		}
		server.With(func(now time.Time, w *World) {
			if n, _ := w.Node(now, "a"); n.State != want {
				t.Errorf("%s leaves the node in %s, want %s", trouble, n.State, want)
			}
		})
	}
}

// pass lets a bubble's time pass.
func pass(t *testing.T, d time.Duration) {
	t.Helper()
	if err := wait(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// TestTimeInABubble: slowness, outages and a whole deployment in fake time, with
// no socket and no goroutine of ours.
func TestTimeInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := NewWorld(fixed(func(o *Options) { o.Speed = 2 }), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		server := NewServer(w, time.Now)
		c := client(server)
		id := w.Idents()[0]
		url := "http://ironic/v1/nodes/" + id

		putOn(t, server, Fault{Trouble: Slow, Delay: 5 * time.Second, Count: 2})
		begin := time.Now()
		if _, _, err := get(t, c, url); err != nil || time.Since(begin) != 5*time.Second {
			t.Errorf("slow: %v after %s", err, time.Since(begin))
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(short, "GET", url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := server.Transport().RoundTrip(r); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a client that waits one second: %v", err)
		}

		putOn(t, server, Fault{Trouble: Refuse, For: time.Minute})
		pass(t, 59*time.Second)
		if _, _, err := get(t, c, url); err == nil {
			t.Error("answered in the outage")
		}
		pass(t, time.Second)
		if status, _, body := ask(t, server, "PUT", "/v1/nodes/"+id+"/states/provision", `{"target":"active"}`, 81); status != 202 {
			t.Fatalf("%d %s", status, body)
		}
		begin = time.Now()
		var states []string
		for {
			_, body, err := get(t, c, url)
			if err != nil {
				t.Fatal(err)
			}
			state, _ := object(t, body)["provision_state"].(string)
			if len(states) == 0 || states[len(states)-1] != state {
				states = append(states, state)
			}
			if state == "active" {
				break
			}
			pass(t, time.Second)
		}
		if got := strings.Join(states, ", "); got != "deploying, wait call-back, deploying, active" {
			t.Errorf("saw %s", got)
		}
		if took := time.Since(begin).Round(5 * time.Second); took != 260*time.Second {
			t.Errorf("at speed 2 it took %s", took)
		}
	})
}

// TestOnARealSocket: the same over TCP, with the fake's own handler beside it
// and an end in order.
func TestOnARealSocket(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, fixed(nil))
	server := NewServer(w, time.Now)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, listener) }()
	transport := &http.Transport{}
	c := &http.Client{Transport: transport}
	base := "http://" + listener.Addr().String()

	if status, body, err := get(t, c, base+"/v1/nodes"); status != 200 || err != nil || !strings.Contains(body, base+"/v1/nodes/") {
		t.Errorf("%d %s %v", status, body, err)
	}
	for trouble, wrong := range map[Trouble]func(string, error) bool{
		Refuse: func(_ string, err error) bool { return err != nil },
		Half:   func(body string, err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) && body != "" },
	} {
		id := putOn(t, server, Fault{Trouble: trouble})
		if _, body, err := get(t, c, base+"/v1/nodes"); !wrong(body, err) {
			t.Errorf("%s: %q %v", trouble, body, err)
		}
		if !server.ClearFault(id) {
			t.Errorf("%s was not on", trouble)
		}
	}
	if _, body, err := get(t, c, base+"/fake/truth"); err != nil || !strings.Contains(body, `"working":0`) {
		t.Errorf("truth: %s %v", body, err)
	}
	transport.CloseIdleConnections()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
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
		{"DELETE", "/fake/faults/1", "", 204, ""},
		{"DELETE", "/fake/faults/1", "", 404, ""},
		{"DELETE", "/fake/faults", "", 204, ""},
		{"POST", "/fake/nodes/a/lock", "", 204, ""},
		{"POST", "/fake/nodes/a/sulk", "", 400, `fate "sulk": want`},
		{"GET", "/fake/nodes/a", "", 200, `"Working":false`},
		{"POST", "/fake/limit?n=7", "", 204, ""},
		{"GET", "/fake/truth", "", 200, `"limit":7`},
		{"GET", "/fake/states", "", 200, `{"available":1}`},
		{"POST", "/fake/conductors/0/stop?for=1h", "", 204, ""},
		{"POST", "/fake/conductors/0/stop?for=1h", "", 400, "down already"},
	} {
		status, body := serveAdmin(t, admin, c.method, c.path, c.body)
		if status != c.status || !strings.Contains(body, c.answer) {
			t.Errorf("%s %s %s: %d %s, want %d %s", c.method, c.path, c.body, status, body, c.status, c.answer)
		}
	}
}
