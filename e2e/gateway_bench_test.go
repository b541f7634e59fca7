//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
)

// BenchmarkGatewayLatency gets a node of a real Ironic, directly and through the
// gateway, in turn and each first every other time. It reports the medians and their
// ratio.
func BenchmarkGatewayLatency(b *testing.B) {
	i := startIronic(b, realironic.Options{})
	if err := i.AddNodes(b.Context(), realironic.Batch{Count: 100, Prefix: "metal3~host-", State: "available"}); err != nil {
		b.Fatal(err)
	}
	g := benchedGateway(b, i.URL)
	direct, through := newAsker(b, i.URL), newAsker(b, "http://"+g.host)
	path := "/v1/nodes/" + direct.anyNode()
	for range 10 { // warm
		direct.timed(path)
		through.timed(path)
	}
	direct.took, through.took = nil, nil
	for turn := 0; b.Loop(); turn++ {
		first, second := direct, through
		if turn%2 == 1 {
			first, second = second, first
		}
		first.timed(path)
		second.timed(path)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(direct.took), "direct-ms")
	b.ReportMetric(median(through.took), "gateway-ms")
	b.ReportMetric(median(through.took)/median(direct.took), "gateway/direct")
}

// asker asks on one keep-alive connection.
type asker struct {
	tb     testing.TB
	client *http.Client
	url    string
	took   []float64 // ms
}

func newAsker(tb testing.TB, url string) *asker {
	transport := &http.Transport{MaxConnsPerHost: 1}
	tb.Cleanup(transport.CloseIdleConnections)
	return &asker{tb: tb, client: &http.Client{Transport: transport, Timeout: time.Minute}, url: url}
}

func (a *asker) get(path string) []byte {
	a.tb.Helper()
	req, err := http.NewRequestWithContext(a.tb.Context(), http.MethodGet, a.url+path, nil)
	if err != nil {
		a.tb.Fatal(err)
	}
	req.Header.Set("X-OpenStack-Ironic-API-Version", "1.81")
	resp, err := a.client.Do(req)
	if err != nil {
		a.tb.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK {
		a.tb.Fatalf("%s: %s, %v: %s", path, resp.Status, err, body)
	}
	return body
}

func (a *asker) timed(path string) {
	a.tb.Helper()
	begun := time.Now()
	a.get(path)
	a.took = append(a.took, float64(time.Since(begun).Microseconds())/1000)
}

func (a *asker) anyNode() string {
	a.tb.Helper()
	var page struct {
		Nodes []struct{ UUID string }
	}
	if err := json.Unmarshal(a.get("/v1/nodes?limit=1"), &page); err != nil || len(page.Nodes) != 1 {
		a.tb.Fatalf("list of one node: %+v, %v", page, err)
	}
	return page.Nodes[0].UUID
}

// Small requests: what BMO asks most, a change of a node with its body, and one that
// the gate has to read before it may pass.
var (
	smallGet   = shot{http.MethodGet, "/v1/nodes/6e0c6a0c-4b7e-4b4e-8f5a-0d6f5d1f2a3b", ""}
	smallPatch = shot{
		http.MethodPatch, smallGet.path,
		`[{"op": "add", "path": "/instance_info/capabilities", "value": {"boot_option": "local"}}, ` +
			`{"op": "replace", "path": "/instance_uuid", "value": "0d6f5d1f-4b7e-4b4e-8f5a-6e0c6a0c2a3b"}]`,
	}
	smallAbort = shot{http.MethodPut, smallGet.path + "/states/provision", `{"target": "abort"}`}
)

// BenchmarkGatewayThroughput sends small requests through nginx and through the
// gateway to the same upstream, in turn and each first every other time, from as
// many connections as BMO has workers. It reports the medians of requests in a
// second, and the median of the ratios of the rounds: load by others comes and goes.
//
// The upstream that counts is a real Ironic. Beside it stands one that answers at
// once, which no Ironic does: it shows what the proxies themselves cost.
func BenchmarkGatewayThroughput(b *testing.B) {
	b.Run("ironic", func(b *testing.B) {
		i := startIronic(b, realironic.Options{})
		if err := i.AddNodes(b.Context(), realironic.Batch{Count: 100, Prefix: "metal3~host-", State: "available"}); err != nil {
			b.Fatal(err)
		}
		const requests = 320
		get := shot{http.MethodGet, "/v1/nodes/" + newAsker(b, i.URL).anyNode(), ""}
		compareProxies(b, strings.TrimPrefix(i.URL, "http://"), requests, get)
	})
	b.Run("at-once", func(b *testing.B) {
		const requests = 20_000
		compareProxies(b, serveNginx(b, 1, ""), requests, smallGet, smallPatch)
	})
}

// compareProxies measures each shot, with so many requests in a round.
func compareProxies(b *testing.B, upstream string, requests int, shots ...shot) {
	nginx, gateway := serveNginx(b, 2, upstream), benchedGateway(b, "http://"+upstream).host
	for _, s := range shots {
		b.Run(s.method, func(b *testing.B) {
			loads := []*load{newLoad(b, nginx), newLoad(b, gateway)}
			for _, l := range loads { // warm
				l.fire(requests/10, s)
			}
			var rates [2][]float64
			var ratios []float64
			for turn := 0; b.Loop(); turn++ {
				for k := range loads {
					which := (turn + k) % 2
					rates[which] = append(rates[which], float64(requests)/loads[which].fire(requests, s).Seconds())
				}
				ratios = append(ratios, rates[1][turn]/rates[0][turn])
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(rates[0]), "nginx-req/s")
			b.ReportMetric(median(rates[1]), "gateway-req/s")
			b.ReportMetric(median(ratios), "gateway/nginx")
		})
	}
}

// heapWaves times heapWave requests are sent, each wave on new connections.
const heapWaves, heapWave = 10, 10_000

// BenchmarkGatewayHeap sends 100,000 small requests through the gateway and compares
// its live heap, goroutines and descriptors before and after, all connections of
// clients closed. A wave before the first look fills what is filled once.
func BenchmarkGatewayHeap(b *testing.B) {
	upstream := serveNginx(b, 1, "")
	// The collector runs at each 10 % of growth, so that the least of some looks is
	// next to what is alive.
	g := benchedGateway(b, "http://"+upstream, "GOGC=10")
	wave := func() {
		// Clients that only pass, and clients that the gate has to read now and then.
		for _, shots := range [][]shot{{smallGet, smallPatch}, {smallGet, smallPatch, smallAbort}} {
			l := newLoad(b, g.host)
			l.fire(heapWave/2, shots...)
			l.close()
		}
	}
	var before, after footprint
	for b.Loop() {
		wave()
		before = g.footprint(b)
		for range heapWaves {
			wave()
		}
		after = g.footprint(b)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(before.heap/1024, "start-KiB")
	b.ReportMetric(after.heap/1024, "end-KiB")
	b.ReportMetric((after.heap-before.heap)/1024, "growth-KiB")
	b.ReportMetric(after.goroutines-before.goroutines, "more-goroutines")
	b.ReportMetric(after.files-before.files, "more-files")
}

// footprint is the least that was seen of each.
type footprint struct{ heap, goroutines, files float64 }

// footprint looks until the collector has run ten times: connections that were
// closed and pools that were filled are gone by then.
func (g gatewayProcess) footprint(tb testing.TB) (least footprint) {
	tb.Helper()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	until := g.scrape(tb, client)["go_gc_duration_seconds_count"] + 10
	for looks := 0; ; looks++ {
		page := g.scrape(tb, client)
		now := footprint{page["go_memstats_heap_alloc_bytes"], page["go_goroutines"], page["process_open_fds"]}
		if now.heap == 0 || now.goroutines == 0 || now.files == 0 || looks == 10_000 {
			tb.Fatalf("look %d: no heap, goroutines or descriptors in %v", looks, page)
		}
		if looks == 0 {
			least = now
		}
		least = footprint{min(least.heap, now.heap), min(least.goroutines, now.goroutines), min(least.files, now.files)}
		if page["go_gc_duration_seconds_count"] >= until {
			return least
		}
	}
}

// scrape reads all series.
func (g gatewayProcess) scrape(tb testing.TB, client *http.Client) map[string]float64 {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, g.metrics, nil)
	if err != nil {
		tb.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	page := map[string]float64{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), " "); ok {
			if v, err := strconv.ParseFloat(value, 64); err == nil {
				page[name] = v
			}
		}
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	return page
}
