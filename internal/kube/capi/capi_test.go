package capi_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/capi"
)

type fields = map[string]any

// machine is one of the cluster c in the namespace ns, of the Metal3Machine that has its name too.
func machine(version, name string, status fields, annotations map[string]string) *unstructured.Unstructured {
	m := &unstructured.Unstructured{Object: fields{
		"apiVersion": "cluster.x-k8s.io/" + version, "kind": "Machine", "metadata": fields{"namespace": "ns", "name": name},
		"spec": fields{"clusterName": "c", "infrastructureRef": fields{"kind": "Metal3Machine", "name": name}}, "status": status,
	}}
	m.SetLabels(map[string]string{"cluster.x-k8s.io/cluster-name": "c", "pool": "workers"})
	m.SetAnnotations(annotations)
	return m
}

// check is a MachineHealthCheck of the pool of workers, with this in its spec too.
func check(version string, spec fields) *unstructured.Unstructured {
	spec["clusterName"], spec["selector"] = "c", fields{"matchLabels": fields{"pool": "workers"}}
	return &unstructured.Unstructured{Object: fields{
		"apiVersion": "cluster.x-k8s.io/" + version, "kind": "MachineHealthCheck",
		"metadata": fields{"namespace": "ns", "name": "workers", "uid": "u-1"}, "spec": spec,
	}}
}

// stage is an API server with objects of one version of Cluster API, and Checks that run on it.
type stage struct {
	*capi.Checks
	client.Client
	version string
	log     strings.Builder

	mu           sync.Mutex // guards the rest
	waits        map[capi.Machine]time.Duration
	unread, mute error // of lists, and of Events
	lists        int
}

func (s *stage) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func play(t *testing.T, version string, test func(*testing.T, *stage), objects ...client.Object) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{version: version}
		s.Client = fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				var unread error
				if s.set(func() { s.lists, unread = s.lists+1, s.unread }); unread != nil {
					return unread
				}
				if gvk := list.GetObjectKind().GroupVersionKind(); gvk.Group != "" && gvk.Version != s.version {
					return apierrors.NewNotFound(schema.GroupResource{}, "")
				}
				return c.List(ctx, list, opts...)
			},
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				s.mu.Lock()
				defer s.mu.Unlock()
				if s.mute != nil {
					return s.mute
				}
				return c.Create(ctx, o, opts...)
			},
		}).Build()
		s.Checks = &capi.Checks{
			Client: s.Client, Waits: s.waiting, Events: true, Instance: "throttle-0", Log: slog.New(slog.NewTextHandler(&s.log, nil)),
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		test(t, s)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func (s *stage) waiting() (all map[capi.Machine]time.Duration) {
	s.set(func() { all = s.waits })
	return all
}

// shows demands one warning with these words, none where there are none, and so many lines of the log and Events.
func (s *stage) shows(t *testing.T, after time.Duration, want string, lines, events int) {
	t.Helper()
	<-time.After(after)
	synctest.Wait()
	if got := s.Warnings(); (len(got) == 1) != (want != "") || want != "" && !strings.Contains(got[0], want) {
		t.Errorf("warnings %q, want %q", got, want)
	}
	var told corev1.EventList
	var unread error
	s.set(func() { s.unread, unread = nil, s.unread })
	if err := s.List(t.Context(), &told); err != nil || len(told.Items) != events {
		t.Errorf("%d Events, want %d; %v", len(told.Items), events, err)
	}
	s.set(func() { s.unread = unread })
	for _, e := range told.Items {
		if e.InvolvedObject.Kind != "MachineHealthCheck" || e.InvolvedObject.UID != "u-1" || e.Reason != capi.Reason || e.Type != corev1.EventTypeWarning {
			t.Errorf("%+v", e)
		}
	}
	if n := strings.Count(s.log.String(), "\n"); n != lines {
		t.Errorf("%d lines of the log, want %d:\n%s", n, lines, s.log.String())
	}
}

func waits(name string, d time.Duration) map[capi.Machine]time.Duration {
	return map[capi.Machine]time.Duration{{Namespace: "ns", Name: name}: d}
}

func TestWhichChecksAreWarnedOf(t *testing.T) {
	paused := check("v1beta2", fields{})
	paused.SetAnnotations(map[string]string{"cluster.x-k8s.io/paused": ""})
	of := func(seconds int64) *unstructured.Unstructured {
		return check("v1beta2", fields{"checks": fields{"nodeStartupTimeoutSeconds": seconds}})
	}
	waiting := machine("v1beta2", "m", nil, nil)
	other := machine("v1beta2", "m", nil, nil)
	other.SetLabels(map[string]string{"cluster.x-k8s.io/cluster-name": "other", "pool": "workers"})
	for name, row := range map[string]struct {
		version string
		check   *unstructured.Unstructured
		machine *unstructured.Unstructured
		wait    time.Duration
		want    string // after "ns/workers removes Machines that have no node after "
	}{
		"the default":            {"v1beta2", check("v1beta2", fields{}), waiting, 11 * time.Minute, "10m0s, but hosts of its Machines may wait 15m0s for a slot: raise its spec.checks.nodeStartupTimeoutSeconds above that"},
		"long enough by default": {"v1beta2", check("v1beta2", fields{}), waiting, 10 * time.Minute, ""},
		"its own":                {"v1beta2", of(3600), waiting, 61 * time.Minute, "1h0m0s, but hosts of its Machines may wait 2h0m0s for a slot"},
		"long enough":            {"v1beta2", of(7200), waiting, 2 * time.Hour, ""},
		"disabled":               {"v1beta2", of(0), waiting, 24 * time.Hour, ""},
		"paused":                 {"v1beta2", paused, waiting, time.Hour, ""},
		"of another cluster":     {"v1beta2", of(60), other, time.Hour, ""},
		"the Machine has a node": {"v1beta2", of(60), machine("v1beta2", "m", fields{"nodeRef": fields{"name": "n"}}, nil), time.Hour, ""},
		"it is not remediated":   {"v1beta2", of(60), machine("v1beta2", "m", nil, map[string]string{"cluster.x-k8s.io/skip-remediation": ""}), time.Hour, ""},
		"another one waits":      {"v1beta2", of(60), machine("v1beta2", "n", nil, nil), time.Hour, ""},
		"v1beta1": {"v1beta1", check("v1beta1", fields{"nodeStartupTimeout": "90s"}), machine("v1beta1", "m", nil, nil), 40 * time.Minute,
			"1m30s, but hosts of its Machines may wait 1h0m0s for a slot: raise its spec.nodeStartupTimeout above that and the time that provisioning takes, " +
				"or pause it while you scale up: kubectl annotate machinehealthcheck -n ns workers cluster.x-k8s.io/paused="},
		"v1beta1, disabled": {"v1beta1", check("v1beta1", fields{"nodeStartupTimeout": "0s"}), machine("v1beta1", "m", nil, nil), time.Hour, ""},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, row.version, func(t *testing.T, s *stage) {
				s.set(func() { s.waits = waits("m", row.wait) })
				if row.want == "" {
					s.shows(t, time.Minute, "", 0, 0)
					return
				}
				s.shows(t, time.Minute, "MachineHealthCheck ns/workers removes Machines that have no node after "+row.want, 1, 1)
			}, row.check.DeepCopy(), row.machine.DeepCopy())
		})
	}
}

func TestAWarningIsToldOnceWhileItStands(t *testing.T) {
	play(t, "v1beta2", func(t *testing.T, s *stage) {
		s.shows(t, time.Hour, "", 0, 0)
		if s.lists != 1 { // of the Events, by this test
			t.Errorf("%d lists while nobody waits", s.lists)
		}
		s.set(func() { s.mute = errors.New("no right") })
		s.set(func() { s.waits = waits("m", 11*time.Minute) })
		s.shows(t, 10*time.Minute, "may wait 15m", 1, 0)
		s.set(func() { s.mute = nil })
		s.shows(t, 10*time.Minute, "may wait 15m", 1, 1)
		s.set(func() { s.waits = waits("n", 15*time.Minute) })
		s.shows(t, 10*time.Minute, "may wait 15m", 1, 1)
		s.set(func() { s.waits = waits("n", 50*time.Minute) })
		s.shows(t, 10*time.Minute, "may wait 1h", 2, 2)
		s.set(func() { s.waits = nil })
		s.shows(t, 10*time.Minute, "", 2, 2)
		s.set(func() { s.waits = waits("n", 20*time.Minute) })
		s.shows(t, 10*time.Minute, "may wait 30m", 3, 3)
		s.set(func() { s.waits = waits("n", 50*time.Minute) })
		s.shows(t, 10*time.Minute, "may wait 1h", 3, 3) // it was told lately
		s.set(func() { s.waits = nil })
		s.shows(t, 2*time.Hour, "", 3, 3)
		s.set(func() { s.waits = waits("n", 20*time.Minute) })
		s.shows(t, 10*time.Minute, "may wait 30m", 4, 4)
		longer := []byte(`{"spec": {"checks": {"nodeStartupTimeoutSeconds": 1100}}}`)
		if err := s.Patch(t.Context(), check("v1beta2", fields{}), client.RawPatch(types.MergePatchType, longer)); err != nil {
			t.Fatal(err)
		}
		s.shows(t, 10*time.Minute, "after 18m20s", 5, 5)
	}, check("v1beta2", fields{}), machine("v1beta2", "m", nil, nil), machine("v1beta2", "n", nil, nil))
}

func TestWithoutTheRightItIsSaidOnce(t *testing.T) {
	play(t, "v1beta2", func(t *testing.T, s *stage) {
		noRight := apierrors.NewForbidden(schema.GroupResource{Resource: "machinehealthchecks"}, "", errors.New("no right"))
		s.set(func() { s.unread = noRight })
		s.set(func() { s.waits = waits("m", time.Hour) })
		s.shows(t, time.Hour, "", 1, 0)
		if s.lists > 61 || !strings.Contains(s.log.String(), "level=INFO") || !strings.Contains(s.log.String(), "component cluster-api gives the right") {
			t.Errorf("%d lists, log:\n%s", s.lists, s.log.String())
		}
		s.set(func() { s.unread = nil })
		s.shows(t, 10*time.Minute, "may wait 1h", 2, 1)
		s.set(func() { s.unread = errors.New("away") }) // what was known stays
		s.shows(t, 10*time.Minute, "may wait 1h", 3, 1)
		s.set(func() { s.unread, s.waits = nil, nil })
		s.shows(t, time.Minute, "", 3, 1)
	}, check("v1beta2", fields{}), machine("v1beta2", "m", nil, nil))
}
