package child

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Run starts a program that ends with the test at the latest. A test that fails shows the end of its log.
func Run(tb testing.TB, c Command) (*Process, *LogBook) {
	tb.Helper()
	log := &LogBook{}
	c.Log = log
	p, err := Start(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		p.Kill()
		if tb.Failed() {
			tb.Logf("the log of %s %s:\n%s", p.name, strings.Join(c.Args, " "), log.Tail())
		}
	})
	return p, log
}

// Serve is Run for a command of the product that takes --ready-file. It returns when the
// server listens; at is told where.
func Serve(tb testing.TB, c Command, at any) (*Process, *LogBook) {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "ready.json")
	c.Args = append(slices.Clone(c.Args), "--ready-file", file)
	p, log := Run(tb, c)
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	err := WaitReady(ctx, func() error {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return json.Unmarshal(text, at)
	}, p)
	if err != nil {
		tb.Fatalf("start: %v", err)
	}
	return p, log
}

// Throttle is `ironic-throttle serve` as a process of its own.
type Throttle struct {
	*Process
	T      testing.TB
	Log    *LogBook
	At     struct{ API, Health, Metrics, Gateway, Local string } // URLs
	Client *api.Client
}

// ServeThrottle starts a binary of the product with ProductEnvironment and what is added to it.
func ServeThrottle(tb testing.TB, binary string, environment ...string) *Throttle {
	tb.Helper()
	r := &Throttle{T: tb}
	r.Process, r.Log = Serve(tb, Command{Name: binary, Args: []string{"serve"}, Env: ProductEnvironment(environment...)}, &r.At)
	var err error
	if r.Client, err = api.NewClient(r.At.API, api.Options{Timeout: 20 * time.Second}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(r.Client.CloseIdleConnections)
	return r
}

// AwaitStatus looks until done, for some minutes at most, and returns the last look.
func (r *Throttle) AwaitStatus(what string, done func(api.Status) bool) (st api.Status) {
	r.T.Helper()
	Await(r.T, 100*time.Millisecond, 3*time.Minute, what, func() bool {
		var err error
		st, err = r.Client.Status(r.T.Context())
		return err == nil && done(st)
	}, func() string { text, _ := json.Marshal(st); return string(text) + "\n" + r.Log.Tail() })
	return st
}

// Settled waits until the throttle has found all that works in Ironic, and may say yes.
func (r *Throttle) Settled() *Throttle {
	r.T.Helper()
	r.AwaitStatus("settled view", func(st api.Status) bool { return st.View.Settled && st.View.Fresh })
	return r
}

// direct keeps no connections: who is asked may end at any time.
var direct = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// Send sends a request, to Ironic mostly, and returns what came back; code 0 is no answer.
func Send(ctx context.Context, method, url, body string) (code int, answer string) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-OpenStack-Ironic-API-Version", "1.81")
	resp, err := direct.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

// Put sends the work of a node to Ironic, through the gateway.
func (r *Throttle) Put(node, target string) (code int, answer string) {
	return Send(r.T.Context(), http.MethodPut, r.At.Gateway+"/v1/nodes/"+node+"/states/provision", fmt.Sprintf(`{"target":%q}`, target))
}

// Ready reports whether /readyz says so.
func (r *Throttle) Ready() bool {
	code, _ := Send(r.T.Context(), http.MethodGet, r.At.Health+"/readyz", "")
	return code == http.StatusOK
}
