//go:build linux

package attack

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
)

var (
	faults     = flag.Bool("chaos", false, "real processes under faults: make chaos")
	faultsSeed = flag.Uint64("chaos.seed", 1, "decides when, and how long")
)

const (
	siteLimit = 4
	siteHosts = 10
	// goesOn is the longest wait for every host to have one more slot: a call to a host that is
	// no more ends after three minutes, and the machine may be busy.
	goesOn = 4 * time.Minute
)

// site is an Ironic with real hosts, and the product between them in a process of its own.
type site struct {
	t      *testing.T
	ironic string // of the fake, without /v1
	at     struct{ API, Gateway, Health, Metrics string }
	*child.Process
	log   *child.LogBook
	fleet *fleet
	draw  *rand.Rand
	began time.Time
}

// needsFaults skips what make chaos runs.
func needsFaults(t *testing.T) {
	t.Helper()
	if !*faults {
		t.Skip("real processes under faults: make chaos")
	}
}

// newIronic starts the fake in a process of its own.
func newIronic(t *testing.T, more ...string) (*child.Process, string) {
	t.Helper()
	var at struct{ API string }
	p, _ := child.Serve(t, child.Command{Name: labBinary, Args: append([]string{
		"fake-ironic", "--listen", "127.0.0.1:0", "--nodes", "40", "--namespaces", "3", "--speed", "1200",
		"--automated-clean=false", "--limit", strconv.Itoa(siteLimit),
	}, more...)}, &at)
	return p, strings.TrimSuffix(at.API, "/v1")
}

// siteOptions say what is unusual of a site; the zero value is nothing.
type siteOptions struct {
	ironic   string   // base URL of the fake, where it is there already
	endpoint string   // what the product is told; "": that of the fake
	env      []string // more of the product's
	shell    string   // what a shell does before it becomes the product, such as ulimit
	auth     string   // Authorization of the hosts' clients
	idle     bool     // no host is at work
}

// newSite starts all of it and waits until every host has had a slot.
func newSite(t *testing.T, o siteOptions) *site {
	t.Helper()
	needsFaults(t)
	s := &site{t: t, ironic: o.ironic, draw: rand.New(rand.NewPCG(*faultsSeed, 7)), began: time.Now()}
	if s.ironic == "" {
		_, s.ironic = newIronic(t)
	}
	if o.endpoint == "" {
		o.endpoint = s.ironic
	}
	command := child.Command{Name: binary, Args: []string{"serve"}}
	if o.shell != "" {
		command = child.Command{Name: "/bin/sh", Args: []string{"-c", o.shell + ` && exec "$0" "$@"`, binary, "serve"}}
	}
	command.Env = child.ProductEnvironment(append([]string{
		"IRONIC_ENDPOINT=" + o.endpoint, "IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS=127.0.0.1:0",
		"MAX_CONCURRENT_PROVISIONING_HOSTS=" + strconv.Itoa(siteLimit), "IRONIC_THROTTLE_LOG_FORMAT=json",
		"IRONIC_THROTTLE_LINGER=1s", "IRONIC_THROTTLE_POLL_INTERVAL=1s",
		"IRONIC_THROTTLE_LEASE_TTL=4s",
		"IRONIC_THROTTLE_BREAKER_ENABLED=false",
	}, o.env...)...)
	s.Process, s.log = child.Serve(t, command, &s.at)
	if o.idle {
		return s
	}
	s.fleet = newFleetAs(t, o.auth, s.at.API, s.at.Gateway, s.ironic, siteHosts)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	s.fleet.work(ctx, &all)
	t.Cleanup(func() {
		stop()
		all.Wait()
	})
	s.goesOn("before the fault")
	return s
}

// pause is a time between two, drawn.
func (s *site) pause(least, most time.Duration) time.Duration {
	return least + time.Duration(s.draw.Int64N(int64(most-least)))
}

// wait lets time pass in which the product must stay alive.
func (s *site) wait(d time.Duration) {
	s.t.Helper()
	select {
	case <-s.Done():
		s.t.Fatalf("the product has ended: %v\n%s", s.Err(), s.log.Tail())
	case <-time.After(d):
	}
}

// goesOn waits until every host has had one more slot.
func (s *site) goesOn(when string) {
	s.t.Helper()
	before := s.fleet.counts()
	child.Await(s.t, 20*time.Millisecond, goesOn, "slot for every host "+when, func() bool {
		for i, n := range s.fleet.counts() {
			if n <= before[i] {
				return !s.Running()
			}
		}
		return true
	}, func() string {
		status, _ := get(s.t, s.at.API+"/v1/status")
		queue, _ := get(s.t, s.at.API+"/v1/queue")
		return fmt.Sprintf("%s\nof each %d\n%s%s%s", s.fleet, s.fleet.counts(), status, queue, s.log.Tail())
	})
	if !s.Running() {
		s.t.Fatalf("the product has ended %s: %v\n%s", when, s.Err(), s.log.Tail())
	}
}

// truthOf is what the fake knows.
func truthOf(t *testing.T, ironic string) (truth fakeironic.Truth) {
	t.Helper()
	text, err := get(t, ironic+"/fake/truth")
	if err == nil {
		err = json.Unmarshal([]byte(text), &truth)
	}
	if err != nil {
		t.Fatal(err)
	}
	return truth
}

func get(t *testing.T, url string) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	return string(text), err
}

// use is what the product takes of the machine.
type use struct {
	mib             float64
	files, routines int
}

func (u use) String() string {
	return fmt.Sprintf("%.0f MiB, %d descriptors, %d goroutines", u.mib, u.files, u.routines)
}

var routines = regexp.MustCompile(`(?m)^go_goroutines (\d+)$`)

func (s *site) use() (u use) {
	s.t.Helper()
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.PID()))
	if err != nil {
		s.t.Fatal(err)
	}
	m, err := s.Memory()
	if err != nil {
		s.t.Fatal(err)
	}
	page, err := get(s.t, s.at.Metrics+"/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	found := routines.FindStringSubmatch(page)
	if found == nil {
		s.t.Fatalf("no goroutines in %.300s", page)
	}
	u.mib, u.files = m.Most, len(files)
	u.routines, _ = strconv.Atoi(found[1])
	return u
}

// soundf is what must hold at the end of every fault; text tells what was done.
func (s *site) soundf(times int, format string, args ...any) {
	s.t.Helper()
	s.goesOn("after the fault")
	truth := truthOf(s.t, s.ironic)
	if truth.PeakWorking > siteLimit || truth.OverLimit > 0 {
		s.t.Errorf("%d hosts worked at once, limit %d; above it for %s", truth.PeakWorking, siteLimit, truth.OverLimit)
	}
	u := s.use()
	if u.mib > most || u.files > 400 || u.routines > 500 {
		s.t.Errorf("it takes %s", u)
	}
	table.add(s.t, times, fmt.Sprintf(format, args...), fmt.Sprintf("%d works, peak %d of %d; %s; %.0f s",
		truth.Started, truth.PeakWorking, siteLimit, u, time.Since(s.began).Seconds()))
}
