package realironic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// show is a look of the sampler that sees these changes: UUID, name, state.
func show(t *testing.T, truth *Truth, changes ...[3]string) {
	t.Helper()
	now := float64(time.Now().UnixMilli()) / 1000
	text, err := json.Marshal(map[string]any{"began": now, "ended": now, "changes": changes})
	if err == nil {
		_, err = truth.Write(append(text, '\n'))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestSiteAgents lets an agent call until Ironic goes on with its node, and live until the work
// is over.
func TestSiteAgents(t *testing.T) {
	calls := make(chan string, 100) // where the agent listens; "" is a lookup
	var lookups atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method + " " + r.URL.String() {
		case "GET /v1/lookup?node_uuid=u1":
			calls <- ""
			if lookups.Add(1) == 1 {
				w.WriteHeader(http.StatusConflict) // its node is locked
				return
			}
			_, _ = fmt.Fprint(w, `{"config":{"agent_token":"secret"}}`)
		case "POST /v1/heartbeat/u1":
			var beat struct {
				URL   string `json:"callback_url"`
				Token string `json:"agent_token"`
			}
			if err := json.NewDecoder(r.Body).Decode(&beat); err != nil || beat.Token != "secret" {
				t.Errorf("heartbeat %+v, %v", beat, err)
			}
			calls <- beat.URL
			w.WriteHeader(http.StatusAccepted)
		default:
			t.Errorf("%s %s", r.Method, r.URL)
		}
	}))
	defer server.Close()
	i := &Ironic{URL: server.URL, client: server.Client()}
	truth := &Truth{first: make(chan struct{})}
	site, err := i.OpenSite(truth, SiteOptions{Boot: Span{time.Millisecond, time.Millisecond}, Capacity: 1, Most: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()

	show(t, truth, [3]string{"u1", "a", "deploying"})
	show(t, truth, [3]string{"u1", "a", "wait call-back"})
	for _, want := range []string{"lookup that fails", "lookup"} {
		if got := <-calls; got != "" {
			t.Fatalf("heartbeat of %s, want a %s", got, want)
		}
	}
	agent := <-calls
	if again := <-calls; agent == "" || again != agent {
		t.Fatalf("calls %q and %q, want heartbeats of one agent", agent, again)
	}
	show(t, truth, [3]string{"u1", "a", "deploying"})
	eventually(t, func() bool { return site.Boots()[0].Up })
	if status := get(agent); status != http.StatusOK {
		t.Errorf("the agent answers %d while its node is deployed", status)
	}
	show(t, truth, [3]string{"u1", "a", "active"})
	eventually(t, func() bool { return get(agent) == 0 })
	if b := site.Boots(); len(b) != 1 || b[0].Lost || b[0].Load != 1 || b[0].Fault != nil || b[0].Took <= 0 {
		t.Errorf("boots %+v", b)
	}

	// It ends with the site, too.
	show(t, truth, [3]string{"u1", "a", "wait call-back"})
	for agent = <-calls; agent == ""; agent = <-calls {
	}
	site.Close()
	if status := get(agent); status != 0 {
		t.Errorf("an agent of a closed site answers %d", status)
	}
}

// eventually asks again and again; the package's time-out ends what never comes.
func eventually(t *testing.T, done func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		<-tick.C
	}
}

// get is the status of an agent's answer, 0 without one.
func get(url string) int {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: requestTimeout}
	resp, err := client.Get(url)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}
