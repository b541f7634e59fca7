package kube_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/ironic-throttle/ironic-throttle/internal/kube"
	"github.com/ironic-throttle/ironic-throttle/internal/store"
)

// server is an API server in memory that can go wrong. e2e/kube tests races, edits and a full value on a real one.
type server struct {
	client.WithWatch
	before, after func() error // each write: an error is the answer, before or after it is done
}

func newServer() *server {
	s := &server{before: noFault, after: noFault}
	write := func(do func() error) error {
		if err := s.before(); err != nil {
			return err
		}
		return errors.Join(do(), s.after())
	}
	s.WithWatch = fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return write(func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return write(func() error { return c.Update(ctx, o, opts...) })
		},
	}).Build()
	return s
}

func noFault() error { return nil }

// process is one that keeps the holds.
type process struct {
	kube.ConfigMap
	leads bool
}

func (s *server) process(name string) *process {
	p := &process{leads: true}
	p.ConfigMap = kube.ConfigMap{Client: s, Namespace: "metal3", Name: "holds", Identity: name, Leading: func() bool { return p.leads }}
	return p
}

func (p *process) loads(t *testing.T, want string) {
	t.Helper()
	value, err := p.Load(t.Context())
	if err != nil || string(value) != want || (value == nil) != (want == "") {
		t.Fatalf("%s loads %q, %v, want %q", p.Identity, value, err, want)
	}
}

func (p *process) saves(t *testing.T, value string) {
	t.Helper()
	if err := p.Save(t.Context(), []byte(value)); err != nil {
		t.Fatalf("%s saves: %v", p.Identity, err)
	}
}

// holds demands what is kept, and what is kept aside.
func (s *server) holds(t *testing.T, want string) {
	t.Helper()
	o := &corev1.ConfigMap{}
	err := s.WithWatch.Get(t.Context(), client.ObjectKey{Namespace: "metal3", Name: "holds"}, o)
	if got := string(o.BinaryData["holds.jsonl.gz"]) + string(o.BinaryData["unreadable.gz"]); err != nil || got != want {
		t.Fatalf("%q is kept, want %q, %v", got, want, err)
	}
}

// A process that is paused between its question and its write meets what the next leader has written; one that does not lead
// does not write, not even its name.
func TestAnEarlierLeaderWritesNothing(t *testing.T) {
	s := newServer()
	a, b := s.process("a"), s.process("b")
	a.loads(t, "")
	a.saves(t, "1")
	paused := func(meanwhile func()) {
		s.before = func() error {
			s.before = noFault
			meanwhile()
			return nil
		}
	}
	paused(func() {
		b.loads(t, "1")
		b.saves(t, "2")
	})
	for range 2 {
		err := a.Save(t.Context(), []byte("3"))
		if !errors.Is(err, store.ErrTakenOver) || !strings.HasPrefix(err.Error(), "ConfigMap metal3/holds: ") || !strings.HasSuffix(err.Error(), ": b") {
			t.Errorf("Save: %v", err)
		}
	}
	paused(func() {
		b.saves(t, "4")
		a.leads = false
	})
	if _, err := a.Load(t.Context()); !errors.Is(err, store.ErrNotLeading) {
		t.Errorf("Load: %v", err)
	}
	s.holds(t, "4")
	b.saves(t, "5")
}

// A write whose answer was lost is no other leader's. What could not be read is kept aside, also by the next leader.
func TestALostAnswerAndAValueAside(t *testing.T) {
	s := newServer()
	p := s.process("a")
	p.loads(t, "")
	s.after = func() error { return errors.New("no answer") }
	if err := p.Save(t.Context(), []byte("1")); err == nil {
		t.Fatal("no error")
	}
	s.after = noFault
	p.saves(t, "2")
	if err := p.Aside([]byte(" aside")); err != nil {
		t.Fatal(err)
	}
	p.saves(t, "3")
	next := s.process("b")
	next.loads(t, "3")
	next.saves(t, strings.Repeat("x", next.Room()))
	next.saves(t, "4")
	s.holds(t, "4 aside")
}
