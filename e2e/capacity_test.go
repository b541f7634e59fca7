//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// capacityPath is BMO's capacity check.
const capacityPath = "/v1/nodes?fields=uuid,name,provision_state,boot_interface"

// capacityClient reads the capacity list as BMO does, page after page on one connection,
// and looks into nothing but next: what is timed is the answering.
type capacityClient struct {
	tb     testing.TB
	client *http.Client
	url    string // where it asks
	host   string // what it says for whom: links follow it
	buffer bytes.Buffer
}

func newCapacityClient(tb testing.TB, url, host string) *capacityClient {
	transport := &http.Transport{MaxConnsPerHost: 1}
	tb.Cleanup(transport.CloseIdleConnections)
	return &capacityClient{tb: tb, client: &http.Client{Transport: transport, Timeout: time.Minute}, url: url, host: host}
}

// page reads one page, which is good until the next call; cached tells whether the
// gateway answered by itself.
func (c *capacityClient) page(path string) (body []byte, cached bool, err error) {
	req, err := http.NewRequestWithContext(c.tb.Context(), http.MethodGet, c.url+path, nil)
	if err != nil {
		return nil, false, err
	}
	req.Host = c.host
	req.Header.Set("X-OpenStack-Ironic-API-Version", "1.81")
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = resp.Body.Close() }()
	c.buffer.Reset()
	if _, err := c.buffer.ReadFrom(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		return nil, false, fmt.Errorf("%s: %s, %w: %.200s", path, resp.Status, err, &c.buffer)
	}
	return c.buffer.Bytes(), resp.Header.Get("X-Ironic-Throttle-Cache") == "nodes", nil
}

// next is the path of the page that follows, "" after the last.
func (c *capacityClient) next(body []byte) string {
	const link = `, "next": "http://`
	_, rest, ok := bytes.Cut(body[max(0, len(body)-1000):], []byte(link+c.host))
	if !ok {
		return ""
	}
	return string(bytes.TrimSuffix(rest, []byte(`"}`)))
}

// list reads all pages, writes them to w, and tells how many were answered by the gateway
// itself and what each took.
func (c *capacityClient) list(w io.Writer) (cached int, took []time.Duration, err error) {
	for path := capacityPath; path != ""; {
		begun := time.Now()
		body, hit, err := c.page(path)
		if err != nil {
			return cached, took, err
		}
		took = append(took, time.Since(begun))
		if hit {
			cached++
		}
		_, _ = w.Write(body)
		path = c.next(body)
	}
	return cached, took, nil
}

// warm reads until the gateway answers by itself: who has waited for its list for some
// seconds is passed on to Ironic.
func (c *capacityClient) warm() {
	c.tb.Helper()
	poll(c.tb, "list of all nodes", func() bool {
		cached, took, err := c.list(io.Discard)
		if err != nil {
			c.tb.Fatal(err)
		}
		return cached == len(took)
	}, func() string { return "pages were passed to Ironic" })
}

// capacityTimes are medians in ms.
type capacityTimes struct{ direct, through, directPage, throughPage, cold float64 }

// timeCapacity reads the list directly and through the gateway, in turn and each first
// every other time, so many times. All bytes must be the same, and nothing but the first
// list through the gateway may reach Ironic.
func timeCapacity(tb testing.TB, direct, through *capacityClient, rounds int) (m capacityTimes) {
	tb.Helper()
	read := func(c *capacityClient, w io.Writer) (cached int, took []float64, sum float64) {
		tb.Helper()
		cached, pages, err := c.list(w)
		if err != nil {
			tb.Fatal(err)
		}
		for _, d := range pages {
			took = append(took, float64(d.Microseconds())/1000)
			sum += float64(d.Microseconds()) / 1000
		}
		return cached, took, sum
	}
	_, _, m.cold = read(through, io.Discard)
	through.warm()
	var all, pages [2][]float64
	for n := range rounds {
		var bodies [2]bytes.Buffer
		for k := range 2 {
			which := (n + k) % 2
			cached, took, sum := read([]*capacityClient{direct, through}[which], &bodies[which])
			if want := []int{0, len(took)}[which]; cached != want {
				tb.Fatalf("round %d: %d of %d pages from the cache, want %d", n, cached, len(took), want)
			}
			all[which] = append(all[which], sum)
			pages[which] = append(pages[which], took[0])
		}
		if !bytes.Equal(bodies[0].Bytes(), bodies[1].Bytes()) {
			tb.Fatalf("round %d: %d bytes through the gateway, other than Ironic's own %d", n, bodies[1].Len(), bodies[0].Len())
		}
	}
	m.direct, m.through = median(all[0]), median(all[1])
	m.directPage, m.throughPage = median(pages[0]), median(pages[1])
	return m
}

// quickStart settles with the second poll, and keeps the list of all nodes for 6 minutes.
var quickStart = []string{
	"IRONIC_THROTTLE_LINGER=1s", "IRONIC_THROTTLE_POLL_INTERVAL=30s",
}

// BenchmarkCapacityList times the capacity list of 5,000 nodes of a real Ironic, asked
// directly and through the gateway.
func BenchmarkCapacityList(b *testing.B) {
	i := serveFleet(b, idleNodes, busyNodes)
	g := benchedGateway(b, i.URL, quickStart...)
	awaitSettled(b, g)
	host := hostOf(i.URL)
	var m capacityTimes
	for b.Loop() {
		m = timeCapacity(b, newCapacityClient(b, i.URL, host), newCapacityClient(b, "http://"+g.host, host), 9)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(m.direct, "ironic-ms")
	b.ReportMetric(m.through, "gateway-ms")
	b.ReportMetric(m.cold, "cold-ms")
	b.ReportMetric(m.direct/m.through, "ironic/gateway")
	b.ReportMetric(m.directPage/m.throughPage, "ironic/gateway-page")
}

// awaitSettled waits until the gateway has seen Ironic, and all that works there: before,
// it passes all lists on and gives no slot.
func awaitSettled(tb testing.TB, g gatewayProcess) {
	tb.Helper()
	client, err := api.NewClient(g.api)
	if err != nil {
		tb.Fatal(err)
	}
	defer client.CloseIdleConnections()
	var st api.Status
	poll(tb, "settled view", func() bool {
		st, err = client.Status(tb.Context())
		return err == nil && st.View.Fresh && st.View.Settled
	}, func() string { return fmt.Sprint(st.View, err) })
}
