//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// crowd is a number of hosts that all want to be inspected, through a gateway.
type crowd struct {
	*lab
	gateway *gateway

	mu      sync.Mutex // guards answers
	answers map[string]int
}

// call sends one request through the gateway. Whatever is no success must be an
// error in Ironic's form.
func (c *crowd) call(ctx context.Context, method, path, body string) (status int, answer string, err error) {
	req, err := http.NewRequestWithContext(ctx, method, c.gateway.url+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("X-OpenStack-Ironic-API-Version", "1.82")
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.ironic.Client().Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 400 && fault(string(text)) == "" {
		err = fmt.Errorf("%s %s: %d, not in Ironic's form: %.300s", method, path, resp.StatusCode, text)
	}
	c.mu.Lock()
	c.answers[fmt.Sprint(method, " ", resp.StatusCode)]++
	c.mu.Unlock()
	return resp.StatusCode, string(text), err
}

// fault is the faultstring of an error in Ironic's form, "" for anything else.
func fault(body string) string {
	var outer struct {
		Message string `json:"error_message"`
	}
	var inner struct {
		Code string `json:"faultcode"`
		Text string `json:"faultstring"`
	}
	if json.Unmarshal([]byte(body), &outer) != nil || json.Unmarshal([]byte(outer.Message), &inner) != nil || inner.Code == "" {
		return ""
	}
	return inner.Text
}

// drive brings one host to the end of an inspection, as BMO would: it looks, asks,
// and tries again whatever the answer is.
func (c *crowd) drive(ctx context.Context, host string) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	last := ""
	for {
		status, body, err := c.call(ctx, http.MethodGet, "/v1/nodes/"+key(host)+"?fields=provision_state,inspection_finished_at", "")
		if err != nil {
			return err
		}
		var n struct {
			State    string  `json:"provision_state"`
			Finished *string `json:"inspection_finished_at"`
		}
		if status == http.StatusOK && json.Unmarshal([]byte(body), &n) != nil {
			return fmt.Errorf("%s: %s", host, body)
		}
		if n.State == "manageable" && n.Finished != nil {
			return nil
		}
		if n.State == "manageable" || n.State == "inspect failed" {
			if _, last, err = c.call(ctx, http.MethodPut, "/v1/nodes/"+key(host)+"/states/provision", inspect); err != nil {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s in %q, last answer %s: %w", host, n.State, last, ctx.Err())
		}
	}
}

// watch counts the busy nodes in the database until ctx ends, and returns the most.
func (c *crowd) watch(ctx context.Context) (peak int) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		peak = max(peak, len(c.query("SELECT uuid FROM nodes WHERE provision_state IN ('inspecting', 'inspect wait') UNION ALL SELECT '';"))-1)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	return peak
}

// until waits until the gateway has given so many more answers of a kind.
func (c *crowd) until(kind string, more int) {
	c.Helper()
	count := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.answers[kind]
	}
	before := count()
	poll(c.T, fmt.Sprintf("%d more of %s", more, kind), func() bool { return count() >= before+more }, func() string {
		c.mu.Lock()
		defer c.mu.Unlock()
		return fmt.Sprint(c.answers)
	})
}

// TestIronicStopped lets a part of Ironic go away, one after the other, while
// hosts start work through the gateway. Everybody gets an error in Ironic's form and
// comes through in the end; the limit holds all the time, and no slot is lost.
func TestIronicStopped(t *testing.T) {
	t.Parallel()
	const hosts = 12
	l := newLab(t, realironic.Options{Settings: map[string]map[string]string{"fake": {"inspect_delay": "3"}}})
	for i := range hosts {
		l.create(fmt.Sprint("host-", i), "")
	}
	g := serveGateway(t, l.ironic, soon...).settled()
	c := &crowd{lab: l, gateway: g, answers: map[string]int{}}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	watching, end := context.WithCancel(ctx)
	var driven, watched sync.WaitGroup
	peak := 0
	watched.Go(func() { peak = c.watch(watching) })
	for i := range hosts {
		driven.Go(func() {
			if err := c.drive(ctx, fmt.Sprint("host-", i)); err != nil {
				t.Error(err)
			}
		})
	}

	c.until("PUT 202", 3)
	l.ironic.StopAPI()
	c.until("GET 502", 5)
	// Hosts without a slot are told to wait, until the view is too old for that.
	last := ""
	poll(t, "502 to a PUT", func() bool {
		status, body, err := c.call(ctx, http.MethodPut, "/v1/nodes/"+key("host-0")+"/states/provision", inspect)
		if err != nil {
			t.Fatal(err)
		}
		last = fmt.Sprint(status, " ", fault(body))
		return strings.HasPrefix(last, "502 ironic-throttle: ")
	}, func() string { return last })
	if err := l.ironic.StartAPI(ctx); err != nil {
		t.Fatal(err)
	}
	c.until("PUT 202", 2)
	l.ironic.KillConductor() // who works, works on, as far as anybody can see
	c.until("GET 200", hosts)
	if err := l.ironic.StartConductor(ctx); err != nil {
		t.Fatal(err)
	}
	driven.Wait()
	end()
	watched.Wait()

	// What became of a PUT that Ironic answers with 500 is not known for a while.
	g.shows(nobody)
	l.ironic.KillConductor()
	status, body, err := c.call(ctx, http.MethodPut, "/v1/nodes/"+key("host-0")+"/states/provision", inspect)
	if err != nil || status != http.StatusInternalServerError || strings.Contains(body, "ironic-throttle") {
		t.Errorf("PUT without a conductor: %d %s, %v; want Ironic's own 500", status, body, err)
	}
	if err := l.ironic.StartConductor(ctx); err != nil {
		t.Fatal(err)
	}

	if peak != 2 {
		t.Errorf("at most %d hosts worked at once, want 2: no more, and no slot idle all the time", peak)
	}
	g.shows(nobody)
	if st := g.awaitStatus("nobody who waits", func(st api.Status) bool { return st.Slots.Total.Waiting == 0 }); st.Slots.Total.Occupied != 0 {
		t.Errorf("slots after all: %+v", st.Slots.Total)
	}
	t.Log(maps.Clone(c.answers), g.status().Totals)
	g.stop()
}
