package execute

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	k8stesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/capiplayer"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// TestMain has 30 histories; make search sets more.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

var (
	errAway   = errors.New("the API server is away")
	errKilled = errors.New("the process is dead")
)

// call is a write of the Runner: patch, delete or evict.
type call struct {
	verb string
	on   client.Object
	body string
}

// stage is a Runner in clusters that a Player plays, and its Planner, which wants one action until its Machine is gone. The
// Runner may be killed, and another one started.
type stage struct {
	*testing.T
	*capiplayer.Player
	r             *Runner
	now           time.Time
	action        api.PlanAction
	log           strings.Builder
	hold, blocked string
	dryRun, once  bool // once: no second command is wanted
	slow          bool // the controllers stand still
	waiting       int
	states        int // how often all was read for a plan
	invalid       error

	hook    func(c call, apply func() error) error // between the Runner and its writes
	reads   error                                  // of the Runner, instead of answers of the own cluster
	away    error                                  // likewise of the workload cluster
	guarded map[string]bool                        // pods that a PodDisruptionBudget protects
	calls   []call
}

// newCluster is an API server without controllers.
func newCluster(t testing.TB) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, policyv1.AddToScheme, objects.Add} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	tracker := k8stesting.NewObjectTracker(scheme, serializer.NewCodecFactory(scheme).UniversalDecoder()) // the usual one minds who owns a field: slow
	return fake.NewClientBuilder().WithScheme(scheme).WithObjectTracker(tracker).
		WithStatusSubresource(objects.As(&objects.Host{}, capiplayer.Hosts), objects.As(&objects.Machine{}, capiplayer.Machines)).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).
		Build()
}

// newStage has three Machines in service and free hosts. elsewhere: their nodes are of a workload cluster.
func newStage(t *testing.T, free int, elsewhere bool) *stage {
	t.Helper()
	s := &stage{T: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), guarded: map[string]bool{}}
	s.Player = &capiplayer.Player{Own: newCluster(t), Namespace: "metal3", Infrastructure: "v1beta2", Now: func() time.Time { return s.now }}
	if s.Nodes = s.Own; elsewhere {
		s.Nodes = newCluster(t)
	}
	if err := s.Start(t.Context(), 3, free); err != nil {
		t.Fatal(err)
	}
	s.now = s.now.Add(24 * time.Hour)
	s.action = s.release(1)
	s.restart()
	return s
}

func (s *stage) restart() {
	s.r = New(Options{
		Planner: s, Hold: func() string { return s.hold }, Client: s.client, Leading: func() bool { return true }, Now: func() time.Time { s.now = s.now.Add(time.Microsecond); return s.now }, // no two Events at once
		Log: slog.New(slog.NewTextHandler(&s.log, nil)),
	})
}

// client is the Client of Options: its writes pass the hook.
func (s *stage) client(_ context.Context, of disruption.Key) (client.Client, error) {
	c, err := s.Own, s.reads
	if of != (disruption.Key{}) {
		c, err = s.Nodes, s.away
	}
	if err != nil {
		return nil, err
	}
	do := func(c call, apply func() error) error {
		counted := func() error {
			err := apply()
			if err == nil {
				s.calls = append(s.calls, c)
			}
			return err
		}
		if s.hook != nil {
			return s.hook(c, counted)
		}
		return counted()
	}
	return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			defer list.SetResourceVersion("7") // the fake sets none
			return c.List(ctx, list, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			body, err := patch.Data(o)
			if err != nil {
				return err
			}
			return do(call{"patch", o.DeepCopyObject().(client.Object), string(body)}, func() error { return c.Patch(ctx, o, patch, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return do(call{"delete", o, ""}, func() error { return c.Delete(ctx, o, opts...) })
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, _ string, o, sub client.Object, opts ...client.SubResourceCreateOption) error {
			return do(call{"evict", o, ""}, func() error {
				if s.guarded[o.GetName()] {
					return apierrors.NewTooManyRequests("a PodDisruptionBudget", 0)
				}
				return c.SubResource("eviction").Create(ctx, o, sub, opts...)
			})
		},
	}), nil
}

// State, PlanOf and Validate are those of Planner.
func (s *stage) State(ctx context.Context) (*disruption.State, error) {
	s.states++
	st := &disruption.State{Throttle: disruption.Throttle{Waiting: s.waiting}}
	if o := s.owner(); o != nil {
		st.Pools = []disruption.Pool{{
			Key: disruption.Key{Namespace: "metal3", Name: o.Name}, Kind: disruption.PoolMachineDeployment, Scales: true,
			Execute: o.Annotations[executeMark] == "true" && o.Annotations[stoppedMark] == "",
		}}
	}
	var nodes corev1.NodeList
	err := s.Nodes.List(ctx, &nodes)
	for _, n := range nodes.Items {
		of := disruption.Key{}
		if s.Nodes != s.Own {
			of = disruption.Key{Namespace: "metal3", Name: "c"}
		}
		st.Hosts = append(st.Hosts, disruption.Host{Cluster: of, Node: n.Name})
		st.Nodes = append(st.Nodes, disruption.Node{Cluster: of, Name: n.Name, Taints: n.Spec.Taints})
	}
	return st, errors.Join(err, s.reads)
}

func (s *stage) PlanOf(_ context.Context, _ *disruption.State, now time.Time) (api.Plan, error) {
	p := api.Plan{DryRun: s.dryRun, Blocked: s.blocked, MadeAt: now, ExecuteAfter: now.Add(disruption.ValidateAfter)}
	name := strings.TrimPrefix(s.action.Hosts[0].Machine, "metal3/")
	if (name == "" || found(s.machine(name))) && !(s.once && strings.Contains(s.log.String(), "begins planned work")) {
		p.Actions = []api.PlanAction{s.action}
	}
	return p, nil
}

func (s *stage) Validate(context.Context, api.Plan, *disruption.State, time.Time) error {
	return s.invalid
}

// release is the action that releases the i-th host.
func (s *stage) release(i int) api.PlanAction {
	n := strconv.Itoa(i)
	return api.PlanAction{
		ID: "action-" + n, Decision: api.PlanRelease, Reason: api.PlanEmpty, Pool: "MachineDeployment metal3/workers",
		Hosts:    []api.PlanHost{{Name: "metal3/host-" + n, Machine: "metal3/machine-" + n, Node: s.NodeOf("machine-" + n), PowerOff: true}},
		Evidence: []string{"no pods"}, SavingPerHour: 0.1,
	}
}

// replace is the action that replaces host-1 by one that is free.
func (s *stage) replace(spare string) api.PlanAction {
	a := s.release(1)
	a.Decision, a.Reason, a.Replacement = api.PlanReplace, api.PlanUnderutilized, &api.PlanHost{Name: "metal3/" + spare}
	return a
}

// pod puts one on the node of a Machine.
func (s *stage) pod(name, machine string) {
	s.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}, Spec: corev1.PodSpec{NodeName: s.NodeOf(machine)}}
	if err := s.Nodes.Create(s.Context(), pod); err != nil {
		s.Fatal(err)
	}
}

func (s *stage) pods() []corev1.Pod {
	s.Helper()
	var all corev1.PodList
	if err := s.Nodes.List(s.Context(), &all); err != nil {
		s.Fatal(err)
	}
	return all.Items
}

func (s *stage) host(name string) *objects.Host {
	return objects.Get[*objects.Host](s.Context(), &objects.Server{Client: s.Own}, "BareMetalHost", "metal3/"+name)
}

func (s *stage) machine(name string) *objects.Machine {
	return objects.Get[*objects.Machine](s.Context(), &objects.Server{Client: s.Own}, "Machine", "metal3/"+name)
}

// owner is the MachineDeployment; nil: none.
func (s *stage) owner() *objects.Owner {
	s.Helper()
	o, err := s.Owner(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return o
}

// change is a merge patch by somebody else.
func (s *stage) change(o client.Object, patch string) {
	s.Helper()
	c := s.Own
	if o.GetNamespace() == "" {
		c = s.Nodes
	}
	if err := c.Patch(s.Context(), o, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		s.Fatal(err)
	}
}

// annotate sets one annotation of the throttle's, or removes it.
func (s *stage) annotate(o client.Object, key, value string) {
	s.Helper()
	text := strconv.Quote(value)
	if value == "" {
		text = "null"
	}
	s.change(o, fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, key, text))
}

// turn lets the controllers work for a while.
func (s *stage) turn() {
	s.Helper()
	s.now = s.now.Add(every)
	if s.slow {
		return
	}
	if err := s.Turn(s.Context()); err != nil {
		s.Fatal(err)
	}
}

// pass is one pass, after which the controllers work.
func (s *stage) pass() error {
	s.Helper()
	err := s.r.pass(s.Context())
	s.r.note(err, false)
	s.turn()
	return err
}

// settle goes on until nothing has been left to do for a while.
func (s *stage) settle() {
	s.Helper()
	for quiet := 0; quiet < 8; { // a Machine takes five turns to come
		before, gone := len(s.calls), len(s.Gone)
		if err := s.pass(); err != nil && !errors.Is(err, errAway) {
			s.Fatal(err)
		}
		quiet++
		if len(s.calls) != before || len(s.Gone) != gone {
			quiet = 0
		}
	}
}

// passes does so many, whatever comes of them.
func (s *stage) passes(n int) (last error) {
	for range n {
		last = s.pass()
	}
	return last
}

// until passes until the log has something, as that a write was made.
func (s *stage) until(what string) {
	s.Helper()
	for range 60 {
		if err := s.r.pass(s.Context()); err != nil {
			s.Fatal(err)
		}
		if strings.Contains(s.log.String(), what) {
			return
		}
		s.turn()
	}
	s.Fatalf("nobody %s:\n%s", what, s.log.String())
}

// clean checks that no mark is left.
func (s *stage) clean() {
	s.Helper()
	left, err := s.Leftovers(s.Context())
	if err != nil || len(left) > 0 {
		s.Errorf("%v, left %q\n%s", err, left, s.log.String())
	}
}

// went checks that just these Machines of the first ones went, and how many there are.
func (s *stage) went(replicas int, targets ...string) {
	s.Helper()
	var gone []string
	for _, name := range s.Gone { // a replacement that was taken back may have gone, too
		if name < "machine-3" {
			gone = append(gone, name)
		}
	}
	machines, err := s.MachinesNow(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	if o := s.owner(); !slices.Equal(gone, targets) || len(machines) != replicas || o != nil && *o.Spec.Replicas != replicas || len(s.Lost) > 0 {
		s.Errorf("gone %v of %v, %d Machines of %d, owner %+v, lost pods %v\n%s", s.Gone, targets, len(machines), replicas, o, s.Lost, s.log.String())
	}
}

// noticed checks that an Event has all parts.
func (s *stage) noticed(parts ...string) {
	s.Helper()
	var all corev1.EventList
	if err := s.Own.List(s.Context(), &all); err != nil {
		s.Fatal(err)
	}
	for _, e := range all.Items {
		text := fmt.Sprintf("%s %s %s", e.InvolvedObject.Kind, e.Reason, e.Message)
		if !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(text, p) }) {
			return
		}
	}
	s.Errorf("no Event with %q\n%s", parts, s.log.String())
}
