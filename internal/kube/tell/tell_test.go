package tell_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/tell"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a Recorder that runs in virtual time.
type bench struct {
	*tell.Recorder
	begun time.Time
	log   bytes.Buffer

	mu           sync.Mutex
	all          []*corev1.Event // that the API server has taken
	tries        int
	fault        func(*corev1.Event) error // of a request; nil: it is taken
	gone, over   string                    // hosts that are not there; that neither wait nor work
	starts, hush bool                      // hosts work; this replica does not lead
}

func (b *bench) create(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) (err error) {
	e := o.(*corev1.Event)
	b.with(func() {
		if b.tries++; b.fault != nil {
			err = b.fault(e)
		}
		if err == nil {
			b.all = append(b.all, e)
		}
	})
	return err
}

func (b *bench) with(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do()
}

// run plays with a Recorder; between its looks it is half a second past.
func run(t *testing.T, do func(*bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{begun: time.Now()}
		b.Recorder = tell.New(tell.Options{
			Client: interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{Create: b.create}),
			Stands: func(_, name string) (uid string, waits, works bool) {
				b.with(func() {
					if name != b.gone {
						uid = "uid-" + name
					}
					waits, works = name != b.over, name != b.over && b.starts
				})
				return uid, waits, works
			},
			Leading:  func() (leads bool) { b.with(func() { leads = !b.hush }); return leads },
			Instance: "pod-0", Log: slog.New(slog.NewTextHandler(&b.log, nil)), Now: time.Now,
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- b.Run(ctx) }()
		b.pass(time.Second / 2)
		do(b)
		cancel()
		<-ended
	})
}

// pass lets time go by. What the test has read before is not written at the same time.
func (b *bench) pass(d time.Duration) {
	b.with(func() {})
	<-time.After(d)
	synctest.Wait()
}

// step lets something happen to a host: word is a reason of an answer, or one of the cases.
func (b *bench) step(host, word, more string) {
	switch word {
	case "works":
		b.with(func() { b.starts = true })
	case "over":
		b.with(func() { b.over = host })
	case "gone":
		b.with(func() { b.gone = host })
	default:
		reason := api.Reason(word)
		b.Answered("metal3", host, api.Answer{Reason: reason, Ready: reason.Yes(), Message: word, Episode: more})
	}
}

// full lets so many hosts wait.
func (b *bench) full(hosts int) {
	for i := range hosts {
		b.step(fmt.Sprint("h", i), "full", "")
	}
}

// told lists what was told, as "seconds host reason".
func (b *bench) told() string {
	var lines []string
	for _, e := range b.all {
		at := int(e.FirstTimestamp.Sub(b.begun).Seconds())
		lines = append(lines, fmt.Sprintf("%d %s %s", at, e.InvolvedObject.Name, strings.TrimPrefix(e.Reason, "Provisioning")))
	}
	return strings.Join(lines, ", ")
}

// TestWhatIsTold plays what happens to hosts. A step is a second and "host word": a reason of an answer, or one of works,
// over, gone.
func TestWhatIsTold(t *testing.T) {
	for name, row := range map[string]struct{ steps, want string }{
		"a wait and its turn":  {"0 a full, 9 a turn, 70 a rate, 80 a works, 80 a granted, 90 a held-slot, 300 a granted", "1 a Waiting, 81 a Turn"},
		"the next wait":        {"0 a full, 70 a works, 70 a granted, 200 a done, 201 a full", "1 a Waiting, 71 a Turn, 202 a Waiting"},
		"who never waits":      {"0 a works, 0 a granted, 1 a held-slot, 2 a done, 3 b exempt, 4 c observe, 5 d new", ""},
		"our start is no wait": {"0 a starting, 60 a works, 60 a granted", ""},
		"unknown for long":     {"0 a stale, 50 a starting, 89 b stale, 95 b full", "91 a Undecided, 96 b Waiting"},
		"one a minute, newest": {"0 a full, 5 a breaker-open, 6 a half-open, 20 a hold e1", "1 a Waiting, 61 a Held"},
		"back where it was":    {"0 a full, 5 a breaker-open, 20 a turn", "1 a Waiting"},
		"each failure":         {"0 a hold e1, 70 a hold e1, 100 a hold e2", "1 a Held, 101 a Held"},
		"a turn that is over":  {"0 a full, 5 a works, 5 a granted, 30 a over, 130 a full", "1 a Waiting"},
		"a wait that is over":  {"0 a full, 0 a over, 0 b breaker-open, 0 b works", ""},
		"a host that is gone":  {"0 a full, 0 b full, 0 b gone, 70 a gone, 70 a granted", "1 a Waiting"},
		"the urgent first":     {"0 w1 full, 0 w2 full, 0 h hold e", "1 h Held, 1 w1 Waiting, 1 w2 Waiting"},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(b *bench) {
				for step := range strings.SplitSeq(row.steps, ", ") {
					var at int
					var host, word, more string
					_, _ = fmt.Sscan(step, &at, &host, &word, &more)
					b.pass(time.Until(b.begun.Add(time.Duration(at)*time.Second + time.Second/2)))
					b.step(host, word, more)
					b.pass(time.Millisecond)
				}
				b.pass(10 * time.Minute)
				if got := b.told(); got != row.want {
					t.Errorf("told\n%s\nwant\n%s", got, row.want)
				}
			})
		})
	}
}

// 2,000 hosts wait at once: no minute has more than the budget, the urgent go first, and all are told.
func TestAFloodOfWaitingHosts(t *testing.T) {
	run(t, func(b *bench) {
		b.full(2000)
		b.pass(90 * time.Second)
		b.step("", "works", "")
		b.step(b.all[0].InvolvedObject.Name, "granted", "")
		b.step("another", "hold", "e1")
		b.pass(2 * time.Second)
		if last := fmt.Sprint(b.all[len(b.all)-9:]); !strings.Contains(last, "ProvisioningTurn") || !strings.Contains(last, "release=e1") {
			t.Error("a turn and a hold wait behind others")
		}
		b.pass(8 * time.Minute)
		for i := 300; i < len(b.all); i++ {
			if d := b.all[i].FirstTimestamp.Sub(b.all[i-300].FirstTimestamp.Time); d < time.Minute {
				t.Fatalf("301 Events within %s", d)
			}
		}
		if n := len(b.all); n != 2002 || time.Since(b.all[n-1].FirstTimestamp.Time) < 30*time.Second {
			t.Errorf("%d told, the last %s ago", n, time.Since(b.all[n-1].FirstTimestamp.Time))
		}
	})
}

// What fails is tried again, and said once: an outage loses nothing, and afterwards the newest of each host is told, the
// first within 15 s. A namespace that refuses holds up no other one, nor an Event that is refused the others of its
// namespace. Whoever does not lead writes nothing.
func TestFaults(t *testing.T) {
	events := schema.GroupResource{Resource: "events"}
	for name, row := range map[string]struct {
		fault  func(*corev1.Event) error
		told   int // meanwhile, of 201
		silent bool
	}{
		"an outage":        {func(*corev1.Event) error { return errors.New("connection refused") }, 0, false},
		"a server at work": {func(*corev1.Event) error { return apierrors.NewTooManyRequests("later", 17) }, 0, false},
		"no right in one namespace": {func(e *corev1.Event) error {
			if e.Namespace == "metal3" {
				return apierrors.NewForbidden(events, "e", errors.New("no"))
			}
			return nil
		}, 1, false},
		"one odd Event": {func(e *corev1.Event) error {
			if e.InvolvedObject.Name == "h0" {
				return apierrors.NewInvalid(schema.GroupKind{}, "e", nil)
			}
			return nil
		}, 299, false},
		"no lead": {nil, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(b *bench) {
				b.with(func() { b.fault, b.hush = row.fault, row.silent })
				b.full(200)
				b.Answered("prod", "p", api.Answer{Reason: api.ReasonHold, Episode: "e"})
				b.pass(5 * time.Minute)
				for i := range 100 {
					b.step(fmt.Sprint("h", i), "hold", "e")
				}
				b.pass(5 * time.Minute)
				if n := len(b.all); n != row.told || !row.silent && strings.Count(b.log.String(), "WARN") != 1 || row.told < 2 && b.tries > 160 {
					t.Errorf("%d told, %d tries; log: %s", n, b.tries, &b.log)
				}
				b.with(func() { b.fault, b.hush = nil, false })
				before := len(b.all)
				b.pass(15 * time.Second)
				if row.told == 0 && len(b.all) < 30 || strings.Contains(fmt.Sprint(b.all[before:]), "ProvisioningWaiting") {
					t.Errorf("%d told after 15 s", len(b.all))
				}
				b.pass(2 * time.Minute)
				all := b.told()
				if strings.Count(all, "Held") != 101 || strings.Count(all, "Waiting") != 100 && row.told < 2 {
					t.Errorf("%d told: %s", len(b.all), all)
				}
			})
		})
	}
}
