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
	gone         map[string]bool           // hosts that are not there
	over         map[string]bool           // hosts that neither wait nor work
	starts, hush bool                      // hosts work; this replica does not lead
}

func (b *bench) create(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
	e, ok := o.(*corev1.Event)
	if !ok {
		return fmt.Errorf("%T is no Event", o)
	}
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
			Client: interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{Create: b.create}),
			Stands: func(_, name string) (uid string, waits, works bool) {
				b.with(func() {
					if !b.gone[name] {
						uid = "uid-" + name
					}
					waits, works = !b.over[name], !b.over[name] && b.starts
				})
				return uid, waits, works
			},
			Leading: func() (leads bool) {
				b.with(func() { leads = !b.hush })
				return leads
			},
			PerMinute: perMinute, Instance: "pod-0", Log: slog.New(slog.NewTextHandler(&b.log, nil)), Now: time.Now,
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.Run(ctx) }()
		do(b)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// pass lets time go by. What the test has read before is not written at the same time.
func (b *bench) pass(d time.Duration) {
	b.with(func() {})
	<-time.After(d)
	synctest.Wait()
}

// answer is one with a message that tells it from others.
func answer(reason api.Reason, episode string) api.Answer {
	return api.Answer{Reason: reason, Ready: reason.Yes(), Message: string(reason), Episode: episode}
}

// told lists what was told since the last time, as "seconds host reason".
func (b *bench) told() string {
	synctest.Wait()
	var lines []string
	b.with(func() {
		for _, e := range b.all {
			lines = append(lines, fmt.Sprintf("%d %s %s", int(e.at.Seconds()), e.InvolvedObject.Name, strings.TrimPrefix(e.Reason, "Provisioning")))
		}
		b.all = nil
	})
	return strings.Join(lines, ", ")
}

func (b *bench) step(host, word, more string) {
	switch word {
	case "released":
		b.Released("metal3", host, "annotation")
	case "refused":
		b.ReleaseRefused("metal3", host, more)
	case "ignored":
		b.Ignored("metal3", host, more)
	case "works":
		b.with(func() { b.starts = true })
	case "over":
		b.with(func() { b.over[host] = true })
	case "gone":
		b.with(func() { b.gone[host] = true })
	default:
		b.Answered("metal3", host, answer(api.Reason(word), more))
	}
}
