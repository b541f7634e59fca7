//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const inspect = `{"target":"inspect"}`

// crowd is a number of hosts that all want to be inspected, through a gateway.
type crowd struct {
	*site
	url     string // of the gateway, also after a kill
	mu      sync.Mutex
	answers map[string]int // by method and status
}

// call sends one request through the gateway. What is an error must have Ironic's form, unless the gateway is away.
func (c *crowd) call(ctx context.Context, method, path, body string) (code int, answer string, err error) {
	code, answer = child.Send(ctx, method, c.url+path, body)
	var outer struct {
		Message string `json:"error_message"`
	}
	var inner struct {
		Code string `json:"faultcode"`
	}
	if code >= http.StatusBadRequest && (json.Unmarshal([]byte(answer), &outer) != nil || json.Unmarshal([]byte(outer.Message), &inner) != nil || inner.Code == "") {
		err = fmt.Errorf("%s %s: %d, not in Ironic's form: %.300s", method, path, code, answer)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers[fmt.Sprint(method, " ", code)]++
	return code, answer, err
}

// drive brings one host to the end of an inspection, as BMO would: it looks, asks, and tries again whatever the answer is.
func (c *crowd) drive(ctx context.Context, host string) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for last := ""; ; {
		code, body, err := c.call(ctx, http.MethodGet, "/v1/nodes/"+key(host)+"?fields=provision_state,inspection_finished_at", "")
		if err != nil {
			return err
		}
		var n struct {
			State    string  `json:"provision_state"`
			Finished *string `json:"inspection_finished_at"`
		}
		if code == http.StatusOK && json.Unmarshal([]byte(body), &n) != nil {
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

// watch counts the nodes at work in the database until ctx ends, and returns the most.
func (c *crowd) watch(ctx context.Context) (peak int) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		busy := sql(c.T, c.ironic, "SELECT uuid FROM nodes WHERE provision_state IN ('inspecting', 'inspect wait');")
		peak = max(peak, strings.Count(busy, "\n"))
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
	count := func() map[string]int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return maps.Clone(c.answers)
	}
	before := count()[kind]
	await(c.T, fmt.Sprintf("%d more of %s", more, kind), func() bool { return count()[kind] >= before+more }, func() string { return fmt.Sprint(count()) })
}

// TestPartsOfIronicAndTheThrottleEnd lets one after the other go away while hosts start work through the gateway.
// Everybody gets an error in Ironic's form and comes through in the end; the limit holds all the time, and no slot is lost.
func TestPartsOfIronicAndTheThrottleEnd(t *testing.T) {
	t.Parallel()
	const hosts = 14
	s := newSite(t, map[string]string{"inspect_delay": "3"})
	for i := range hosts {
		s.create(fmt.Sprint("host-", i), "")
	}
	ports, err := child.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	at := fmt.Sprintf("%s:%d", child.Loopback, ports[0])
	settings := []string{"MAX_CONCURRENT_PROVISIONING_HOSTS=2", "IRONIC_THROTTLE_LEASE_TTL=30s", "IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS=" + at}
	s.serve(settings...)
	c := &crowd{site: s, url: "http://" + at, answers: map[string]int{}}
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
	s.ironic.StopAPI()
	c.until("GET 502", 5)
	last := ""
	await(t, "502 to a PUT", func() bool { // hosts without a slot are told to wait, until the view is too old for that
		code, body, err := c.call(ctx, http.MethodPut, "/v1/nodes/"+key("host-0")+"/states/provision", inspect)
		if last = body; err != nil {
			t.Fatal(err)
		}
		return code == http.StatusBadGateway
	}, func() string { return last })
	if err := s.ironic.StartAPI(ctx); err != nil {
		t.Fatal(err)
	}
	c.until("PUT 202", 2)
	s.throttle.Kill()
	s.serve(settings...)
	c.until("PUT 202", 2)
	s.ironic.KillConductor() // who works, works on, as far as anybody can see
	c.until("GET 200", hosts)
	if err := s.ironic.StartConductor(ctx); err != nil {
		t.Fatal(err)
	}
	driven.Wait()
	end()
	watched.Wait()

	// What became of a PUT that Ironic answers with 500 is not known for a while.
	s.shows()
	s.ironic.KillConductor()
	code, body, err := c.call(ctx, http.MethodPut, "/v1/nodes/"+key("host-0")+"/states/provision", inspect)
	if err != nil || code != http.StatusInternalServerError || strings.Contains(body, "ironic-throttle") {
		t.Errorf("PUT without a conductor: %d %s, %v; want Ironic's own 500", code, body, err)
	}
	if err := s.ironic.StartConductor(ctx); err != nil {
		t.Fatal(err)
	}
	if peak != 2 {
		t.Errorf("at most %d hosts worked at once, want 2: no more, and no slot idle all the time", peak)
	}
	s.shows()
	s.throttle.AwaitStatus("nobody who waits", func(st api.Status) bool { return st.Slots.Total.Waiting == 0 })
	t.Log(c.answers)
}
