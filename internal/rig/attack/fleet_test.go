//go:build linux

package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// fleet are real hosts: each is provisioned and deprovisioned over and over, one half through the gateway, the other by asking
// first.
type fleet struct {
	asking          *api.Client
	http            *http.Client
	gateway, ironic string
	hosts           []host
	looks           time.Duration // how often a host's state is read while it works
	rests           time.Duration // between two works; a host that begins the next one before a poll keeps its slot

	slots                     []atomic.Int64 // that each has had
	asks, unanswered, refused atomic.Int64
}

type host struct {
	UUID string `json:"uuid"`
	Name string `json:"name"`
}

func newFleet(t *testing.T, server, gateway, ironic string, n int) *fleet {
	t.Helper()
	c, err := api.NewClient(server, api.Options{})
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

// counts are the slots that each host has had.
func (f *fleet) counts() []int64 {
	all := make([]int64, len(f.slots))
	for i := range f.slots {
		all[i] = f.slots[i].Load()
	}
	return all
}

func (f *fleet) String() string {
	return fmt.Sprintf("%d asks, %d refused, %d without an answer; slots of each host: %v", f.asks.Load(), f.refused.Load(), f.unanswered.Load(), f.counts())
}

// work keeps all hosts at it until ctx ends.
func (f *fleet) work(ctx context.Context, all *sync.WaitGroup) {
	for i, h := range f.hosts {
		all.Go(func() {
			for worked := false; ; {
				target := f.next(ctx, &h)
				if target == "" || worked && !wait(ctx, f.rests) {
					return
				}
				f.asks.Add(1)
				status, err := f.start(ctx, h, target, i%2 == 1)
				switch worked = err == nil && status < 300; {
				case ctx.Err() != nil:
					return
				case worked:
					f.slots[i].Add(1)
				case err != nil: // a connection that was idle is cut for another, or the machine is too slow for all of this
					f.unanswered.Add(1)
				default:
					f.refused.Add(1)
				}
				if !worked {
					wait(ctx, 500*time.Millisecond)
				}
			}
		})
	}
}

// start sends a PUT through the gateway, or asks and sends it to Ironic itself after a yes.
func (f *fleet) start(ctx context.Context, h host, target string, asks bool) (status int, err error) {
	to := f.gateway
	if asks {
		namespace, name, _ := strings.Cut(h.Name, "~")
		ask := api.Ask{Namespace: namespace, Name: name, NodeUUID: h.UUID, Op: api.OpProvision, BMHState: api.BMHProvisioning}
		switch target {
		case "deleted":
			ask.Op, ask.BMHState = api.OpDeprovision, api.BMHDeprovisioning
		case "manage", "provide": // after a clean that failed
			ask.Op, ask.BMHState = api.OpPrepare, api.BMHPreparing
		}
		if answer, err := f.asking.IsReady(ctx, ask); err != nil || !answer.Ready {
			return http.StatusConflict, err
		}
		to = f.ironic
	}
	return f.call(ctx, http.MethodPut, to+"/v1/nodes/"+h.UUID+"/states/provision", map[string]string{"target": target}, nil)
}

// targets is what comes after each state.
var targets = map[string]string{
	"available": "active", "active": "deleted", "deploy failed": "deleted", "error": "deleted", "clean failed": "manage", "manageable": "provide",
}

// next waits until a host's work is over, as Ironic itself tells, and returns what comes then; "" at the end of ctx. h gets the
// UUID that its name has by then.
func (f *fleet) next(ctx context.Context, h *host) (target string) {
	for wait(ctx, f.looks) {
		node := struct {
			UUID  string `json:"uuid"`
			State string `json:"provision_state"`
		}{UUID: h.UUID}
		_, err := f.call(ctx, http.MethodGet, f.ironic+"/v1/nodes/"+h.Name, nil, &node)
		if h.UUID = node.UUID; err == nil && targets[node.State] != "" {
			return targets[node.State]
		}
	}
	return ""
}

func (f *fleet) call(ctx context.Context, method, url string, body, into any) (status int, err error) {
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return 0, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-OpenStack-Ironic-API-Version", "1.61")
	resp, err := f.http.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && into != nil {
		err = json.Unmarshal(answer, into)
	}
	return resp.StatusCode, err
}

func least(counts []int64) int64 { return slices.Min(counts) }
