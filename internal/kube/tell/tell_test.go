package tell_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/tell"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestTheEventOnTheHost(t *testing.T) {
	run(t, 300, func(b *bench) {
		b.pass(time.Second / 2)
		b.Answered("metal3", "worker-7", answer(api.ReasonHold, "e1"))
		b.pass(time.Second)
		at := metav1.NewTime(b.begun.Add(time.Second))
		want := &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: "metal3", Name: fmt.Sprintf("uid-worker-7.%x", at.UnixNano())},
			InvolvedObject: corev1.ObjectReference{APIVersion: "metal3.io/v1alpha1", Kind: "BareMetalHost", Namespace: "metal3", Name: "worker-7", UID: "uid-worker-7"},
			Reason:         "ProvisioningHeld", Message: "Held: hold; or annotate it with ironic-throttle.metal3.io/release=e1", Type: "Warning",
			Count: 1, FirstTimestamp: at, LastTimestamp: at,
			Source:              corev1.EventSource{Component: "ironic-throttle", Host: "pod-0"},
			ReportingController: "ironic-throttle", ReportingInstance: "pod-0",
		}
		if diff := cmp.Diff(want, b.all[0].Event); diff != "" {
			t.Error(diff)
		}
	})
	long := tell.Event(corev1.ObjectReference{}, "Normal", "r", strings.Repeat("ü", 1000)+"\xff", "", time.Now()).Message
	if len(long) > 1000 || len(long) < 997 || !strings.HasSuffix(long, "ü...") {
		t.Errorf("%d bytes: %s", len(long), long)
	}
}

// TestWhatIsTold plays what happens to hosts. A step is a second and "host word": a reason of an answer, or one of
// released, refused (with why), ignored (with what), works, over, gone.
func TestWhatIsTold(t *testing.T) {
	for name, row := range map[string]struct{ steps, want string }{
		"a wait and its turn, reasons and texts that change": {"0 a full, 9 a turn, 70 a rate, 80 a works, 80 a granted, 90 a held-slot, 300 a granted", "1 a Waiting, 81 a Turn"},
		"the next wait":           {"0 a full, 70 a works, 70 a granted, 200 a done, 201 a full", "1 a Waiting, 71 a Turn, 202 a Waiting"},
		"who never waits":         {"0 a works, 0 a granted, 1 a held-slot, 2 a done, 3 b exempt, 4 c observe, 5 d new", ""},
		"our start is no wait":    {"0 a starting, 60 a works, 60 a granted", ""},
		"unknown for long":        {"0 a stale, 50 a starting, 89 b stale, 95 b full", "91 a Undecided, 96 b Waiting"},
		"one a minute, newest":    {"0 a full, 5 a breaker-open, 6 a half-open, 20 a hold e1", "1 a Waiting, 61 a Held"},
		"back where it was":       {"0 a full, 5 a breaker-open, 20 a turn", "1 a Waiting"},
		"each failure":            {"0 a hold e1, 70 a hold e1, 100 a hold e2", "1 a Held, 101 a Held"},
		"a release":               {"0 a hold e1, 70 a released, 71 a released, 200 a works, 200 a granted", "1 a Held, 71 a Released, 201 a Turn"},
		"a release without a use": {"0 a refused e2, 100 a refused e2, 200 a refused e3", "1 a ReleaseRefused, 201 a ReleaseRefused"},
		"an annotation": {
			"0 a ignored x, 70 a ignored x, 80 a full, 90 a ignored, 150 a ignored x, 160 a ignored y, 250 a ignored z, 251 a ignored",
			"1 a AnnotationIgnored, 81 a Waiting, 151 a AnnotationIgnored, 211 a AnnotationIgnored",
		},
		"facts before the situation": {"0 a full, 0 a ignored x, 0 a refused e2", "1 a ReleaseRefused, 61 a AnnotationIgnored, 121 a Waiting"},
		"a turn that is over":        {"0 a full, 5 a works, 5 a granted, 30 a over, 130 a full, 130 b over, 131 b full", "1 a Waiting"},
		"a wait that is over":        {"0 a full, 0 a over, 0 b breaker-open, 0 b works", ""},
		"a fact is never over":       {"0 a over, 0 a full, 0 a refused e2", "1 a ReleaseRefused"},
		"a host that is gone":        {"0 a full, 0 b full, 0 b gone, 70 a gone, 70 a granted", "1 a Waiting"},
		"the urgent first": {
			"0 w1 full, 0 w2 full, 0 h hold e, 0 n refused e, 0 r released",
			"1 h Held, 1 n ReleaseRefused, 1 r Released, 1 w1 Waiting, 1 w2 Waiting",
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, 300, func(b *bench) {
				b.pass(time.Second / 2) // between two looks
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
				if n := b.Counts().Pending; n > 0 {
					t.Errorf("%d to tell", n)
				}
			})
		})
	}
}

// 5,000 hosts wait at once: no minute has more than the budget, the urgent go first, and all are told.
func TestAFloodOfWaitingHosts(t *testing.T) {
	run(t, 300, func(b *bench) {
		for i := range 5000 {
			b.Answered("metal3", fmt.Sprint("h", i), answer(api.ReasonFull, ""))
		}
		b.pass(90 * time.Second)
		b.with(func() { b.starts = true })
		known := map[string]bool{}
		for _, e := range b.all {
			known[e.InvolvedObject.Name] = true
		}
		untold := 0
		for known[fmt.Sprint("h", untold)] {
			untold++
		}
		b.Answered("metal3", b.all[0].InvolvedObject.Name, answer(api.ReasonGranted, ""))
		b.Answered("metal3", fmt.Sprint("h", untold), answer(api.ReasonHold, "e"))
		b.pass(2 * time.Second)
		last := fmt.Sprint(b.all[len(b.all)-9:])
		if !strings.Contains(last, "ProvisioningTurn") || !strings.Contains(last, "ProvisioningHeld") {
			t.Error("a turn and a hold wait behind others")
		}
		b.pass(18 * time.Minute)
		for i := 300; i < len(b.all); i++ {
			if d := b.all[i].at - b.all[i-300].at; d < time.Minute {
				t.Fatalf("301 Events within %s", d)
			}
		}
		if n := len(b.all); n != 5001 || b.all[n-1].at > 19*time.Minute {
			t.Errorf("%d told, the last after %s", n, b.all[n-1].at)
		}
	})
}

// An outage loses nothing: afterwards the newest of each host is told, the first within 15 s.
func TestAnOutage(t *testing.T) {
	run(t, 300, func(b *bench) {
		b.fault = func(*corev1.Event) error { return errors.New("connection refused") }
		for i := range 200 {
			b.Answered("metal3", fmt.Sprint("h", i), answer(api.ReasonFull, ""))
		}
		b.pass(5 * time.Minute)
		for i := range 100 {
			b.Answered("metal3", fmt.Sprint("h", i), answer(api.ReasonHold, "e"))
		}
		b.pass(5 * time.Minute)
		if b.tries > 90 || strings.Count(b.log.String(), "\n") != 1 || b.Counts().Pending != 200 {
			t.Errorf("%d tries, %+v; log: %s", b.tries, b.Counts(), &b.log)
		}
		b.with(func() { b.fault = nil })
		b.pass(15 * time.Second)
		if len(b.all) < 30 {
			t.Errorf("%d told after 15 s", len(b.all))
		}
		b.pass(time.Minute)
		all := b.told()
		if holds, waits := strings.Count(all, "Held"), strings.Count(all, "Waiting"); holds != 100 || waits != 100 || strings.Contains(all[:len(all)/3], "Waiting") {
			t.Errorf("%d holds, %d waits", holds, waits)
		}
		if strings.Count(b.log.String(), "\n") != 2 {
			t.Errorf("log: %s", &b.log)
		}
	})
}

// What the API server answers decides who is tried again, and when.
func TestFaults(t *testing.T) {
	events := schema.GroupResource{Resource: "events"}
	forbidden := apierrors.NewForbidden(events, "e", errors.New("no"))
	for name, row := range map[string]struct {
		fault       error
		holds       string        // whom: "all", "namespace" or "event"
		least, most int           // tries in ten minutes
		again       time.Duration // when all is told, of a fault that ends after 3 s; 0: it lasts
	}{
		"no right":                       {forbidden, "namespace", 8, 12, 0},
		"a server that has just started": {forbidden, "namespace", 2, 3, 6 * time.Second},
		"no such namespace":              {apierrors.NewNotFound(events, "e"), "namespace", 8, 12, 0},
		"unauthorized":                   {apierrors.NewUnauthorized("no"), "all", 50, 90, 0},
		"broken":                         {apierrors.NewInternalError(errors.New("no")), "all", 50, 90, 0},
		"asks for a pause":               {apierrors.NewTooManyRequests("later", 17), "all", 30, 36, 0},
		"refused for good":               {apierrors.NewInvalid(schema.GroupKind{Kind: "Event"}, "e", nil), "event", 1, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, 300, func(b *bench) {
				bad := 0
				b.fault = func(e *corev1.Event) error {
					if row.holds != "all" && e.Namespace != "bad" || row.again > 0 && time.Since(b.begun) >= 3*time.Second {
						return nil
					}
					bad++
					return row.fault
				}
				b.Answered("bad", "x", answer(api.ReasonFull, ""))
				b.Answered("good", "y", answer(api.ReasonFull, ""))
				if b.pass(2 * time.Second); (len(b.all) == 1) != (row.holds != "all") {
					t.Errorf("%d told beside", len(b.all))
				}
				if b.pass(row.again); row.again > 0 && len(b.all) != 2 {
					t.Errorf("%d told after the fault", len(b.all))
				}
				b.pass(10 * time.Minute)
				if bad < row.least || bad > row.most || strings.Count(b.log.String(), "WARN") != 1 {
					t.Errorf("%d tries, want %d to %d; log: %s", bad, row.least, row.most, &b.log)
				}
			})
		})
	}
}

// Whoever does not lead writes nothing; what is in force is told when it leads.
func TestNothingIsToldWithoutTheLead(t *testing.T) {
	run(t, 300, func(b *bench) {
		b.with(func() { b.hush = true })
		for _, host := range strings.Split("dbecahfglki", "") {
			b.Answered("metal3", host, answer(api.ReasonFull, ""))
			b.pass(time.Second)
		}
		if b.tries > 0 {
			t.Errorf("%d tries", b.tries)
		}
		b.with(func() { b.hush = false })
		b.pass(2 * time.Second)
		order := ""
		for _, e := range b.all {
			order += e.InvolvedObject.Name
		}
		if order != "dbecahfglki" {
			t.Errorf("told of %s, want who waits longest first", order)
		}
	})
}

// What changes while an Event is under way is told by the next one.
func TestChangesWhileItIsTold(t *testing.T) {
	run(t, 300, func(b *bench) {
		b.pass(time.Second / 2)
		b.fault = func(e *corev1.Event) error {
			switch e.Reason {
			case "ProvisioningWaiting":
				b.Answered("metal3", "a", answer(api.ReasonBreakerOpen, ""))
			case "ProvisioningAnnotationIgnored":
				b.Ignored("metal3", "b", "")
			}
			return nil
		}
		b.Answered("metal3", "a", answer(api.ReasonFull, ""))
		b.Ignored("metal3", "b", "x")
		b.pass(2 * time.Minute)
		b.Ignored("metal3", "b", "x") // again
		b.pass(time.Minute)
		if got, want := b.told(), "1 b AnnotationIgnored, 1 a Waiting, 61 a Paused, 121 b AnnotationIgnored"; got != want {
			t.Errorf("told %s, want %s", got, want)
		}
	})
}

// Hosts of which nothing is worth remembering make room for others.
func TestHostsAreForgotten(t *testing.T) {
	run(t, 1, func(b *bench) {
		const most = 200_000
		for _, reason := range []api.Reason{api.ReasonFull, api.ReasonDone} {
			for i := range most {
				b.Answered("metal3", fmt.Sprint("h", i), answer(reason, ""))
			}
			b.Answered("metal3", "one more", answer(reason, ""))
			b.pass(70 * time.Second)
		}
		b.told()
		b.Answered("metal3", "new", answer(api.ReasonFull, ""))
		b.pass(2 * time.Minute)
		if got := b.told(); !strings.HasSuffix(got, "new Waiting") {
			t.Errorf("told %q", got)
		}
	})
}

// Everybody at once, hosts that come and go while Events about them are under way, and an API server that hangs.
func TestAllAtOnce(t *testing.T) {
	run(t, 6000, func(b *bench) {
		var all sync.WaitGroup
		for worker := range 8 {
			all.Go(func() {
				for i := range 300 {
					host := fmt.Sprint("h", (worker+i)%30)
					switch i % 50 {
					case 7:
						b.Forget("metal3", host)
					case 8, 9, 10:
						b.step(host, []string{"released", "refused", "ignored"}[i%3], fmt.Sprint(i))
					default:
						b.Answered("metal3", host, answer(api.Reasons()[i%len(api.Reasons())], ""))
					}
					if i%20 == 0 {
						b.Counts()
						<-time.After(time.Second)
					}
				}
			})
		}
		all.Wait()
		b.pass(time.Hour)
		if s := b.Counts(); s.Pending != 0 || s.Sent < 30 {
			t.Errorf("%+v", s)
		}
	})
}
