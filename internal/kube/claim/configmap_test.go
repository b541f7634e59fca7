package claim_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/claim"
	"github.com/ironic-throttle/ironic-throttle/internal/store"
)

// server is an API server in memory that can go wrong.
type server struct {
	client.WithWatch
	read   func() error // an error is the answer
	before func() error // each write: an error is the answer, and nothing is written
	after  func() error // each write: an error is the answer, and it is written
}

func newServer() *server {
	s := &server{read: noFault, before: noFault, after: noFault}
	write := func(do func() error) error {
		if err := s.before(); err != nil {
			return err
		}
		return errors.Join(do(), s.after())
	}
	s.WithWatch = fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := s.read(); err != nil {
				return err
			}
			return c.Get(ctx, key, o, opts...)
		},
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
	claim.ConfigMap
	leads bool
	log   bytes.Buffer
}

func (s *server) process(name string) *process {
	p := &process{leads: true}
	p.ConfigMap = claim.ConfigMap{
		Client: s, Namespace: "metal3", Name: "holds", Identity: name, Leading: func() bool { return p.leads },
		Log: slog.New(slog.NewTextHandler(&p.log, nil)),
	}
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

// object is the ConfigMap.
func (s *server) object(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	o := &corev1.ConfigMap{}
	if err := s.Get(t.Context(), client.ObjectKey{Namespace: "metal3", Name: "holds"}, o); err != nil {
		t.Fatal(err)
	}
	return o
}

func (s *server) holds(t *testing.T, want string) {
	t.Helper()
	if got := string(s.object(t).BinaryData["holds.jsonl.gz"]); got != want {
		t.Fatalf("%q is kept, want %q", got, want)
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
	if text := a.log.String() + b.log.String(); text != "" {
		t.Error(text)
	}
}

// Edits are written over, told once, and kept aside; what only looks like one is not told.
func TestEdits(t *testing.T) {
	edit := func(change func(*corev1.ConfigMap)) func(*testing.T, *server) {
		return func(t *testing.T, s *server) {
			o := s.object(t)
			change(o)
			if err := s.WithWatch.Update(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, row := range []struct {
		name   string
		change func(*testing.T, *server)
		told   int
		aside  string
	}{
		{"another value", edit(func(o *corev1.ConfigMap) { o.BinaryData["holds.jsonl.gz"] = []byte("by hand") }), 1, "by hand"},
		{"no value", edit(func(o *corev1.ConfigMap) { o.BinaryData = nil }), 1, ""},
		{"nobody's name, and a value", edit(func(o *corev1.ConfigMap) { o.Annotations, o.BinaryData = nil, nil }), 1, ""},
		{"other keys", edit(func(o *corev1.ConfigMap) { o.Data = map[string]string{"x": strings.Repeat("x", 1000)} }), 0, ""},
		{"a label", edit(func(o *corev1.ConfigMap) { o.Labels["x"] = "x" }), 0, ""},
		{"it is deleted", func(t *testing.T, s *server) {
			if err := s.Delete(t.Context(), s.object(t)); err != nil {
				t.Fatal(err)
			}
		}, 1, ""},
		{"nothing but that an answer was lost", nil, 0, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newServer()
			p := s.process("a")
			p.loads(t, "")
			p.saves(t, "1")
			if row.change == nil {
				s.after = func() error { return errors.New("no answer") }
				if err := p.Save(t.Context(), []byte("2")); err == nil {
					t.Fatal("no error")
				}
				s.after = noFault
			} else {
				row.change(t, s)
			}
			p.saves(t, "3")
			p.saves(t, "4")
			p.loads(t, "4") // as the next leader does
			o := s.object(t)
			if string(o.BinaryData["holds.jsonl.gz"]) != "4" || string(o.BinaryData["unreadable.gz"]) != row.aside || len(o.Data) > 0 {
				t.Errorf("%+v, %+v", o.BinaryData, o.Data)
			}
			if o.Annotations["ironic-throttle.metal3.io/writer"] != "a" || o.Labels["app.kubernetes.io/managed-by"] != "ironic-throttle" {
				t.Errorf("%+v", o.ObjectMeta)
			}
			if n := strings.Count(p.log.String(), "changed or removed"); n != row.told {
				t.Errorf("told %d times, want %d: %s", n, row.told, &p.log)
			}
		})
	}
}

// Errors name the ConfigMap, and nothing is written in doubt; a server that changes its mind is obeyed.
func TestFaults(t *testing.T) {
	s := newServer()
	p := s.process("a")
	of := schema.GroupResource{Resource: "configmaps"}
	refused := func() error { return apierrors.NewForbidden(of, "holds", errors.New("no such right")) }
	wants := func(what string, err error) {
		t.Helper()
		if !apierrors.IsForbidden(err) || !strings.HasPrefix(err.Error(), "ConfigMap metal3/holds: ") {
			t.Errorf("%s: %v", what, err)
		}
	}
	writes := 0
	counted := func(answer func() error) {
		writes = 0
		s.before = func() error {
			writes++
			return answer()
		}
	}
	load := func() error {
		_, err := p.Load(t.Context())
		return err
	}
	counted(noFault)
	s.read = refused
	if wants("Load that cannot read", load()); writes > 0 {
		t.Error("what could not be read is written")
	}
	s.read = noFault
	counted(refused)
	wants("Load that cannot write", load())
	counted(noFault)
	if p.loads(t, ""); writes != 1 {
		t.Errorf("%d writes of a Load", writes)
	}
	counted(refused)
	wants("Save that cannot write", p.Save(t.Context(), []byte("1")))
	counted(func() error { return apierrors.NewConflict(of, "holds", errors.New("again")) })
	if err := p.Save(t.Context(), []byte("1")); err == nil || writes != 4 {
		t.Errorf("Save while somebody else always writes: %v after %d writes", err, writes)
	}
	s.read = refused
	if wants("Save that meets another version and cannot read it", p.Save(t.Context(), []byte("1"))); writes != 5 {
		t.Error("what could not be read is written over")
	}
	s.read, s.before = noFault, noFault
	p.saves(t, "2")
	s.holds(t, "2")
}
