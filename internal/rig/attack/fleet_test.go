//go:build linux

package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// fleet are real hosts: each is provisioned and deprovisioned over and over, one half
// through the gateway, the other by asking first.
type fleet struct {
	asking  *api.Client
	http    *http.Client
	gateway string
	ironic  string
	hosts   []host
	looks   time.Duration // how often a host's state is read while it works
	rests   time.Duration // between two works; a host that begins the next one before a poll keeps its slot

	slots      []atomic.Int64 // that each has had
	asks       atomic.Int64
	unanswered atomic.Int64
	refused    sync.Map // counts of refusals by reason
}

type host struct {
	UUID string `json:"uuid"`
	Name string `json:"name"`
}

func newFleet(t *testing.T, server, gateway, ironic string, n int) *fleet {
	t.Helper()
	c, err := api.NewClient(server)
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{
		asking: c, http: &http.Client{Timeout: 40 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: n}},
		gateway: gateway, ironic: strings.TrimSuffix(ironic, "/v1"), slots: make([]atomic.Int64, n),
		looks: 100 * time.Millisecond, rests: 1500 * time.Millisecond,
	}
	t.Cleanup(func() {
		c.CloseIdleConnections()
		f.http.CloseIdleConnections()
	})
	var list struct{ Nodes []host }
	if _, err := f.call(t.Context(), http.MethodGet, fmt.Sprintf("%s/v1/nodes?limit=%d", f.ironic, n), nil, &list); err != nil || len(list.Nodes) != n {
		t.Fatalf("%d nodes, %v", len(list.Nodes), err)
	}
	f.hosts = list.Nodes
	return f
}

func (f *fleet) uuid(n int) string { return f.hosts[n].UUID }

func (f *fleet) counts() []int64 {
	all := make([]int64, len(f.slots))
	for i := range f.slots {
		all[i] = f.slots[i].Load()
	}
	return all
}

func (f *fleet) least() int64 {
	least := f.slots[0].Load()
	for _, n := range f.counts() {
		least = min(least, n)
	}
	return least
}

func (f *fleet) String() string {
	counts := f.counts()
	text := fmt.Sprintf("%d asks, %d slots to %d real hosts, %d to the one that had the fewest, refused", f.asks.Load(), sum(counts), len(counts), f.least())
	f.refused.Range(func(why, n any) bool {
		text += fmt.Sprintf(" %v %d", why, n.(*atomic.Int64).Load())
		return true
	})
	return text
}

func (f *fleet) noteRefusal(why string) {
	n, _ := f.refused.LoadOrStore(why, &atomic.Int64{})
	n.(*atomic.Int64).Add(1)
}

// lost notes that there was no answer: a connection that was idle is cut for another, in
// the moment in which it was to be used, or the machine is too slow for all of this.
func (f *fleet) lost(err error) {
	why := err.Error()
	why = why[strings.LastIndex(why, ": ")+1:]
	f.noteRefusal("without an answer:" + why)
	f.unanswered.Add(1)
}

// work keeps all hosts at it until ctx ends.
func (f *fleet) work(ctx context.Context, all *sync.WaitGroup) {
	for i := range f.hosts {
		start := f.through
		if i%2 == 1 {
			start = f.asked
		}
		all.Go(func() {
			h, worked := f.hosts[i], false
			for {
				target := f.next(ctx, &h)
				if target == "" || worked && !wait(ctx, f.rests) {
					return
				}
				f.asks.Add(1)
				if worked = start(ctx, h, target); worked {
					f.slots[i].Add(1)
				} else {
					wait(ctx, 500*time.Millisecond)
				}
			}
		})
	}
}

// through sends a PUT through the gateway and reports whether it was carried out.
func (f *fleet) through(ctx context.Context, h host, target string) bool {
	head, err := f.put(ctx, f.gateway, h, target)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		f.lost(err)
	case head.StatusCode == http.StatusConflict:
		f.noteRefusal("gateway " + head.Header.Get("X-Ironic-Throttle-Reason"))
	case head.StatusCode >= 300:
		f.noteRefusal("gateway " + head.Status)
	default:
		return true
	}
	return false
}

// asked asks, and sends the PUT to Ironic itself after a yes.
func (f *fleet) asked(ctx context.Context, h host, target string) bool {
	namespace, name, _ := strings.Cut(h.Name, "~")
	ask := api.Ask{Namespace: namespace, Name: name, NodeUUID: h.UUID, Op: api.OpProvision, BMHState: api.BMHProvisioning}
	switch target {
	case "deleted":
		ask.Op, ask.BMHState = api.OpDeprovision, api.BMHDeprovisioning
	case "manage", "provide": // after a clean that failed
		ask.Op, ask.BMHState = api.OpPrepare, api.BMHPreparing
	}
	answer, err := f.asking.IsReady(ctx, ask)
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil:
		f.lost(err)
		return false
	case !answer.Ready:
		f.noteRefusal(string(answer.Reason))
		return false
	}
	head, err := f.put(ctx, f.ironic, h, target)
	return err == nil && head.StatusCode < 300
}

func (f *fleet) put(ctx context.Context, to string, h host, target string) (*http.Response, error) {
	return f.call(ctx, http.MethodPut, to+"/v1/nodes/"+h.UUID+"/states/provision", map[string]string{"target": target}, nil)
}

// next waits until a host's work is over, as Ironic itself tells, and returns what comes
// then; "" at the end of ctx. h gets the UUID that its name has by then.
func (f *fleet) next(ctx context.Context, h *host) (target string) {
	for wait(ctx, f.looks) {
		var node struct {
			UUID  string `json:"uuid"`
			State string `json:"provision_state"`
		}
		_, err := f.call(ctx, http.MethodGet, f.ironic+"/v1/nodes/"+h.Name, nil, &node)
		if err == nil && node.UUID != "" {
			h.UUID = node.UUID
		}
		switch {
		case err == nil && node.State == "available":
			return "active"
		case err == nil && (node.State == "active" || node.State == "deploy failed" || node.State == "error"):
			return "deleted"
		case err == nil && node.State == "clean failed":
			return "manage"
		case err == nil && node.State == "manageable":
			return "provide"
		}
	}
	return ""
}

func (f *fleet) call(ctx context.Context, method, url string, body, into any) (*http.Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	if body == nil {
		text = nil
	}
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-OpenStack-Ironic-API-Version", "1.61")
	resp, err := f.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && into != nil {
		err = json.Unmarshal(answer, into)
	}
	return resp, err
}
