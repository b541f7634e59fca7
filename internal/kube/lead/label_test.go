package lead_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/lead"
)

const role, cost = "ironic-throttle.metal3.io/role", "controller.kubernetes.io/pod-deletion-cost"

// pods is a namespace with the pods a and b, of which a is ours.
type pods struct {
	client.WithWatch
	t       *testing.T
	mu      sync.Mutex // held while the rest is written
	asked   []string   // pods that were patched, with + for the label on
	refused atomic.Bool
	slow    time.Duration
	log     bytes.Buffer
	leading atomic.Bool
	label   lead.Label
}

func newPods(t *testing.T, former string) *pods {
	pod := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "metal3", Name: name, Labels: map[string]string{"app": "throttle"}}}
	}
	p := &pods{t: t, WithWatch: fake.NewClientBuilder().WithObjects(pod("a"), pod("b")).Build()}
	p.label = lead.Label{
		Client: interceptor.NewClient(p.WithWatch, interceptor.Funcs{Patch: p.patch}), Namespace: "metal3", Pod: "a",
		Leading: p.leading.Load, Former: func() string { return former }, Log: slog.New(slog.NewTextHandler(&p.log, nil)),
	}
	return p
}

func (p *pods) patch(ctx context.Context, c client.WithWatch, o client.Object, how client.Patch, _ ...client.PatchOption) error {
	text, err := how.Data(o)
	if err != nil {
		return err
	}
	sign := "-"
	if strings.Contains(string(text), `"leader"`) {
		sign = "+"
	}
	var slow time.Duration
	p.with(func() { p.asked, slow = append(p.asked, sign+o.GetName()), p.slow })
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(slow):
	}
	if p.refused.Load() {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, o.GetName(), errors.New("no right"))
	}
	return c.Patch(ctx, o, how)
}

func (p *pods) with(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
}

// pass lets time go by. What the test has read before is not written at the same time.
func (p *pods) pass(d time.Duration) {
	p.with(func() {})
	<-time.After(d)
	synctest.Wait()
}

// set labels a pod as somebody else would, or takes its label off.
func (p *pods) set(name string, on bool) {
	pod := &corev1.Pod{}
	if err := p.Get(context.Background(), client.ObjectKey{Namespace: "metal3", Name: name}, pod); err != nil {
		p.t.Fatal(err)
	}
	pod.Annotations = map[string]string{}
	if delete(pod.Labels, role); on {
		pod.Labels[role], pod.Annotations[cost] = "leader", "100"
	}
	if err := p.Update(context.Background(), pod); err != nil {
		p.t.Fatal(err)
	}
}

// leaders are the pods that a Service selects. Label and cost go together, and nothing else may have changed.
func (p *pods) leaders() (found string) {
	p.t.Helper()
	synctest.Wait()
	var all corev1.PodList
	if err := p.List(context.Background(), &all); err != nil {
		p.t.Fatal(err)
	}
	for _, pod := range all.Items {
		if pod.Labels[role] == "leader" {
			found += pod.Name
		}
		if (pod.Labels[role] == "leader") != (pod.Annotations[cost] == "100") || pod.Labels["app"] != "throttle" {
			p.t.Errorf("%s: %v %v", pod.Name, pod.Labels, pod.Annotations)
		}
	}
	return found
}

// during runs the label in a bubble while do runs, and says how long its end took.
func during(t *testing.T, former string, do func(*pods)) (end time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPods(t, former)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		defer func() { <-ended }()
		defer cancel()
		p.set("a", true) // of a process of ours that was killed
		p.set("b", true) // which leads
		go func() {
			defer close(ended)
			p.label.Run(ctx)
		}()
		do(p)
		begun := time.Now()
		cancel()
		<-ended
		end = time.Since(begun)
		if got := p.leaders(); strings.Contains(got, "a") && p.slow == 0 && !p.refused.Load() {
			t.Errorf("leaders %q after the end", got)
		}
	})
	return end
}

func TestTheLabelFollowsTheLead(t *testing.T) {
	during(t, "b_x1y", func(p *pods) {
		if p.label.Fault() == nil {
			t.Error("the label is known before it was written")
		}
		if got := p.leaders(); got != "b" || p.label.Fault() != nil {
			t.Errorf("standing by: %q, %v", got, p.label.Fault())
		}
		for _, row := range []struct {
			leads bool
			want  string
		}{{true, "a"}, {false, ""}, {true, "a"}} {
			p.leading.Store(row.leads)
			if p.pass(time.Second); p.leaders() != row.want {
				t.Errorf("leading %t: %q", row.leads, p.leaders())
			}
		}
		p.set("a", false) // by somebody else
		if p.pass(16 * time.Second); p.leaders() != "a" {
			t.Error("the label is not written again")
		}
		if p.log.Len() > 0 {
			t.Errorf("log: %s", &p.log)
		}
	})
}

// Who led before may be gone, have been here, or be unknown: anything may stand in a Lease.
func TestWhoLedBefore(t *testing.T) {
	for former, want := range map[string]string{
		"": "-a +a", "nobody": "-a +a", "a_0": "-a +a", "gone_0": "-a +a -gone", "b_0": "-a +a -b", "no_pod_0": "-a +a", "../b_0": "-a +a",
	} {
		during(t, former, func(p *pods) {
			p.pass(time.Second)
			p.leading.Store(true)
			p.pass(5 * time.Second)
			if got := strings.Join(p.asked, " "); got != want || p.log.Len() > 0 {
				t.Errorf("%q: %s, want %s; log %s", former, got, want, &p.log)
			}
		})
	}
}

// A fault is logged once, is retried without haste, and passes. An API server that hangs keeps no process from ending.
func TestALabelThatCannotBeWritten(t *testing.T) {
	during(t, "", func(p *pods) {
		p.refused.Store(true)
		p.leading.Store(true)
		p.pass(time.Hour)
		if err := p.label.Fault(); err == nil || !strings.Contains(err.Error(), "no right") {
			t.Errorf("fault: %v", err)
		}
		if n := len(p.asked); n > 1900 {
			t.Errorf("asked %d times in an hour", n)
		}
		p.refused.Store(false)
		p.pass(5 * time.Second)
		if got := fmt.Sprint(p.leaders(), p.label.Fault(), strings.Count(p.log.String(), "\n")); got != "ab<nil> 2" {
			t.Errorf("%s: %s", got, &p.log)
		}
	})
	if took := during(t, "", func(p *pods) {
		p.with(func() { p.slow = time.Hour })
		p.pass(time.Second)
	}); took > time.Second {
		t.Errorf("the end took %s", took)
	}
}
