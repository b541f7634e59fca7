package events

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestNewChecksItsOptions(t *testing.T) {
	good := Options{Config: &rest.Config{Host: "http://kube.test"}, Find: found}
	for _, row := range []struct {
		change func(*Options)
		want   string
	}{
		{func(*Options) {}, ""},
		{func(o *Options) { o.Config = nil }, "Config"},
		{func(o *Options) { o.Find = nil }, "Find"},
		{func(o *Options) { o.PerMinute = -1 }, "per minute: -1"},
		{func(o *Options) { o.PerMinute = maxPerMinute + 1 }, "per minute: 60001"},
		{func(o *Options) { o.Config = &rest.Config{Host: "::"} }, "recorder: "},
	} {
		o := good
		row.change(&o)
		_, err := New(o)
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%v, want %q", err, row.want)
		}
	}
}

func TestTheEventOnTheHost(t *testing.T) {
	inRoom(t, Options{Instance: "pod-0"}, func(r *room) {
		r.Answered("metal3", "worker-7", *no(api.ReasonFull, 12))
		r.after(0)
		now := metav1.NewTime(time.Now())
		want := []corev1.Event{{
			TypeMeta:       metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
			ObjectMeta:     metav1.ObjectMeta{Namespace: "metal3", Name: fmt.Sprintf("worker-7.%x", now.UnixNano())},
			InvolvedObject: corev1.ObjectReference{APIVersion: "metal3.io/v1alpha1", Kind: "BareMetalHost", Namespace: "metal3", Name: "worker-7", UID: "uid-worker-7"},
			Reason:         "ProvisioningWaiting", Message: "Waits to start: full at 12", Type: "Normal",
			Count: 1, FirstTimestamp: now, LastTimestamp: now,
			Source:              corev1.EventSource{Component: "ironic-throttle", Host: "pod-0"},
			ReportingController: "ironic-throttle", ReportingInstance: "pod-0",
		}}
		if diff := cmp.Diff(want, r.api.events); diff != "" {
			t.Error(diff)
		}
		r.api.told()
		r.Answered("metal3", "worker-7", *hold("e1"))
		r.after(perHost)
		if len(r.api.events) != 1 || r.api.events[0].Type != corev1.EventTypeWarning {
			t.Errorf("%+v", r.api.events)
		}
	})
}

func TestEventNames(t *testing.T) {
	now := time.Unix(1, 0)
	for host, want := range map[string]string{
		"worker-7":               "worker-7.3b9aca00",
		strings.Repeat("a", 252): "uid.3b9aca00",
		"not_a_name":             "uid.3b9aca00",
	} {
		if got := eventName(host, "uid", now); got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
}

// A 10 is enough to see that what was in force is kept, said once, and told in the end.
func TestFaultsAreSaidOnceAndTheNewestIsToldLater(t *testing.T) {
	for name, f := range map[string]fault{
		"no connection":     {broken: true},
		"no answer":         {hangs: true},
		"500":               {code: 500},
		"503":               {code: 503},
		"429":               {code: 429, retryAfter: "7"},
		"401":               {code: 401},
		"no right":          {code: 403},
		"no such namespace": {code: 404},
	} {
		t.Run(name, func(t *testing.T) {
			inRoom(t, Options{}, func(r *room) {
				r.api.faulty(always(f))
				for i := range 10 {
					r.Answered("metal3", fmt.Sprint("h", i), *no(api.ReasonFull, i+1))
				}
				r.after(30 * time.Minute)
				s := r.Stats().Events
				if s.Sent != 0 || s.Failed < 5 || s.Failed > 50 || s.Pending != 10 || int(s.Failed) > r.api.tries {
					t.Errorf("%+v of %d tries", s, r.api.tries)
				}
				if n := r.log.lines("WARN"); n != 1 {
					t.Errorf("%d warnings", n)
				}
				r.Answered("metal3", "h3", *yes(api.ReasonGranted))
				r.api.faulty(nil)
				r.after(mostBlock + perHost)
				all := r.api.told()
				if len(all) != 10 || !strings.Contains(strings.Join(all, "|"), "h3 ProvisioningTurn") {
					t.Errorf("%q", all)
				}
				if n := r.log.lines("INFO"); n != 1 {
					t.Errorf("%d lines that it is well again", n)
				}
			})
		})
	}
}

func TestRetryAfterIsHeeded(t *testing.T) {
	inRoom(t, Options{}, func(r *room) {
		r.api.faulty(always(fault{code: 429, retryAfter: "17"}))
		r.Answered("metal3", "a", *no(api.ReasonFull, 1))
		r.Answered("metal3", "b", *no(api.ReasonFull, 2))
		r.after(17*time.Second - 1)
		if r.api.tries != 1 {
			t.Errorf("%d tries", r.api.tries)
		}
		r.api.faulty(nil)
		r.after(1)
		r.wants("b ProvisioningWaiting", "a ProvisioningWaiting")
	})
}

func TestWhatIsRefusedForGoodIsDropped(t *testing.T) {
	inRoom(t, Options{}, func(r *room) {
		r.api.faulty(func(*http.Request) *fault { r.api.fault = nil; return &fault{code: 422} })
		r.Answered("metal3", "a", *no(api.ReasonFull, 1))
		r.Answered("metal3", "b", *no(api.ReasonFull, 2))
		r.wants("b ProvisioningWaiting")
		r.Answered("metal3", "a", *no(api.ReasonFull, 1))
		r.after(time.Hour)
		r.wants()
		if n := r.log.lines("WARN"); n != 1 {
			t.Errorf("%d warnings", n)
		}
	})
}

func TestAnEndingNamespaceStopsNobodyElse(t *testing.T) {
	inRoom(t, Options{}, func(r *room) {
		r.api.faulty(func(req *http.Request) *fault {
			if strings.Contains(req.URL.Path, "/ending/") {
				return &fault{code: 403}
			}
			return nil
		})
		for i := range 500 {
			r.Answered("ending", fmt.Sprint("h", i), *no(api.ReasonFull, 1))
		}
		r.Answered("metal3", "a", *no(api.ReasonFull, 1))
		r.wants("a ProvisioningWaiting")
		r.after(time.Hour)
		if s := r.Stats().Events; s.Failed > 20 {
			t.Errorf("%+v", s)
		}
		if n := r.log.lines("WARN"); n != 1 {
			t.Errorf("%d warnings", n)
		}
		for i := range 500 {
			r.Forget("ending", fmt.Sprint("h", i))
		}
		if s := r.Stats(); s.Events.Pending != 0 || s.Hosts != 1 {
			t.Errorf("%+v", s)
		}
	})
}

func TestOnlyHostsOfTheWatchAreTold(t *testing.T) {
	inRoom(t, Options{}, func(r *room) {
		r.Answered("", "bare", *no(api.ReasonFull, 1))
		r.Released("", "bare", "hand")
		r.ReleaseRefused("", "bare", "why")
		r.Forget("", "bare")
		r.wants()
		if s := r.Stats(); s != (Stats{}) {
			t.Errorf("%+v", s)
		}
	})
	gone := false // while it waits
	inRoom(t, Options{Find: func(string, string) (string, bool) { return "uid", !gone }}, func(r *room) {
		r.Answered("metal3", "a", *no(api.ReasonFull, 1))
		r.wants("a ProvisioningWaiting")
		gone = true
		r.Answered("metal3", "a", *yes(api.ReasonGranted))
		r.after(perHost)
		r.wants()
		if s := r.Stats(); s.Hosts != 0 || s.Events.Pending != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestReleases(t *testing.T) {
	inRoom(t, Options{}, func(r *room) {
		r.ReleaseRefused("metal3", "a", "older")
		r.Released("metal3", "b", "annotation")
		r.wants("a ProvisioningReleaseRefused", "b ProvisioningReleased")
		r.ReleaseRefused("metal3", "a", "older")
		r.after(time.Hour)
		r.wants()
	})
}

// While the API server hangs, whoever answers hosts does not: no time passes.
func TestNobodyWaitsForTheAPIServer(t *testing.T) {
	inRoom(t, Options{Annotate: true}, func(r *room) {
		r.api.faulty(always(fault{hangs: true}))
		r.Answered("metal3", "a", *no(api.ReasonFull, 1))
		r.after(settlePlace)
		start := time.Now()
		for i := range 100 {
			r.Answered("metal3", fmt.Sprint("h", i), *no(api.ReasonFull, 1))
			r.Answered("metal3", "a", *no(api.Reasons()[5+i%8], i))
			r.Released("metal3", "a", "hand")
			r.Stats()
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("took %v", d)
		}
	})
}

// TestAFloodOfWaitingHosts is half an hour with 1,000 hosts of which all wait and three a
// minute get their turn, and a budget in proportion: each is told once that it waits, and the turns at once.
func TestAFloodOfWaitingHosts(t *testing.T) {
	const hosts, perMinute = 1000, 60
	inRoom(t, Options{PerMinute: perMinute}, func(r *room) {
		turns := map[string]time.Time{}
		for minute := range 30 {
			for i := 3 * minute; i < hosts; i++ {
				name := fmt.Sprint("h", i)
				if i < 3*minute+3 {
					turns[name] = time.Now()
					r.Answered("metal3", name, *yes(api.ReasonGranted))
				} else {
					r.Answered("metal3", name, *no([]api.Reason{api.ReasonFull, api.ReasonTurn}[(minute+i)%2], i-3*minute))
				}
			}
			r.after(time.Minute)
		}
		told := map[string]int{}
		late := 0
		for i, e := range r.api.events {
			told[e.Reason]++
			if n := i - perMinute; n >= 0 && r.api.times[i].Sub(r.api.times[n]) < time.Minute {
				t.Fatalf("%d within %v", perMinute+1, r.api.times[i].Sub(r.api.times[n]))
			}
			if e.Reason == "ProvisioningTurn" && r.api.times[i].Sub(turns[e.InvolvedObject.Name]) > perHost+time.Second {
				late++
			}
		}
		// The first three never waited.
		if told["ProvisioningTurn"] != 87 || told["ProvisioningWaiting"] < hosts-90 || told["ProvisioningWaiting"] > hosts || late > 0 {
			t.Errorf("%v, %d turns late", told, late)
		}
	})
}

// Over a real connection, as rest.Config describes it.
func TestOverHTTP(t *testing.T) {
	s := &apiServer{}
	server := httptest.NewServer(s)
	defer server.Close()
	h, err := New(Options{Config: &rest.Config{Host: server.URL}, Find: found, Annotate: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // more than a busy machine needs
	defer cancel()
	h.Answered("metal3", "a", *yes(api.ReasonDone)) // takes away an annotation at once
	h.Released("metal3", "a", "hand")
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	for h.Stats().Events.Sent+h.Stats().Positions.Sent < 2 && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(time.Millisecond):
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	want := `a ProvisioningReleased|/apis/metal3.io/v1alpha1/namespaces/metal3/baremetalhosts/a {"metadata":{"annotations":{"ironic-throttle.metal3.io/position":null},"uid":"uid-a"}}`
	if got := strings.Join(s.told(), "|"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	h.api.server.Client.CloseIdleConnections()
}

// Everybody at once, and hosts that come and go while messages about them are under way.
func TestAllAtOnce(t *testing.T) {
	there := func(_, name string) (string, bool) { return "uid", !strings.HasSuffix(name, "9") }
	inRoom(t, Options{PerMinute: maxPerMinute, Annotate: true, Find: there}, func(r *room) {
		var all sync.WaitGroup
		for worker := range 8 {
			all.Go(func() {
				for i := range 500 {
					name := fmt.Sprint("h", (worker+i)%30)
					switch a := no(api.Reasons()[i%len(api.Reasons())], i%50); i % 50 {
					case 7:
						r.Forget("metal3", name)
					case 8:
						r.Released("metal3", name, "hand")
					case 9:
						r.ReleaseRefused("metal3", name, fmt.Sprint(i))
					default:
						a.Ready = a.Reason.Yes()
						r.Answered("metal3", name, *a)
					}
					if i%20 == 0 {
						r.Stats()
						<-time.After(time.Second)
					}
				}
			})
		}
		all.Wait()
		for i := range 30 {
			r.Answered("metal3", fmt.Sprint("h", i), *no(api.ReasonFull, 3))
		}
		r.after(time.Hour)
		if s := r.Stats(); s.Hosts != 27 || s.Events.Pending+s.Positions.Pending != 0 || s.Events.Sent == 0 || s.Positions.Sent < 27 {
			t.Errorf("%+v", s)
		}
	})
}
