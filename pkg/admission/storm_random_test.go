package admission

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// weather plays a random history of a few hosts that fail a lot, by checks and PUTs,
// with lags, lost asks, restarts and clocks that step. Two of one seed are the same.
type weather struct {
	rng    *rand.Rand
	c      *Controller
	cfg    Config
	now    time.Time
	nodes  []ironic.Node
	stamps int
	passes []*Pass
	build  func(*weather)
	// after is called with each answer to a check that was no dry run.
	after func(i int, ask api.Ask, before string, a api.Answer)
	log   []string
}

func newWeather(t *testing.T, seed uint64, cfg Config, build func(*weather)) *weather {
	w := &weather{rng: rand.New(rand.NewPCG(seed, 5)), cfg: cfg, now: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC), build: build}
	groups := []string{"", "a", "b"}[:1+w.rng.IntN(3)]
	for i := range 3 + w.rng.IntN(9) {
		w.nodes = append(w.nodes, ironic.Node{
			UUID: fmt.Sprintf("00000000-0000-0000-0000-%012d", i), Name: fmt.Sprintf("ns%d~host-%d", i%2, i),
			State:          []ironic.State{ironic.Available, ironic.Manageable, ironic.Active, ironic.DeployFailed}[w.rng.IntN(4)],
			ConductorGroup: groups[w.rng.IntN(len(groups))],
		})
	}
	w.boot(t)
	return w
}

func (w *weather) boot(t *testing.T) {
	c, err := New(w.cfg, w.now)
	if err != nil {
		t.Fatal(err)
	}
	w.c, w.passes = c, nil
	if w.build != nil {
		w.build(w)
	}
	w.poll()
	w.now = w.now.Add(61 * time.Second)
	w.poll()
}

func (w *weather) poll() {
	observed := ironic.Observation{Mark: w.c.Begin(w.now), Whole: w.c.Whole(w.now)}
	for _, n := range w.nodes {
		if n.State.Busy() || observed.Whole && (n.State.Failed() || n.State.Extra()) {
			observed.Nodes = append(observed.Nodes, n)
		}
	}
	for _, key := range append(w.c.Missing(w.now, observed.Nodes), w.c.Wanted(w.now)...) {
		sight := ironic.NodeObservation{Key: key, Mark: w.c.Begin(w.now)}
		for _, n := range w.nodes {
			if n.UUID == key || n.Name == key {
				sight.Found, sight.Node = true, n
			}
		}
		observed.Fetched = append(observed.Fetched, sight)
	}
	w.c.Observe(w.now, observed)
}

// move lets Ironic do something with node n.
func (w *weather) move(n *ironic.Node) {
	next := map[ironic.State][]ironic.State{
		ironic.Available:     {ironic.Deploying, ironic.Manageable},
		ironic.Manageable:    {ironic.Cleaning, ironic.Inspecting},
		ironic.Active:        {ironic.Deleting, ironic.Rescuing},
		ironic.DeployFailed:  {ironic.Deleting, ironic.Deploying},
		ironic.CleanFailed:   {ironic.Manageable},
		ironic.InspectFailed: {ironic.Inspecting, ironic.Manageable},
		ironic.Inspecting:    {ironic.Manageable, ironic.InspectFailed, ironic.InspectWait},
		ironic.InspectWait:   {ironic.Manageable, ironic.InspectFailed},
		ironic.Cleaning:      {ironic.CleanWait, ironic.Available, ironic.CleanFailed},
		ironic.CleanWait:     {ironic.Available, ironic.Manageable, ironic.CleanFailed},
		ironic.Deploying:     {ironic.Active, ironic.DeployFailed, ironic.DeployWait},
		ironic.DeployWait:    {ironic.Active, ironic.DeployFailed, ironic.DeployFailed},
		ironic.Deleting:      {ironic.Cleaning, ironic.Available, ironic.Error},
		ironic.Error:         {ironic.Deleting},
		ironic.Rescuing:      {ironic.Rescue, ironic.RescueFailed},
		ironic.Rescue:        {ironic.Deleting},
		ironic.RescueFailed:  {ironic.Deleting},
	}[n.State]
	w.stamps++
	n.State = next[w.rng.IntN(len(next))]
	n.ProvisionUpdatedAt = fmt.Sprint("stamp", w.stamps)
	n.LastError = ""
	if n.State.Failed() {
		n.LastError = []string{"no DHCP", "no image", "was aborted"}[w.rng.IntN(3)]
	}
	n.AgentURL = n.State.Busy() && w.rng.IntN(3) == 0
}

func (w *weather) question(i int) api.Ask {
	n := w.nodes[i]
	namespace, name, _ := strings.Cut(n.Name, "~")
	a := api.Ask{
		Namespace: namespace, Name: name, NodeUUID: n.UUID,
		Op:       []api.Op{api.OpProvision, api.OpProvision, api.OpInspect, api.OpDeprovision, api.OpRescue, api.OpNone}[w.rng.IntN(6)],
		BMHState: []api.BMHState{"", api.BMHProvisioning, api.BMHAvailable, api.BMHInspecting, api.BMHProvisioned}[w.rng.IntN(5)],
	}
	switch w.rng.IntN(8) {
	case 0:
		a.NodeUUID = ""
	case 1:
		a.ErrorCount = w.rng.IntN(4)
	case 2:
		a.ProvisioningFailCount = w.rng.IntN(4)
	case 3:
		a.SpecHash = fmt.Sprint(w.rng.IntN(3))
	case 4:
		a.UID = fmt.Sprint(w.rng.IntN(2))
	case 5:
		a.Deleting = true
	case 6:
		a.DryRun = true
	}
	return a
}

func (w *weather) step(t *testing.T) {
	i := w.rng.IntN(len(w.nodes))
	n := &w.nodes[i]
	switch k := w.rng.IntN(100); {
	case k < 45:
		ask := w.question(i)
		before := w.state()
		a := w.c.IsReady(w.now, ask)
		w.log = append(w.log, fmt.Sprintf("%v %+v: %+v", w.now, ask, a))
		if w.after != nil && !ask.DryRun {
			w.after(i, ask, before, a)
		}
		if a.Ready && !n.State.Busy() && w.rng.IntN(3) > 0 {
			w.move(n)
		}
	case k < 50:
		ask := w.question(i)
		ask.NodeUUID, ask.DryRun = n.UUID, false
		before := w.state()
		a, pass := w.c.Forward(w.now, ask, []ironic.Target{ironic.TargetActive, ironic.TargetDeleted, ironic.TargetInspect}[w.rng.IntN(3)])
		w.log = append(w.log, fmt.Sprintf("%v PUT %+v: %+v", w.now, ask, a))
		if w.after != nil {
			w.after(i, ask, before, a)
		}
		if pass != nil {
			w.passes = append(w.passes, pass)
			pass.Sent(w.now)
		}
	case k < 56 && len(w.passes) > 0:
		p := w.passes[0]
		w.passes = w.passes[1:]
		switch w.rng.IntN(3) {
		case 0:
			p.Answered(w.now, 202)
		case 1:
			p.Answered(w.now, 409)
		case 2:
			p.Broken(w.now)
		}
	case k < 75:
		w.move(n)
	case k < 97:
		w.now = w.now.Add(time.Duration(w.rng.IntN(60)) * time.Second)
		w.poll()
	case k == 97:
		w.now = w.now.Add(time.Duration(w.rng.IntN(60)) * time.Minute)
		w.poll()
	case k == 98:
		w.now = w.now.Add(-time.Duration(w.rng.IntN(120)) * time.Second)
	default:
		w.cfg.Holds, w.cfg.HoldsKnown = w.c.UnsavedHolds(w.now).Puts, w.rng.IntN(2) == 0
		w.boot(t)
	}
}

// state is that of the breaker of the whole Ironic.
func (w *weather) state() string {
	if w.c.policy.set == nil {
		return ""
	}
	s := string(w.c.policy.set.Status(w.now, wholeIronic).State)
	w.c.followBreakers(w.now)
	return s
}

func weatherConfig() Config {
	cfg := DefaultConfig()
	cfg.Slots.Total, cfg.Slots.StuckCap = 4, 1
	return cfg
}

const weatherSteps = 120

// BO-1: with no time set, or 0, everything is as if there were no hold-off.
func TestBO1_UnsetChangesNoDecision(t *testing.T) {
	histories := min(10_000, 5*rounds())
	held, said := 0, map[string]bool{}
	for seed := range uint64(histories) {
		cfg := weatherConfig()
		if seed%2 == 0 {
			cfg.Breakers = nil
		}
		with := newWeather(t, seed, cfg, nil)
		without := newWeather(t, seed, cfg, func(w *weather) { w.c.policy.book = nil })
		for range weatherSteps {
			with.step(t)
			without.step(t)
		}
		held += len(with.c.Holds(with.now).Hosts)
		if diff := cmp.Diff(without.log, with.log); diff != "" {
			t.Fatalf("seed %d (-without, +with):\n%s", seed, diff)
		}
		for _, queue := range with.log {
			_, reason, _ := strings.Cut(queue, "Reason:")
			said[reason[:min(len(reason), 12)]] = true
		}
	}
	if held < histories || len(said) < 6 {
		t.Errorf("%d failed hosts, answers %v: the histories are too dull to tell", held, said)
	}
}

// With a time set the same histories have holds: the test above can fail.
func TestBO1_SetChangesDecisions(t *testing.T) {
	differ := 0
	for seed := range uint64(50) {
		cfg := weatherConfig()
		cfg.Breakers = nil
		without := newWeather(t, seed, cfg, nil)
		cfg.Holdoff = holdoff.DefaultConfig()
		cfg.Holdoff.Timeout = time.Hour
		with := newWeather(t, seed, cfg, nil)
		for range weatherSteps {
			with.step(t)
			without.step(t)
		}
		if !cmp.Equal(without.log, with.log) {
			differ++
		}
	}
	if differ < 40 {
		t.Errorf("%d of 50 histories differ", differ)
	}
}

// Whatever the interleaving: nothing starts while it is OPEN but deletions, and while it
// is HALF_OPEN never more than N hosts run as probes.
func TestCB9_NeverMoreProbesThanAllowed(t *testing.T) {
	histories := min(3_000, 2*rounds())
	var opened, probed, closed int
	for seed := range uint64(histories) {
		cfg := weatherConfig()
		cfg.Slots.Total = 8
		cfg.Breakers = DefaultBreakers()
		cfg.Breakers.Scopes = []string{ScopeIronic}
		cfg.Breakers.Ironic.FailureThreshold = 2
		cfg.Breakers.Ironic.RecoveryTimeout = 3 * time.Minute
		w := newWeather(t, seed, cfg, nil)
		type probe struct {
			permit *breaker.Permit
			since  time.Time
		}
		probes := map[int]probe{}
		var spell time.Time
		w.after = func(i int, ask api.Ask, before string, a api.Answer) {
			if at := w.c.policy.set.Status(w.now, wholeIronic).LastStateChange; !at.Equal(spell) {
				clear(probes)
				spell = at
				switch before {
				case "OPEN":
					opened++
				case "CLOSED":
					closed++
				}
			}
			if a.Reason != api.ReasonGranted || ask.Deleting {
				return
			}
			switch before {
			case "OPEN":
				t.Fatalf("seed %d: starts while it is open: %+v", seed, a)
			case "HALF_OPEN":
				probed++
				probes[i] = probe{w.permit(i), w.now}
				running := 0
				for p, of := range probes {
					if of.permit != nil && w.permit(p) == of.permit && w.now.Sub(of.since) < time.Hour {
						running++
					}
				}
				if limit := cfg.Breakers.Ironic.HalfOpenMaxRequests; running > limit {
					t.Fatalf("seed %d: %d probes run, %d are allowed:\n%s", seed, running, limit, strings.Join(w.log[max(0, len(w.log)-30):], "\n"))
				}
			}
		}
		for range 2 * weatherSteps {
			w.step(t)
		}
	}
	if opened < histories/4 || probed < histories/4 || closed < histories/20 {
		t.Errorf("opened %d, probed %d, closed %d times: the histories are too dull to tell", opened, probed, closed)
	}
}

// permit is that of host i, nil for none.
func (w *weather) permit(i int) *breaker.Permit {
	v := w.c.ledger.Check(w.now, slots.Ask{ID: slots.ID{UUID: w.nodes[i].UUID, Name: w.nodes[i].Name}})
	if ref, known := v.Ref(); known {
		if t, ok := ref.Owner().(*host); ok {
			return t.permit
		}
	}
	return nil
}
