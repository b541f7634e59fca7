//go:build linux

package attack

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
)

// kept is a fake Ironic in this process, whose nodes outlive its listener as those of a real
// one outlive its processes in its database.
type kept struct {
	t       *testing.T
	server  *fakeironic.Server
	address string
	stop    context.CancelFunc
	ended   chan error
}

func newKept(t *testing.T) *kept {
	t.Helper()
	ports, err := child.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	k := &kept{t: t, address: net.JoinHostPort(child.Loopback, strconv.Itoa(ports[0])), server: newWorld(t, 1)}
	k.start()
	t.Cleanup(k.end)
	return k
}

func newWorld(t *testing.T, seed uint64) *fakeironic.Server {
	t.Helper()
	o := fakeironic.DefaultOptions()
	o.Seed = seed // its UUIDs too
	o.Fleet.Nodes, o.Fleet.Namespaces, o.Speed, o.AutomatedClean, o.Limit = 40, 3, 1200, false, siteLimit
	world, err := fakeironic.NewWorld(o, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return fakeironic.NewServer(world, time.Now)
}

func (k *kept) start() {
	l, err := net.Listen("tcp", k.address)
	if err != nil {
		k.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background()) // it outlives the test's: hosts end after it
	k.stop, k.ended = stop, make(chan error, 1)
	go func() { k.ended <- k.server.Serve(ctx, l) }()
}

func (k *kept) end() {
	k.stop()
	<-k.ended
}

// Ironic is restarted: its conductors lose the work that they do, its nodes are those of
// before.
func TestIronicIsRestarted(t *testing.T) {
	needsFaults(t)
	t.Parallel() // it mostly waits
	k := newKept(t)
	s := newSite(t, siteOptions{ironic: "http://" + k.address})
	const times = 10
	for i := range times {
		k.end()
		k.server.With(func(now time.Time, w *fakeironic.World) {
			for n := range 2 {
				// One that is still down by the world's clock stays so.
				_ = w.StopConductor(now, n, time.Minute, i%2 == 0)
			}
		})
		s.wait(s.pause(20*time.Millisecond, 5*time.Second))
		k.start()
		s.wait(s.pause(200*time.Millisecond, 2*time.Second))
	}
	s.soundf(times, "Ironic is restarted with its nodes, away for up to 5 s, every other time its conductors' work is lost")
}

// Ironic comes back with an empty database, as where it lies in a pod, and the hosts are
// registered anew, with new UUIDs: those that worked are available again, and nothing works.
func TestIronicForgets(t *testing.T) {
	needsFaults(t)
	t.Parallel() // it mostly waits
	k := newKept(t)
	s := newSite(t, siteOptions{ironic: "http://" + k.address})
	const times = 4
	peak := 0
	var tale []string
	for i := range times {
		k.end()
		if truth := k.server.Truth(); truth.OverLimit > 0 {
			t.Errorf("%d hosts worked at once, limit %d; above it for %s:\n%s", truth.PeakWorking, siteLimit, truth.OverLimit, strings.Join(tale, "\n"))
		} else {
			peak = max(peak, truth.PeakWorking)
		}
		k.server, tale = newWorld(t, uint64(i)+2), nil
		k.server.With(func(_ time.Time, w *fakeironic.World) {
			w.Watch(func(at time.Time, uuid string, works bool) {
				tale = append(tale, fmt.Sprint(at.Format("05.000"), uuid, works))
			})
		})
		s.wait(s.pause(20*time.Millisecond, 3*time.Second))
		k.start()
		s.wait(s.pause(500*time.Millisecond, 4*time.Second))
	}
	s.soundf(times, "Ironic loses its database: the hosts are registered anew, with new UUIDs (peak before: %d)", peak)
}

// Ironic's http_basic takes 45 ms of a processor for each request, and it has two.
func TestAnIronicWithExpensiveAccess(t *testing.T) {
	needsFaults(t)
	_, base := newIronic(t, "--username", "throttle", "--password", "secret")
	to, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	var processors [2]sync.Mutex
	var turn sync.Mutex
	asked := 0
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		turn.Lock()
		asked++
		mine := &processors[asked%len(processors)]
		turn.Unlock()
		mine.Lock()
		<-time.After(45 * time.Millisecond)
		mine.Unlock()
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	dir := t.TempDir()
	for name, text := range map[string]string{"username": "throttle", "password": "secret"} {
		if err := os.MkdirAll(filepath.Join(dir, "ironic"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "ironic", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := newSite(t, siteOptions{
		ironic: base, endpoint: front.URL, env: []string{"METAL3_AUTH_ROOT_DIR=" + dir},
		auth: "Basic " + base64.StdEncoding.EncodeToString([]byte("throttle:secret")),
	})
	turn.Lock()
	begun := asked
	turn.Unlock()
	const lasts = 20 * time.Second
	s.wait(lasts)
	turn.Lock()
	perSecond := float64(asked-begun) / lasts.Seconds()
	turn.Unlock()
	if strings.Contains(s.log.String(), "secret") {
		t.Error("the password is in the log")
	}
	s.soundf(1, "every request costs Ironic 45 ms of one of two processors (http_basic): %s requests a second", fmt.Sprintf("%.0f", perSecond))
}

// Two changes of a node within a second look alike in MySQL and MariaDB.
func TestStampsAreWholeSeconds(t *testing.T) {
	needsFaults(t)
	t.Parallel() // it mostly waits
	for _, skew := range []string{"0s", "90s"} {
		_, base := newIronic(t, "--whole-seconds", "--nulls-first", "--seed", strconv.FormatUint(*faultsSeed, 10), "--conductor-skew", skew, "--vanish", "0.05", "--flap", "0.2")
		s := newSite(t, siteOptions{ironic: base})
		s.wait(15 * time.Second)
		s.soundf(1, "stamps of whole seconds, as MariaDB keeps them; conductors %s apart", skew)
	}
}
