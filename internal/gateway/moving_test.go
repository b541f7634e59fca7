package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// released makes of the requests of a fakebmo those of BMO v0.13.2: it reads the node
// anew before each step and twice at the end of a reconcile, and after an inspection it
// makes the port that the inspection has taken away (testdata/bmo-requests.txt).
type released struct {
	next http.RoundTripper

	mu        sync.Mutex
	inspected map[string]bool // nodes whose port is to be made
	ports     int
}

func (b *released) RoundTrip(r *http.Request) (*http.Response, error) {
	uuid, part, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/nodes/"), "/")
	node := "/v1/nodes/" + uuid
	switch part {
	case "firmware", "inventory", "validate":
		if err := b.also(r, http.MethodGet, node, ""); err != nil {
			return nil, err
		}
	case "states/provision":
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		resp, err := b.next.RoundTrip(r)
		if err == nil && resp.StatusCode == http.StatusAccepted && strings.Contains(string(body), `"inspect"`) {
			b.mu.Lock()
			b.inspected[uuid] = true
			b.mu.Unlock()
		}
		for range 2 {
			if err == nil {
				err = b.also(r, http.MethodGet, node, "")
			}
		}
		return resp, err
	}
	resp, err := b.next.RoundTrip(r)
	if err != nil || part != "" || resp.StatusCode != http.StatusOK || r.Method != http.MethodGet {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	b.mu.Lock()
	done := b.inspected[uuid] && bytes.Contains(body, []byte(`"provision_state": "manageable"`))
	if done {
		b.inspected[uuid] = false
		b.ports++
	}
	address := fmt.Sprintf("02:00:00:00:%02x:%02x", b.ports/256, b.ports%256)
	b.mu.Unlock()
	if done {
		err = b.also(r, http.MethodPost, "/v1/ports", fmt.Sprintf(`{"address": %q, "node_uuid": %q, "pxe_enabled": true}`, address, uuid))
	}
	return resp, err
}

// also sends what fakebmo does not.
func (b *released) also(r *http.Request, method, path, body string) error {
	more, err := http.NewRequestWithContext(r.Context(), method, r.URL.Scheme+"://"+r.URL.Host+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	more.Header = r.Header.Clone()
	more.Header.Del("Content-Type")
	if body != "" {
		more.Header.Set("Content-Type", jsonType)
	}
	resp, err := b.next.RoundTrip(more)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return err
}

// kinds are what a storm asks of Ironic.
var kinds = []struct{ name, method, part string }{
	{"our lists", "", "/v1/nodes?provision_state="},
	{"our probes", "", "sort_key=provision_updated_at"},
	{"our list of all", "GET /v1/nodes?", ",conductor_group"},
	{"our fetches", "GET /v1/nodes/", "?fields="},
	{"capacity lists", "", "fields=uuid%2Cname%2Cprovision_state%2Cboot_interface"},
	{"versions", "GET /v1/ ", ""},
	{"drivers", "GET /v1/drivers", ""},
	{"firmware", "", "/firmware"}, {"inventory", "", "/inventory"}, {"validate", "", "/validate"},
	{"make ports", "POST /v1/ports", ""}, {"ports", "GET /v1/ports", ""},
	{"node", "GET /v1/nodes/", ""},
	{"others", "", ""},
}

// tally counts what reached Ironic by kind, PUTs beside.
func (w *wire) tally() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := map[string]int{"PUT": len(w.puts)}
	for ask, times := range w.asks {
		for _, kind := range kinds {
			if strings.HasPrefix(ask+" ", kind.method) && strings.Contains(ask, kind.part) {
				n[kind.name] += times
				break
			}
		}
	}
	return n
}

// movingCost plays a storm of hosts that are inspected and provisioned, few at once, and
// returns what reached Ironic from d on, for as long, by kind, in requests a second, and how
// many hosts waited.
func movingCost(t *testing.T, hosts, limit int, d time.Duration, o labOptions) (by map[string]float64, waiting float64) {
	t.Helper()
	by = map[string]float64{}
	synctest.Test(t, func(t *testing.T) {
		o.limit, o.hurry = limit, true
		o.fake = func(o *fakeironic.Options) {
			span := func(s int) fakeironic.Span {
				return fakeironic.Span{Min: time.Duration(s) * time.Second, Max: time.Duration(s+3) * time.Second}
			}
			o.API.MaxMinor = 96
			o.Fleet.Nodes, o.Fleet.Start = hosts, ironic.Manageable
			o.Durations.Prepare, o.Durations.Boot, o.Durations.Handover = span(0), span(2), span(0)
			o.Durations.InspectRun, o.Durations.CleanRun, o.Durations.DeployRun, o.Durations.FinalReboot = span(6), span(1), span(8), span(0)
			o.Durations.Heartbeat = fakeironic.Span{Min: 5 * time.Second, Max: 10 * time.Second}
			o.Fates.CleanReboot = 0
		}
		l := newLab(t, o)
		defer l.close()
		op := newOperator(l, 1_000_000)
		before, wait := map[string]int{}, 0
		l.during(op, d, d, func() {
			l.wire.count()
			l.wire.mu.Lock()
			l.wire.puts = nil
			l.wire.mu.Unlock()
			before = l.wire.tally()
			wait = op.Counts().Busy
		})
		refusals := op.Counts().Busy - wait
		for kind, n := range l.wire.tally() {
			by[kind] = float64(n-before[kind]) / d.Seconds()
		}
		waiting = float64(refusals) * 3.4 / d.Seconds()
		truth := l.ironic.Truth()
		t.Logf("%d hosts, limit %d: %.0f wait, slots used %.0f %%", hosts, limit, waiting, 100*float64(truth.HostTime)/float64(limit)/float64(time.Since(truth.Since)))
	})
	return by, waiting
}

func total(by map[string]float64) (sum float64) {
	for _, v := range by {
		sum += v
	}
	return sum
}

func logKinds(t *testing.T, name string, by map[string]float64, waiting float64) {
	t.Helper()
	var b strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(by)) {
		fmt.Fprintf(&b, ", %s %.2f", kind, by[kind])
	}
	t.Logf("%s: %.2f requests/s reach Ironic, %.4f for each of %.0f waiting hosts%s", name, total(by), total(by)/waiting, waiting, b.String())
}

// A storm in motion: hosts are inspected, their ports made, provisioned, and the others
// wait. What reaches Ironic then is what the polls and the hosts at work cost it, and next
// to nothing for those that wait.
func TestGW18_WhatWaitingHostsCostInMotion(t *testing.T) {
	for _, row := range []struct {
		name  string
		short bool // played also where only a taste is wanted
		hosts int
		reads bool
		slow  time.Duration // of each of our lists
		most  float64       // requests of clients a second for each waiting host; 0: nothing is demanded
	}{
		{"off", false, 60, false, 0, 0},
		{"on", true, 60, true, 0, 0.2},
		{"slow polls", false, 60, true, 1500 * time.Millisecond, 0.2},
		{"polls that are too slow", false, 60, true, 3 * time.Second, 0.2},
		{"200", false, 210, true, 0, 0.1},
	} {
		t.Run(row.name, func(t *testing.T) {
			if !row.short && !*whole {
				t.Skip("only with -gateway.whole")
			}
			d := time.Minute
			if *whole {
				d = 2 * time.Minute
			}
			by, waiting := movingCost(t, row.hosts, 5, d, labOptions{
				gate: func(o *gateway.Options) { o.ReadCache = row.reads },
				slow: func(r *http.Request) time.Duration {
					if strings.Contains(r.URL.RawQuery, "provision_state=") {
						return row.slow
					}
					return 0
				},
			})
			logKinds(t, row.name, by, waiting)
			for kind := range by {
				// Work that starts, and the ports of its node, are no cost of waiting.
				if strings.HasPrefix(kind, "our ") || kind == "capacity lists" || kind == "PUT" || kind == "make ports" {
					delete(by, kind)
				}
			}
			if cost := total(by) / waiting; row.most > 0 && cost > row.most {
				t.Errorf("%.4f requests/s of clients for each waiting host reach Ironic, want at most %v", cost, row.most)
			}
		})
	}
}
