package tell_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestTheEventOnTheHost(t *testing.T) {
	run(t, 300, func(b *bench) {
		b.pass(time.Second / 2)
		b.step("worker-7", "hold", "e1")
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
}

// TestWhatIsTold plays what happens to hosts. A step is a second and "host word": a reason of an answer, or one of
// released, refused (with why), ignored (with what), works, over, gone.
func TestWhatIsTold(t *testing.T) {
	for name, row := range map[string]struct{ steps, want string }{
		"a wait and its turn":     {"0 a full, 9 a turn, 70 a rate, 80 a works, 80 a granted, 90 a held-slot, 300 a granted", "1 a Waiting, 81 a Turn"},
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
		"notes before the situation": {"0 a full, 0 a refused e2, 0 a ignored", "1 a ReleaseRefused, 61 a Waiting"},
		"a turn that is over":        {"0 a full, 5 a works, 5 a granted, 30 a over, 130 a full, 130 b over, 131 b full", "1 a Waiting"},
		"a wait that is over":        {"0 a full, 0 a over, 0 b breaker-open, 0 b works", ""},
		"a note is never over":       {"0 a over, 0 a full, 0 a refused e2", "1 a ReleaseRefused"},
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
				if got := b.told(); got != row.want || b.Counts().Pending > 0 {
					t.Errorf("told\n%s\nwant\n%s", got, row.want)
				}
			})
		})
	}
}

// 5,000 hosts wait at once: no minute has more than the budget, the urgent go first, and all are told.
func TestAFloodOfWaitingHosts(t *testing.T) {
	run(t, 300, func(b *bench) {
		b.full(5000)
		b.pass(90 * time.Second)
		b.step("", "works", "")
		b.step(b.all[0].InvolvedObject.Name, "granted", "")
		b.step("another", "hold", "e")
		b.pass(2 * time.Second)
		if last := fmt.Sprint(b.all[len(b.all)-9:]); !strings.Contains(last, "ProvisioningTurn") || !strings.Contains(last, "ProvisioningHeld") {
			t.Error("a turn and a hold wait behind others")
		}
		b.pass(18 * time.Minute)
		for i := 300; i < len(b.all); i++ {
			if d := b.all[i].at - b.all[i-300].at; d < time.Minute {
				t.Fatalf("301 Events within %s", d)
			}
		}
		if n := len(b.all); n != 5002 || b.all[n-1].at > 19*time.Minute {
			t.Errorf("%d told, the last after %s", n, b.all[n-1].at)
		}
	})
}

// An outage loses nothing: afterwards the newest of each host is told, the first within 15 s.
func TestAnOutage(t *testing.T) {
	run(t, 300, func(b *bench) {
		b.fault = func(*corev1.Event) error { return errors.New("connection refused") }
		b.full(200)
		b.pass(5 * time.Minute)
		for i := range 100 {
			b.step(fmt.Sprint("h", i), "hold", "e")
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
	})
}

// A namespace that refuses holds up no other one, nor an Event that is refused the others of its namespace; and all are
// tried again: an API server that has just started refuses everybody.
func TestRefusals(t *testing.T) {
	events := schema.GroupResource{Resource: "events"}
	for name, row := range map[string]struct {
		fault   error
		refused func(*corev1.Event) bool
		others  int // that are told meanwhile
	}{
		"no right":              {apierrors.NewForbidden(events, "e", errors.New("no")), func(e *corev1.Event) bool { return e.Namespace == "metal3" }, 1},
		"an Event of its own":   {apierrors.NewInvalid(schema.GroupKind{}, "e", nil), func(e *corev1.Event) bool { return e.InvolvedObject.Name == "h0" }, 4},
		"whatever is asked for": {apierrors.NewTooManyRequests("later", 17), func(*corev1.Event) bool { return true }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, 300, func(b *bench) {
				b.fault = func(e *corev1.Event) error {
					if row.refused(e) {
						return row.fault
					}
					return nil
				}
				b.full(4)
				b.Released("prod", "p", "hand")
				b.pass(10 * time.Minute)
				if n := len(b.all); n != row.others || b.tries > 200 || strings.Count(b.log.String(), "WARN") != 1 {
					t.Errorf("%d told, %d tries; log: %s", n, b.tries, &b.log)
				}
				b.with(func() { b.fault = nil })
				if b.pass(2 * time.Minute); len(b.all) != 5 {
					t.Errorf("%d told after it", len(b.all))
				}
			})
		})
	}
}

// Whoever does not lead writes nothing; what is in force is told when it leads, who waits longest first. What changes
// while an Event is under way is told by the next one.
func TestTheLeadAndChanges(t *testing.T) {
	run(t, 300, func(b *bench) {
		b.with(func() { b.hush = true })
		b.pass(time.Second / 2)
		for _, host := range strings.Split("dbeca", "") {
			b.step(host, "full", "")
			b.pass(time.Second)
		}
		b.fault = func(e *corev1.Event) error {
			if e.InvolvedObject.Name == "d" && e.Reason == "ProvisioningWaiting" {
				b.step("d", "breaker-open", "")
			}
			return nil
		}
		b.with(func() { b.hush = false })
		b.pass(2 * time.Minute)
		if got, want := b.told(), "6 d Waiting, 6 b Waiting, 6 e Waiting, 6 c Waiting, 6 a Waiting, 66 d Paused"; got != want || b.tries != 6 {
			t.Errorf("told %s, want %s", got, want)
		}
	})
}

// Hosts of which nothing is worth remembering make room for others.
func TestHostsAreForgotten(t *testing.T) {
	run(t, 1, func(b *bench) {
		b.full(200_001)
		b.pass(70 * time.Second)
		for i := range 200_000 {
			b.step(fmt.Sprint("h", i), "done", "")
		}
		b.pass(70 * time.Second)
		b.step("new", "full", "")
		b.pass(2 * time.Minute)
		if got := b.told(); !strings.HasSuffix(got, "new Waiting") {
			t.Errorf("told %q", got)
		}
	})
}
