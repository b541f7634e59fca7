package tell_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/tell"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sent is an Event that the API server has taken.
type sent struct {
	at time.Duration
	*corev1.Event
}

// bench is a Recorder that runs in virtual time.
type bench struct {
	*tell.Recorder
	t     *testing.T
	begun time.Time
	log   bytes.Buffer

	mu           sync.Mutex
	all          []sent
	tries        int
	fault        func(*corev1.Event) error // of a request; nil: it is taken
	gone, over   map[string]bool           // hosts that are not there; that neither wait nor work
	starts, hush bool                      // hosts work; this replica does not lead
}

func (b *bench) create(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
	e := o.(*corev1.Event)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tries++; b.fault != nil {
		if err := b.fault(e); err != nil {
			return err
		}
	}
	b.all = append(b.all, sent{time.Since(b.begun), e.DeepCopy()})
	return nil
}

// stands tells of a host: b.mu is held by nobody who waits for the Recorder.
func (b *bench) stands(_, name string) (uid string, waits, works bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.gone[name] {
		uid = "uid-" + name
	}
	return uid, !b.over[name], !b.over[name] && b.starts
}

func (b *bench) with(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do()
}

func run(t *testing.T, perMinute int, do func(*bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, begun: time.Now(), gone: map[string]bool{}, over: map[string]bool{}}
		b.Recorder = tell.New(tell.Options{
			Client: interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{Create: b.create}), Stands: b.stands,
			Leading:   func() (leads bool) { b.with(func() { leads = !b.hush }); return leads },
			PerMinute: perMinute, Instance: "pod-0", Log: slog.New(slog.NewTextHandler(&b.log, nil)), Now: time.Now,
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- b.Run(ctx) }()
		do(b)
		cancel()
		<-ended
	})
}

// pass lets time go by.
func (b *bench) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// full lets so many hosts wait.
func (b *bench) full(hosts int) {
	for i := range hosts {
		b.step(fmt.Sprint("h", i), "full", "")
	}
}

// told lists what was told since the last time, as "seconds host reason".
func (b *bench) told() string {
	var lines []string
	b.with(func() {
		for _, e := range b.all {
			lines = append(lines, fmt.Sprintf("%d %s %s", int(e.at.Seconds()), e.InvolvedObject.Name, strings.TrimPrefix(e.Reason, "Provisioning")))
		}
		b.all = nil
	})
	return strings.Join(lines, ", ")
}

// step lets something happen to a host: word is a reason of an answer, or one of the cases.
func (b *bench) step(host, word, more string) {
	switch word {
	case "released":
		b.Released("metal3", host, "annotation")
	case "refused":
		b.Note("metal3", host, tell.ReleaseRefused, more)
	case "ignored":
		b.Note("metal3", host, tell.AnnotationIgnored, more)
	case "works":
		b.with(func() { b.starts = true })
	case "over":
		b.with(func() { b.over[host] = true })
	case "gone":
		b.with(func() { b.gone[host] = true })
	default:
		reason := api.Reason(word)
		b.Answered("metal3", host, api.Answer{Reason: reason, Ready: reason.Yes(), Message: word, Episode: more})
	}
}
