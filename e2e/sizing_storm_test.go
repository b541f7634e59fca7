//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

const (
	askAgain   = 2 * time.Second  // between two tries of one host
	backOff    = 4 * time.Second  // after a failure
	unseen     = 30 * time.Second // after a yes: no look at the truth takes so long
	askWorkers = 24               // that try at once
	lookEvery  = 100 * time.Millisecond
	patience   = 3 * time.Minute // in which nothing changes

	sizingLinger = time.Second
)

// sizingStorm is a number of hosts that all want to be deployed, at a site that can boot some
// of them at once, through a gateway that finds out how many.
type sizingStorm struct {
	*lab
	crowd   crowdedSite
	truth   *realironic.Truth
	site    *realironic.Site
	gateway *gateway
	status  *api.Client

	seen  int       // changes of truth
	moved time.Time // when the last of these was seen
	looks []look    // at the limit

	mu      sync.Mutex
	clients map[string]*hostClient // by UUID
	fault   error
}

// hostClient asks for one host.
type hostClient struct {
	state  ironic.State // as truth has shown it
	asking bool
	next   time.Time   // not before
	begun  []time.Time // requests that may have begun work
	broken bool        // nobody knows what became of one
}

// memory is a folder that needs no disk, "" where there is none. Each deployment writes to
// Ironic's database dozens of times: on a disk that is busy with something else requests took
// half a minute.
func memory() string {
	const dir = "/dev/shm"
	probe, err := os.MkdirTemp(dir, "ironic-")
	if err != nil {
		return ""
	}
	_ = os.Remove(probe)
	return dir
}

func newSizingStorm(t *testing.T, c crowdedSite) *sizingStorm {
	t.Helper()
	s := &sizingStorm{crowd: c, clients: map[string]*hostClient{}}
	s.lab = newLab(t, realironic.Options{Dir: memory(), Settings: map[string]map[string]string{"conductor": {
		"deploy_callback_timeout": fmt.Sprint(int(c.timeout.Seconds())), "check_provision_state_interval": "1",
	}}})
	s.addHosts()
	var err error
	if s.truth, err = s.ironic.WatchTruth(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.truth.Stop(); err != nil {
			t.Log(err) // a busy machine; states last for seconds here
		}
	})
	if s.site, err = s.ironic.OpenSite(s.truth, realironic.SiteOptions{Boot: c.boot, Capacity: c.capacity, Most: c.most}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.site.Close)
	// A breaker would end the overload in its own way.
	s.gateway = serveGateway(t, s.ironic, fmt.Sprintf("MAX_CONCURRENT_PROVISIONING_HOSTS=%d", c.ceiling),
		"IRONIC_THROTTLE_LIMIT_MODE=adaptive", "IRONIC_THROTTLE_LINGER="+sizingLinger.String(), "IRONIC_THROTTLE_BREAKER_ENABLED=false").settled()
	if s.status, err = api.NewClient(s.gateway.at.API); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.status.CloseIdleConnections)
	return s
}

// addHosts makes nodes that boot at the site, and are active soon after.
func (s *sizingStorm) addHosts() {
	s.Helper()
	batch := realironic.Batch{Count: s.crowd.hosts, Prefix: key("host-"), State: string(ironic.Available)}
	if err := s.ironic.AddNodes(s.Context(), batch); err != nil {
		s.Fatal(err)
	}
	// Without deploy_forces_oob_reboot Ironic waits for half a minute until the agent has
	// powered the host off.
	const boots = `UPDATE nodes SET deploy_interface = 'custom-agent', driver_info = '{"deploy_forces_oob_reboot": true}';`
	if _, err := s.ironic.SQL(s.Context(), boots); err != nil {
		s.Fatal(err)
	}
}

// deploy lets the client of each host try until all of them are active, as long as something
// changes.
func (s *sizingStorm) deploy() {
	s.Helper()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var asking sync.WaitGroup
	defer asking.Wait()
	workers := make(chan struct{}, askWorkers)
	for s.moved = time.Now(); ; {
		active := s.watch()
		s.look()
		if active == s.crowd.hosts {
			return
		}
		if err := s.failed(); err != nil {
			s.Fatal(err)
		}
		if time.Since(s.moved) > patience {
			s.Fatalf("%d of %d hosts are active, and nothing has changed for %s", active, s.crowd.hosts, patience)
		}
		for _, uuid := range s.due(askWorkers - len(workers)) {
			workers <- struct{}{}
			asking.Go(func() {
				s.ask(uuid)
				<-workers
			})
		}
		select {
		case <-tick.C:
		case <-s.Context().Done():
			s.Fatal(s.Context().Err())
		}
	}
}

// watch takes in what has changed, and counts the hosts that are active.
func (s *sizingStorm) watch() (active int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.truth.Changes()[s.seen:] {
		s.seen++
		s.moved = time.Now()
		h := s.clients[c.UUID]
		if h == nil {
			h = &hostClient{}
			s.clients[c.UUID] = h
		}
		if h.state = ironic.State(c.State); h.state == ironic.DeployFailed {
			h.next = time.Now().Add(backOff)
		}
	}
	for _, h := range s.clients {
		if h.state == ironic.Active {
			active++
		}
	}
	return active
}

// look notes the limit. What a busy machine keeps from answering is looked at again soon.
func (s *sizingStorm) look() {
	begun := time.Now()
	st, err := s.status.Status(s.Context())
	if err == nil {
		s.looks = append(s.looks, look{begun: begun, ended: time.Now(), limit: st.Slots.Total.Limit, polled: st.View.TakenAt})
	}
}

// due are hosts, up to so many, whose clients ask now.
func (s *sizingStorm) due(most int) (uuids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for uuid, h := range s.clients {
		if len(uuids) == most {
			break
		}
		if idle := h.state == ironic.Available || h.state == ironic.DeployFailed; idle && !h.asking && now.After(h.next) {
			h.asking, h.next = true, now.Add(askAgain)
			uuids = append(uuids, uuid)
		}
	}
	return uuids
}

// ask tries once to deploy a node. A 409 is a no, as to BMO.
func (s *sizingStorm) ask(uuid string) {
	begun := time.Now()
	status, answer, err := s.put(uuid)
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.clients[uuid]
	h.asking = false
	switch {
	case err != nil: // it may have begun the work all the same
		h.broken = true
		h.begun = append(h.begun, begun)
	case status == http.StatusAccepted:
		h.begun = append(h.begun, begun)
		h.next = time.Now().Add(unseen) // until truth shows that the node is busy
	case status == http.StatusConflict:
	case status == http.StatusBadRequest && h.broken:
	case s.fault == nil:
		s.fault = fmt.Errorf("PUT of %s: %d: %s", uuid, status, answer)
	}
}

func (s *sizingStorm) put(uuid string) (status int, answer string, err error) {
	url := s.gateway.url + "/v1/nodes/" + uuid + "/states/provision"
	req, err := http.NewRequestWithContext(s.Context(), http.MethodPut, url, strings.NewReader(`{"target":"active"}`))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("X-OpenStack-Ironic-API-Version", "1.81")
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.ironic.Client().Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, string(text), err
}

func (s *sizingStorm) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

// requests are the begins of those that may have started work, by UUID.
func (s *sizingStorm) requests() map[string][]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string][]time.Time{}
	for uuid, h := range s.clients {
		all[uuid] = h.begun
	}
	return all
}
