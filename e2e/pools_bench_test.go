//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

const pools = 5

// BenchmarkPollPerPool shows what it would cost to poll each pool by itself: 5,000 nodes
// in five conductor groups, 20 of them at work, all in the first. Five probes and the
// lists of the group that moved, or of each, stand against one probe and the lists of
// all. It is the evidence for why a poll asks for all pools at once.
func BenchmarkPollPerPool(b *testing.B) {
	i := serveFleet(b, idleNodes, busyNodes)
	sql(b, i, fmt.Sprintf(`UPDATE nodes SET conductor_group = 'rack-' || (id %% %d);
		UPDATE nodes SET conductor_group = 'rack-0' WHERE provision_state <> 'available';`, pools))
	get := func(query url.Values) {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, i.URL+"/v1/nodes?"+query.Encode(), nil)
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("X-OpenStack-Ironic-API-Version", "1.81")
		resp, err := i.Client().Do(req)
		if err != nil {
			b.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			b.Fatalf("%v: %s, %v", query, resp.Status, err)
		}
	}
	in := func(group string, query url.Values) url.Values {
		if group != "" {
			query.Set("conductor_group", group)
		}
		return query
	}
	probe := func(group string) (requests int) {
		get(in(group, url.Values{"sort_key": {"provision_updated_at"}, "sort_dir": {"desc"}, "limit": {"20"}, "fields": {"uuid,provision_state,provision_updated_at"}}))
		return 1
	}
	lists := func(group string) (requests int) {
		for _, state := range ironic.BusyStates() {
			get(in(group, url.Values{"provision_state": {string(state)}, "fields": {"uuid,name,provision_state,provision_updated_at,driver_internal_info"}}))
			requests++
		}
		return requests
	}
	every := func(f func(group string) int) (requests int) {
		for n := range pools {
			requests += f(fmt.Sprintf("rack-%d", n))
		}
		return requests
	}
	ways := []struct {
		name string
		poll func() (requests int)
		took []float64
	}{
		{name: "quiet-all", poll: func() int { return probe("") }},
		{name: "quiet-pools", poll: func() int { return every(probe) }},
		{name: "moved-all", poll: func() int { return probe("") + lists("") }},
		{name: "moved-one-pool", poll: func() int { return every(probe) + lists("rack-0") }},
		{name: "aged-all", poll: func() int { return lists("") }},
		{name: "aged-pools", poll: func() int { return every(lists) }},
	}
	requests := make([]int, len(ways))
	for b.Loop() {
		for k := range ways {
			begun := time.Now()
			requests[k] = ways[k].poll()
			ways[k].took = append(ways[k].took, float64(time.Since(begun).Microseconds())/1000)
		}
	}
	b.ReportMetric(0, "ns/op")
	for k, w := range ways {
		b.ReportMetric(median(w.took), w.name+"-ms")
		b.ReportMetric(float64(requests[k]), w.name+"-requests")
	}
}
