//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// rereads asks what a refused host asks again and again, through the gateway and of
// Ironic itself.
type rereads struct {
	*lab
	g *gateway
}

// get reads a path at a URL. All say the same Host, which links follow.
func (r *rereads) get(url, path string) (status int, cache, body string) {
	r.Helper()
	status, head, body := r.do(http.MethodGet, url+path, "")
	return status, head.Get("X-Ironic-Throttle-Cache"), body
}

// refused lets a host ask for work that it is not given.
func (r *rereads) refused(uuid string) {
	r.Helper()
	status, head, body := r.send(http.MethodPut, "/v1/nodes/"+uuid+"/states/provision", `{"target":"provide"}`)
	if status != http.StatusConflict || head.Get("X-Ironic-Throttle-Reason") == "" {
		r.Fatalf("%d: %s, want a refusal by the throttle", status, body)
	}
}

// send sends a change through the gateway.
func (r *rereads) send(method, path, body string) (int, http.Header, string) {
	r.Helper()
	return r.do(method, r.g.url+path, body)
}

func (r *rereads) do(method, url, body string) (int, http.Header, string) {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), method, url, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	req.Host = hostOf(r.g.url)
	req.Header.Set("X-OpenStack-Ironic-API-Version", "1.81")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := r.ironic.Client().Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

// cachedIsIronics reads through the gateway until it answers by itself, and demands
// Ironic's own bytes.
func (r *rereads) cachedIsIronics(path, uuid string) {
	r.Helper()
	var status int
	var body string
	poll(r.T, "answer from the cache to "+path, func() bool {
		var cache string
		status, cache, body = r.get(r.g.url, path)
		if cache == "" {
			r.refused(uuid)
		}
		return cache == "host"
	}, func() string { return body })
	if want, _, direct := r.get(r.ironic.URL, path); status != want || body != direct {
		r.Errorf("%s from the cache: %d %s\nIronic's: %d %s", path, status, body, want, direct)
	}
}

// TestGW18_RealIronic holds for a refused host on a real Ironic that what it reads again
// is Ironic's own, asked of Ironic once; that its own change shows at once, and one
// behind the gateway's back after the next poll.
func TestGW18_RealIronic(t *testing.T) {
	t.Parallel()
	l := newLab(t, realironic.Options{})
	batches := []realironic.Batch{{Count: 1, Prefix: "metal3~busy-", State: "clean wait"}, {Count: 2, Prefix: "metal3~host-", State: "manageable"}}
	if err := l.ironic.AddNodes(t.Context(), batches...); err != nil {
		t.Fatal(err)
	}
	upstream := countRequests(t, l.ironic.URL)
	g := serveGateway(t, l.ironic, "IRONIC_ENDPOINT="+upstream.URL,
		"MAX_CONCURRENT_PROVISIONING_HOSTS=1").settled()
	r := &rereads{l, g}
	host := strings.TrimSpace(sql(t, l.ironic, "SELECT uuid FROM nodes WHERE name = 'metal3~host-000001';"))
	node := "/v1/nodes/" + host

	r.refused(host)
	reads := []string{node, "/v1/ports?node_uuid=" + host + "&fields=uuid,address", node + "/inventory"}
	for _, path := range reads {
		r.cachedIsIronics(path, host)
	}
	other := strings.TrimSpace(sql(t, l.ironic, "SELECT uuid FROM nodes WHERE name = 'metal3~host-000002';"))
	for what, path := range map[string]string{
		"by name": "/v1/nodes/" + key("host-000001"), "of other kinds": "/v1/ports/detail?node_uuid=" + host, "of a host that was not refused": "/v1/nodes/" + other,
	} {
		for range 2 {
			if _, cache, _ := r.get(g.url, path); cache != "" {
				t.Errorf("reads %s are answered from the cache", what)
			}
		}
	}

	// Twenty rounds of asking cost Ironic nothing but polls and the odd look.
	before, hits := upstream.of(askedNode), 0
	for range 20 {
		r.refused(host)
		for _, path := range reads[:2] {
			if _, cache, _ := r.get(g.url, path); cache == "host" {
				hits++
			}
		}
	}
	asked := upstream.of(askedNode) - before
	t.Logf("20 refusals with 2 reads each: %d reads from the cache, %d requests for nodes reached Ironic", hits, asked)
	if hits+asked < 40 || asked > 10 {
		t.Errorf("%d reads from the cache, %d requests for nodes reached Ironic, want most from the cache", hits, asked)
	}

	// Its own change shows at once.
	for n := range 3 {
		r.cachedIsIronics(node, host)
		text := fmt.Sprintf("change-%d", n)
		if status, _, body := r.send(http.MethodPatch, node, `[{"op":"add","path":"/extra/seen","value":"`+text+`"}]`); status != http.StatusOK {
			t.Fatalf("PATCH: %d: %s", status, body)
		}
		if _, cache, body := r.get(g.url, node); cache != "" || !strings.Contains(body, text) {
			t.Errorf("right after a PATCH: cache %q, %s", cache, body)
		}
	}

	// A change behind the gateway's back shows after the next poll.
	r.cachedIsIronics(node, host)
	sql(t, l.ironic, "UPDATE nodes SET provision_state = '"+string(ironic.Enroll)+
		"', provision_updated_at = "+l.ironic.Ago("0")+" WHERE uuid = '"+host+"';")
	changed := time.Now()
	g.awaitPolls(2, 0) // one may have been on its way
	if _, cache, body := r.get(g.url, node); !strings.Contains(body, `"provision_state": "enroll"`) {
		t.Errorf("%v after a change: cache %q, %s", time.Since(changed), cache, body)
	}
	t.Logf("a change behind the gateway's back was seen after two polls of 1 s, %.1f s", time.Since(changed).Seconds())
}
