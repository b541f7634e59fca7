package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/kube"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/holds"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

// hungStore is a place that does not answer before it is closed.
type hungStore struct {
	saves  atomic.Int32
	closed chan struct{}
	close  func()
}

func newHungStore() *hungStore {
	s := &hungStore{closed: make(chan struct{})}
	s.close = sync.OnceFunc(func() { close(s.closed) })
	return s
}

func (s *hungStore) Load() ([]holdoff.Record, bool, error) { return nil, true, nil }

func (s *hungStore) Save(holdoff.Batch) error {
	s.saves.Add(1)
	<-s.closed
	return fs.ErrClosed
}

func (s *hungStore) Close() error {
	s.close()
	return nil
}

// A place that does not answer does not hold up the end, whether a save runs or is the
// last one, and a release is not told then that it was saved.
func TestBO16_SavesThatHangDoNotHoldUpTheEnd(t *testing.T) {
	for name, running := range map[string]bool{"a save that runs": true, "the last save": false} {
		t.Run(name, func(t *testing.T) {
			play(t, anHour, func(s *stage) {
				heldHost(s)
				store := newHungStore()
				s.app.holds.keepIn(store)
				if _, err := s.app.controller.ReleaseHold(time.Now(), "metal3", "lab", "first"); err != nil {
					t.Fatal(err)
				}
				if running {
					s.app.holds.changed()
					s.pass(time.Second)
				}
				s.stop() // fails when a part does not end in time
				if store.saves.Load() != 1 {
					t.Errorf("%d saves", store.saves.Load())
				}
				if err := s.app.holds.saveSoon(); !errors.Is(err, errClosed) {
					t.Errorf("a release after the end: %v", err)
				}
			})
		})
	}
}

type failingStore struct {
	*hungStore
	err func() error
}

func (s failingStore) Save(holdoff.Batch) error { return s.err() }

// Errors that differ each time are not logged each time.
func TestSavesThatFailAreToldOnceAMinute(t *testing.T) {
	play(t, anHour, func(s *stage) {
		heldHost(s)
		var n atomic.Int32
		var back atomic.Bool
		s.app.holds.keepIn(failingStore{newHungStore(), func() error {
			if back.Load() {
				return nil
			}
			return errors.New("fault " + strconv.Itoa(int(n.Add(1))))
		}})
		if _, err := s.app.controller.ReleaseHold(time.Now(), "metal3", "lab", "first"); err != nil {
			t.Fatal(err)
		}
		s.pass(90 * time.Second)
		if got := s.log.count("cannot be saved"); got != 2 || n.Load() < 10 {
			t.Errorf("%d lines for %d faults", got, n.Load())
		}
		back.Store(true)
		s.pass(saveInterval)
		if s.log.count("are saved again") != 1 {
			t.Error("it is not said that they are saved again")
		}
	})
}

// kubeconfig is a file that leads to nowhere.
func kubeconfig(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	const text = `{"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c"}}],
		"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// configMap is what an API server must know of one.
type configMap struct {
	Metadata   map[string]any    `json:"metadata"`
	Data       map[string]string `json:"data,omitempty"`
	BinaryData map[string][]byte `json:"binaryData,omitempty"`
}

// configMaps is an API server with nothing else, in memory.
type configMaps struct {
	mu      sync.Mutex
	away    bool
	version int
	maps    map[string]*configMap
}

func (c *configMaps) set(away bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = away
}

func (c *configMaps) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var in configMap
	name := path.Base(r.URL.Path)
	if r.Body != nil {
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			return nil, err
		}
		name, _ = in.Metadata["name"].(string)
	}
	code, reason := http.StatusOK, ""
	switch old := c.maps[name]; {
	case c.away:
		code, reason = http.StatusServiceUnavailable, "ServiceUnavailable"
	case r.Method != http.MethodPost && old == nil:
		code, reason = http.StatusNotFound, "NotFound"
	case r.Method == http.MethodPut && in.Metadata["resourceVersion"] != old.Metadata["resourceVersion"]:
		code, reason = http.StatusConflict, "Conflict"
	case r.Method != http.MethodGet:
		c.version++
		in.Metadata["resourceVersion"] = strconv.Itoa(c.version)
		c.maps[name] = &in
	}
	var answer any = c.maps[name]
	if reason != "" {
		answer = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": "it is away"}
	}
	body, err := json.Marshal(answer)
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: r,
	}, err
}

// options are of the ledger in c.
func (c *configMaps) options(t *testing.T, pod string) *holds.Options {
	t.Helper()
	cluster, err := kube.Connect(kube.Options{Kubeconfig: kubeconfig(t), Namespace: "metal3"})
	if err != nil {
		t.Fatal(err)
	}
	cluster.Config.Transport, cluster.Config.ContentType = c, "application/json"
	return &holds.Options{Config: cluster.Config, Namespace: cluster.Namespace, Name: "holds", Identity: pod}
}

// inConfigMaps plays an App that keeps its holds in c, and has no election. done gets
// what Run returns.
func inConfigMaps(t *testing.T, c *configMaps, script func(s *stage, stop func(), done <-chan error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		world, err := fakeironic.NewWorld(fakeironic.DefaultOptions(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		s := &stage{T: t, log: &logBook{}, ironic: fakeironic.NewServer(world, time.Now)}
		o := Options{Config: config.Default(), Log: s.log.logger(), Transport: s.ironic.Transport()}
		o.Config.Ironic.Endpoint, o.Config.Listen = "http://ironic/v1", config.Listen{}
		if s.app, err = New(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		s.app.holdMap = c.options(t, "pod-a")
		s.app.begun.Store(false)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		done := make(chan error, 1)
		go func() { done <- s.app.Run(ctx) }()
		script(s, stop, done)
	})
}

// The decision begins with the holds, not before, and says meanwhile what it waits for.
func TestBO16_NobodyStartsBeforeTheHoldsAreRead(t *testing.T) {
	c := &configMaps{maps: map[string]*configMap{}, away: true}
	inConfigMaps(t, c, func(s *stage, stop func(), done <-chan error) {
		s.pass(2 * time.Second)
		why := s.app.standby()
		if s.app.mayStart() || !strings.Contains(why, "before the holds of failed hosts are read") || !strings.Contains(why, "it is away") {
			t.Errorf("it decides, or says %q", why)
		}
		c.set(false)
		s.pass(2 * time.Second)
		if !s.app.mayStart() {
			t.Errorf("it does not decide, and says %q", s.app.standby())
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// An end that comes before the holds are read is none that has to be told.
func TestTheEndBeforeTheHoldsAreRead(t *testing.T) {
	c := &configMaps{maps: map[string]*configMap{}, away: true}
	inConfigMaps(t, c, func(s *stage, stop func(), done <-chan error) {
		s.pass(2 * time.Second)
		stop()
		if err := <-done; err != nil || s.log.count("level=ERROR") > 0 {
			t.Errorf("%v, log: %s", err, &s.log.text)
		}
	})
}

// Where two processes have the same ConfigMaps the older one ends, well before the newer
// one says its first yes, and names it.
func TestLH27_TheOlderOfTwoEnds(t *testing.T) {
	c := &configMaps{maps: map[string]*configMap{}}
	newer := c.options(t, "pod-b") // now: it sets the logger that a process has one of
	inConfigMaps(t, c, func(s *stage, _ func(), done <-chan error) {
		s.pass(time.Minute)
		other, err := holds.Open(s.Context(), *newer)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		begin := time.Now()
		if err := <-done; !errors.Is(err, holds.ErrTakenOver) || !strings.Contains(err.Error(), "pod-b_") {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(begin); took > config.Default().Leases.StartupSettle/2 {
			t.Errorf("it has gone on for %s", took)
		}
	})
}

// The ledger knows the pod, and with an election who leads.
func TestLH27_TheLedgerAsksTheElection(t *testing.T) {
	file := kubeconfig(t)
	for _, elect := range []bool{false, true} {
		c := config.Default()
		c.Kubernetes.On, c.Kubernetes.Kubeconfig, c.Kubernetes.Namespace = true, file, "metal3"
		c.Kubernetes.Identity, c.Kubernetes.Leader.Elect, c.Holdoff.ConfigMap = "pod-a", elect, "holds"
		c.Ironic.Endpoint = "http://ironic"
		a := &App{now: time.Now, log: (&logBook{}).logger()}
		if err := a.newKube(&Options{Config: c}); err != nil {
			t.Fatal(err)
		}
		if o := a.holdMap; o.Identity != "pod-a" || (o.Leading != nil) != elect || elect && o.Leading() {
			t.Errorf("%+v with an election: %v", o, elect)
		}
	}
}
