//go:build linux

package attack

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// Others hold connections open, at all listeners, and the process may have no more than so
// many descriptors: hosts go on all the same, for what it needs itself is kept back.
func TestDescriptorsAreFew(t *testing.T) {
	needsFaults(t)
	for _, few := range []string{"64", "256", "1024"} {
		t.Run(few, func(t *testing.T) {
			s := newSite(t, siteOptions{shell: "ulimit -n " + few})
			hold := newHolders(t, 600, s.at.API, s.at.Gateway, s.at.Health, s.at.Metrics)
			s.wait(5 * time.Second)
			probed, answered := 0, 0
			for range 20 { // as kubelet does, which ends a process after three without an answer
				probed++
				if s.healthy() {
					answered++
				}
				s.wait(500 * time.Millisecond)
			}
			if few != "64" && answered < probed-2 {
				t.Errorf("%d of %d probes answered", answered, probed)
			}
			s.goesOn("while others hold connections")
			t.Logf("in it: %d lines of the log; %s", s.log.Count(""), s.fleet)
			hold.end()
			s.wait(time.Second)
			if n := s.log.Count("too many open files"); n > 0 {
				t.Errorf("%d lines of the log, such as %s", n, s.log.Tail())
			}
			if s.log.Count("few descriptors") != 1 {
				t.Error("nothing was said of it")
			}
			s.soundf(1, "%s descriptors (ulimit -n), 600 silent connections to each of 4 listeners: %d of %d probes answered", few, answered, probed)
		})
	}
}

// holders keep connections open on which nothing is said, and come again when they are cut.
type holders struct {
	stop chan struct{}
	all  sync.WaitGroup
}

func newHolders(t *testing.T, n int, addresses ...string) *holders {
	t.Helper()
	h := &holders{stop: make(chan struct{})}
	for _, address := range addresses {
		host := strings.TrimPrefix(strings.TrimPrefix(address, "https://"), "http://")
		for range n {
			h.all.Go(func() { h.hold(host) })
		}
	}
	t.Cleanup(h.end)
	return h
}

func (h *holders) hold(host string) {
	for {
		conn, err := net.DialTimeout("tcp", host, 5*time.Second)
		if err == nil {
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				_, _ = conn.Read(make([]byte, 1))
			}()
			select {
			case <-gone:
			case <-h.stop:
			}
			_ = conn.Close()
			<-gone
		}
		select {
		case <-h.stop:
			return
		case <-time.After(5 * time.Second):
		}
	}
}

func (h *holders) end() {
	select {
	case <-h.stop:
	default:
		close(h.stop)
	}
	h.all.Wait()
}

func (s *site) healthy() bool {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.at.Health+"/healthz", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
