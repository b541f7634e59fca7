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

// Run starts a program, and kills it at the end of the test. If the test has failed, it shows the end of the log.
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

// Serve is Run for a command with --ready-file. It returns when the server listens, and decodes the file into at.
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

// Throttle is a process `ironic-throttle serve`.
type Throttle struct {
	*Process
	T      testing.TB
	Log    *LogBook
	At     struct{ API, Health, Metrics, Gateway, Local string } // URLs
	Client *api.Client
}

// ServeThrottle starts a binary of the product, with ProductEnvironment and environment.
func ServeThrottle(tb testing.TB, binary string, environment ...string) *Throttle {
	tb.Helper()
	r := &Throttle{T: tb}
	c := Command{Name: binary, Args: []string{"serve"}, Env: ProductEnvironment(environment...)}
	r.Process, r.Log = Serve(tb, c, &r.At)
	var err error
	if r.Client, err = api.NewClient(r.At.API, api.Options{Timeout: 20 * time.Second}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(r.Client.CloseIdleConnections)
	return r
}

// AwaitStatus reads the status until done, for three minutes at most, and returns the last one.
func (r *Throttle) AwaitStatus(what string, done func(api.Status) bool) (st api.Status) {
	r.T.Helper()
	Await(r.T, 100*time.Millisecond, 3*time.Minute, what, func() bool {
		var err error
		st, err = r.Client.Status(r.T.Context())
		return err == nil && done(st)
	}, func() string { text, _ := json.Marshal(st); return string(text) + "\n" + r.Log.Tail() })
	return st
}

// Settled waits until the throttle has adopted all nodes at work and may say yes.
func (r *Throttle) Settled() *Throttle {
	r.T.Helper()
	r.AwaitStatus("settled view", func(st api.Status) bool { return st.View.Settled && st.View.Fresh })
	return r
}

// direct keeps no connections, as a server may end at any time.
var direct = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// Send sends a request, mostly to Ironic, and returns the answer; code 0 means that none came.
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

// Put sends a PUT of states/provision through the gateway.
func (r *Throttle) Put(node, target string) (code int, answer string) {
	url := r.At.Gateway + "/v1/nodes/" + node + "/states/provision"
	return Send(r.T.Context(), http.MethodPut, url, fmt.Sprintf(`{"target":%q}`, target))
}

// Ready reports whether /readyz answers 200.
func (r *Throttle) Ready() bool {
	code, _ := Send(r.T.Context(), http.MethodGet, r.At.Health+"/readyz", "")
	return code == http.StatusOK
}
