//go:build e2e

package kube

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
)

// restartPause is how long a replica that has ended is away, as a container is.
const restartPause = 500 * time.Millisecond

// deployment is a number of replicas in a namespace of their own. One that ends is
// started again, whatever the reason, until the test is over.
type deployment struct {
	*testing.T
	settings settings
	// front is what a life is told to be Ironic: so is known who sends what.
	front     func(*life) http.Handler
	namespace string
	selector  string // of the Service
	dir       string

	ctx     context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	seats []*seat
	made  int // seats until now
	lives []*life
}

// seat is the place of one replica: its pod, and its way to the API server.
type seat struct {
	name       string
	proxy      *realkube.Proxy
	kubeconfig string
	present    atomic.Pointer[life] // nil: nobody is there just now
	count      int
}

// life is one process of a replica.
type life struct {
	name string
	*child.Process
	seat  *seat
	log   *child.LogBook
	front http.Server
	at    struct{ API, Health, Metrics, Gateway string }

	ready, answers atomic.Bool // as a probe of the kubelet has found it
}

// deployReplicas prepares n replicas with the rights of the overlay high-availability.
// start lets them run.
func deployReplicas(t *testing.T, n int, s settings, front func(*life) http.Handler) *deployment {
	t.Helper()
	ns := namespace(t, "chaos")
	deploy(t, ns, rights(t, highAvailability, ns))
	d := &deployment{T: t, settings: s, front: front, namespace: ns, selector: selectorOf(t), dir: t.TempDir()}
	for range n {
		d.newSeat()
	}
	d.settings = clustered("http://nowhere/", "", ns).with(settings{"WATCH_NAMESPACE": ns}).with(s)
	return d
}

// newSeat makes a pod, for which nothing runs yet.
func (d *deployment) newSeat() *seat {
	d.Helper()
	proxy, err := cluster.Proxy()
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(proxy.Stop)
	d.mu.Lock()
	defer d.mu.Unlock()
	name := fmt.Sprintf("%s-%d", d.namespace, d.made)
	d.made++
	makePod(d.T, d.namespace, name)
	s := &seat{name: name, proxy: proxy, kubeconfig: kubeconfigOf(d.T, d.namespace, account, proxy.URL)}
	d.seats = append(d.seats, s)
	return s
}

// seated lists the seats that there are now.
func (d *deployment) seated() []*seat {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.seats)
}

func (d *deployment) start() {
	d.ctx, d.end = context.WithCancel(d.Context())
	d.Cleanup(d.stop)
	for _, s := range d.seated() {
		d.running.Go(func() { d.fill(s) })
	}
}

// stop ends all replicas, with kill -9: a paused one does not hear anything else.
func (d *deployment) stop() {
	d.end()
	d.running.Wait()
	if d.Failed() {
		for _, l := range d.everyone() {
			d.Logf("log of %s:\n%s", l.name, l.log.Tail())
		}
	}
}

// fill keeps a seat taken.
func (d *deployment) fill(s *seat) {
	for d.ctx.Err() == nil {
		l, err := d.begin(s)
		if err != nil {
			d.Errorf("%s: %v", s.name, err)
			return
		}
		if d.listens(l) {
			s.present.Store(l)
		}
		select {
		case <-l.Done():
		case <-d.ctx.Done():
		}
		s.present.Store(nil)
		l.Kill()
		d.running.Go(l.closeFront)
		wait(d.ctx, restartPause)
	}
}

func (d *deployment) begin(s *seat) (*life, error) {
	s.count++
	l := &life{name: fmt.Sprintf("%s.%d", s.name, s.count), seat: s, log: &child.LogBook{}}
	front, err := net.Listen("tcp", net.JoinHostPort(child.Loopback, "0"))
	if err != nil {
		return nil, err
	}
	l.front.Handler = d.front(l)
	d.running.Go(func() { _ = l.front.Serve(front) }) // until it is closed
	environment := d.settings.with(settings{
		"KUBECONFIG": s.kubeconfig, "POD_NAME": s.name, "IRONIC_ENDPOINT": "http://" + front.Addr().String(),
	}).environment()
	l.Process, err = child.Start(child.Command{
		Name: binary, Args: []string{"serve", "--ready-file", d.readyFile(l)}, Env: environment, Log: l.log,
	})
	if err != nil {
		l.closeFront()
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lives = append(d.lives, l)
	return l, nil
}

// closeFront lets what has come in be carried out first.
func (l *life) closeFront() { _ = l.front.Shutdown(context.Background()) }

func (d *deployment) readyFile(l *life) string { return filepath.Join(d.dir, l.name+".json") }

// listens waits until a life has opened its listeners; false when it ends before.
func (d *deployment) listens(l *life) bool {
	return l.ReadyFile(d.ctx, d.readyFile(l), &l.at) == nil
}

// endsWithin waits for the end of a process.
func (d *deployment) endsWithin(p *child.Process, log *child.LogBook, most time.Duration) {
	d.Helper()
	awaitFor(d.T, most, "end of a process that leads no more", func() bool { return !p.Running() }, log.Tail)
}

// find returns the life of that name, if its process runs and listens.
func (d *deployment) find(name string) *life {
	for _, s := range d.seated() {
		if l := s.present.Load(); l != nil && l.name == name && l.Running() {
			return l
		}
	}
	return nil
}

// everyone is all lives until now.
func (d *deployment) everyone() []*life {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]*life(nil), d.lives...)
}

// errors lists lines of the logs that should not be there: a leader that is cut off says that, and what it cannot save.
func (d *deployment) errors() (lines []string) {
	for _, l := range d.everyone() {
		for line := range strings.Lines(l.log.String()) {
			bad := strings.Contains(line, "level=ERROR") || strings.Contains(line, "panic") || strings.Contains(line, "DATA RACE")
			if bad && !strings.Contains(line, "this replica leads no more") && !strings.Contains(line, "not all is kept") {
				lines = append(lines, l.name+": "+line)
			}
		}
	}
	return lines
}

// wait waits for d unless ctx ends first.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
