//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

const idleNodes, busyNodes = 5000, 20

// fullList is BMO's capacity check: every node, page after page.
func fullList(tb testing.TB, i *realironic.Ironic) (nodes int) {
	tb.Helper()
	for next := i.URL + "/v1/nodes?fields=uuid,name,provision_state,boot_interface"; next != ""; {
		req, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, next, nil)
		if err != nil {
			tb.Fatal(err)
		}
		req.Header.Set("X-OpenStack-Ironic-API-Version", "1.82")
		resp, err := i.Client().Do(req)
		if err != nil {
			tb.Fatal(err)
		}
		var page struct {
			Nodes []json.RawMessage `json:"nodes"`
			Next  string            `json:"next"`
		}
		err = json.NewDecoder(resp.Body).Decode(&page)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			tb.Fatalf("%s: %s, %v", next, resp.Status, err)
		}
		nodes += len(page.Nodes)
		next = page.Next
	}
	return nodes
}

// countingView counts what a poll sees and misses nothing.
type countingView struct {
	seq  uint64
	seen int
}

func (v *countingView) Begin(now time.Time) ironic.Mark {
	v.seq++
	return ironic.Mark{Seq: v.seq, At: now}
}

func (v *countingView) Whole(time.Time) bool { return false }

func (v *countingView) Hurries(time.Time) bool { return false }

func (v *countingView) Fetch(time.Time, *ironic.Observation) []string { return nil }

func (v *countingView) Observe(_ time.Time, look ironic.Observation) { v.seen = len(look.Nodes) }
func (v *countingView) PollFailed(time.Time, error)                  { v.seen = -1 }

// BenchmarkPollAgainstFullList measures, turn about on one real Ironic with
// 5,000 idle and 20 busy nodes, BMO's full list, the ten lists of the busy
// states, and a whole poll of ours. It reports the medians and their ratio.
func BenchmarkPollAgainstFullList(b *testing.B) {
	i := startIronic(b, realironic.Options{})
	batches := []realironic.Batch{{Count: idleNodes, Prefix: "metal3~idle-", State: "available"}}
	for k, state := range ironic.BusyStates() {
		batches = append(batches, realironic.Batch{
			Count: busyNodes / len(ironic.BusyStates()), Prefix: fmt.Sprintf("metal3~busy-%d-", k), State: string(state), AgentURL: true,
		})
	}
	if err := i.AddNodes(b.Context(), batches...); err != nil {
		b.Fatal(err)
	}
	client, err := ironic.NewClient(ironic.Settings{Endpoint: i.URL})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.Close)
	seen := &countingView{}
	poller, err := ironic.NewPoller(client, seen, ironic.PollerOptions{})
	if err != nil {
		b.Fatal(err)
	}

	var full, lists, poll []float64
	timed := func(into *[]float64, f func()) {
		start := time.Now()
		f()
		*into = append(*into, float64(time.Since(start).Microseconds())/1000)
	}
	fullList(b, i) // warm, as all others are
	for b.Loop() {
		timed(&full, func() {
			if n := fullList(b, i); n != idleNodes+busyNodes {
				b.Fatalf("full list: %d nodes", n)
			}
		})
		timed(&lists, func() {
			n := 0
			for _, state := range ironic.BusyStates() {
				nodes, err := client.List(b.Context(), state)
				if err != nil {
					b.Fatal(err)
				}
				n += len(nodes)
			}
			if n != busyNodes {
				b.Fatalf("lists: %d nodes", n)
			}
		})
		timed(&poll, func() {
			if err := poller.PollOnce(b.Context()); err != nil || seen.seen != busyNodes {
				b.Fatalf("poll: %d nodes, %v", seen.seen, err)
			}
		})
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(full), "full-ms")
	b.ReportMetric(median(lists), "tenlists-ms")
	b.ReportMetric(median(poll), "poll-ms")
	b.ReportMetric(median(full)/median(poll), "full/poll")
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}
