package holdoff_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

// model is one host as the rows of docs/spec/hold-off.md tell it: the whole history, read from
// its begin for every answer. Growth is a whole number here.
type model struct {
	cfg   holdoff.Config
	known bool
	said  []any // failed, mended, asked, released, gone; in this order
}

type (
	failed struct {
		at time.Time
		id string
		f  holdoff.Failure
	}
	mended struct {
		how    holdoff.Kind
		active bool
	}
	asked struct {
		at time.Time
		a  holdoff.Ask
	}
	released struct{}
	gone     struct{}
)

// past is what has become of a host.
type past struct {
	m          *model
	rows       []row // every failure since it was last well
	uid, spec  string
	void       string
	came       bool // it is known of before its first failure
	uncounted  bool
	countedTwo int
}

type row struct {
	id       string
	kind     holdoff.Kind
	n        int
	t0       time.Time
	unseen   bool
	over     bool // mended, or one of its kind came later
	released bool
}

func (p *past) present() *row {
	for i := range slices.Backward(p.rows) {
		if !p.rows[i].over {
			return &p.rows[i]
		}
	}
	return nil
}

func (p *past) n() int {
	if r := p.present(); r != nil {
		return r.n
	}
	return 0
}

func (p *past) add(r row) {
	for i := range p.rows {
		p.rows[i].over = p.rows[i].over || p.rows[i].kind == r.kind
	}
	p.rows = append(p.rows, r)
}

func (p *past) well() { *p = past{m: p.m, came: true} }

func (p *past) anotherHost(uid string) bool {
	if uid == "" || p.uid == "" || uid == p.uid {
		return false
	}
	void := p.void
	if r := p.present(); r != nil {
		void = r.id
	}
	p.well()
	p.void, p.uid = void, uid
	return true
}

func (p *past) failed(e failed) {
	p.anotherHost(e.f.UID)
	if e.f.UID != "" {
		p.uid = e.f.UID
	}
	here := e.id == p.void
	for _, r := range p.rows {
		here = here || r.id == e.id && !r.over
	}
	if here {
		if p.spec == "" {
			p.spec = e.f.Spec
		}
		return
	}
	if len(p.rows) == 0 && p.void == "" {
		p.uncounted = !p.m.known && !p.came
	}
	if e.f.Spec != "" {
		p.spec = e.f.Spec
	}
	n := p.n() + 1
	if r := p.present(); r != nil && r.unseen && r.kind == e.f.Kind && !r.released && e.at.Before(r.t0.Add(p.m.hold(r.n))) {
		n = r.n
	}
	p.add(row{id: e.id, kind: e.f.Kind, n: n, t0: e.at})
}

func (p *past) mended(e mended) {
	p.came = true
	for i := range p.rows {
		p.rows[i].over = p.rows[i].over || e.active || p.rows[i].kind == e.how
	}
	if p.present() == nil {
		p.well()
	}
}

// holds are the operations that start something.
var holds = []api.Op{api.OpInspect, api.OpPrepare, api.OpProvision}

func (p *past) asked(e asked) {
	a := e.a
	other := p.anotherHost(a.UID)
	if (len(p.rows) > 0 || p.void != "") && a.UID != "" {
		p.uid = a.UID
	}
	if a.NodeActive || a.BMHState == api.BMHProvisioned {
		p.came = true
		return
	}
	if a.Deleting || !slices.Contains(holds, a.Op) && a.Op != api.OpDeprovision {
		return
	}
	r := p.present()
	if r != nil && a.Spec != "" && a.Spec != p.spec {
		if p.spec != "" {
			p.release()
			p.countedTwo = 0
		}
		p.spec = a.Spec
	}
	seen := row{id: "unseen", kind: holdoff.Deployment, t0: e.at, unseen: true, n: a.FailCount - p.countedTwo}
	if a.NodeFailed && a.NodeState == "clean failed" {
		seen.kind = holdoff.Cleaning
	}
	switch {
	case r == nil && !p.m.known && !p.came && !other && p.void == "":
		if a.FailCount == 0 && !a.NodeFailed {
			p.came = true
			return
		}
		seen.t0, seen.n = begin, max(seen.n, 1)
	case a.FailCount <= p.n()+p.countedTwo:
		p.came = p.came || r == nil
		return
	case r != nil && p.uncounted:
		r.n, p.uncounted = a.FailCount, false
		return
	case a.NodeFailed && (r != nil || p.void != ""):
		p.countedTwo = a.FailCount - p.n()
		return
	}
	p.add(seen)
	if a.UID != "" {
		p.uid = a.UID
	}
	if a.Spec != "" {
		p.spec = a.Spec
	}
}

func (p *past) release() {
	for i := range p.rows {
		p.rows[i].released = true
	}
}

// hold is what the n-th failure holds for.
func (m *model) hold(n int) time.Duration {
	d := m.cfg.Timeout
	for range n - 1 {
		d = min(d*time.Duration(m.cfg.Growth), max(m.cfg.Timeout, m.cfg.GrowthCap))
	}
	return d
}

func (m *model) read() *past {
	p := &past{m: m}
	for _, e := range m.said {
		switch e := e.(type) {
		case failed:
			p.failed(e)
		case mended:
			p.mended(e)
		case asked:
			p.asked(e)
		case released:
			p.release()
		case gone:
			*p = past{m: m}
		}
	}
	return p
}

// waits is how long the host waits with a.
func (m *model) waits(now time.Time, a holdoff.Ask) time.Duration {
	r := m.read().present()
	if r == nil || r.released || a.Deleting || a.NodeActive || a.BMHState == api.BMHProvisioned {
		return 0
	}
	if a.Op == api.OpDeprovision {
		if m.cfg.Stage == holdoff.Retry {
			return 0
		}
	} else if !slices.Contains(holds, a.Op) {
		return 0
	}
	if m.cfg.Stage == holdoff.Retry && a.Op == api.OpProvision && a.BMHState == api.BMHProvisioning && a.NodeFailed {
		return 0
	}
	return max(0, r.t0.Add(m.hold(r.n)).Sub(now))
}

func TestRandomHistoriesAgreeWithTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{known: rapid.Bool().Draw(rt, "known"), cfg: holdoff.DefaultConfig()}
		m.cfg.Timeout = hold
		m.cfg.Growth = float64(rapid.IntRange(1, 3).Draw(rt, "growth"))
		m.cfg.GrowthCap = time.Duration(rapid.IntRange(0, 48).Draw(rt, "cap")) * time.Hour
		m.cfg.Stage = rapid.SampledFrom([]holdoff.Stage{holdoff.Retry, holdoff.Remediate}).Draw(rt, "stage")
		s := stageOf(t, m.known, func(c *holdoff.Config) { *c = m.cfg })
		uids := rapid.SampledFrom([]string{"", "", "", "", "u1", "u1", "u1", "u2"})
		specs := rapid.SampledFrom([]string{"", "", "s1", "s1", "s1", "s2"})
		kinds := rapid.SampledFrom([]holdoff.Kind{holdoff.Inspection, holdoff.Cleaning, holdoff.Deployment, holdoff.Deployment})
		counts := rapid.SampledFrom([]int{0, 0, 1, 1, 2, 3, 5})
		ask := rapid.Custom(func(t *rapid.T) holdoff.Ask {
			failed := rapid.Bool().Draw(t, "node failed")
			return holdoff.Ask{
				UUID: "a", UID: uids.Draw(t, "uid"), Spec: specs.Draw(t, "spec"), FailCount: counts.Draw(t, "count"),
				Op: rapid.SampledFrom([]api.Op{api.OpInspect, api.OpProvision, api.OpProvision, api.OpDeprovision, api.OpNone}).Draw(t, "op"),
				BMHState: rapid.SampledFrom([]api.BMHState{
					api.BMHAvailable, api.BMHAvailable, api.BMHProvisioning, api.BMHDeprovisioning, api.BMHProvisioned,
				}).Draw(t, "state"),
				NodeFailed: failed, NodeActive: !failed && rapid.IntRange(0, 9).Draw(t, "active") == 0,
				NodeState: rapid.SampledFrom([]string{"clean failed", "deploy failed"}).Draw(t, "node"),
				Deleting:  rapid.IntRange(0, 9).Draw(t, "deleting") == 0,
			}
		})
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			s.wait(time.Duration(rapid.IntRange(0, 6).Draw(rt, "hours")) * time.Hour)
			switch rapid.SampledFrom([]string{"fail", "fail", "mend", "ask", "ask", "ask", "release", "gone"}).Draw(rt, "what") {
			case "fail":
				f := failure(rapid.IntRange(1, 6).Draw(rt, "failure"))
				f.UID, f.Spec, f.Kind = uids.Draw(rt, "uid"), specs.Draw(rt, "spec"), kinds.Draw(rt, "kind")
				f.State = string(f.Kind)
				id, _ := s.b.Failed(s.now, f)
				m.said = append(m.said, failed{s.now, id, f})
			case "mend":
				e := mended{kinds.Draw(rt, "how"), rapid.IntRange(0, 4).Draw(rt, "active") == 0}
				s.b.Mended(s.now, "a", e.how, e.active)
				m.said = append(m.said, e)
			case "ask":
				a := ask.Draw(rt, "ask")
				peek, _ := s.b.Peek(s.now, a)
				if v := s.b.Ask(s.now, a); v != peek {
					rt.Fatalf("Peek %+v, Ask %+v", peek, v)
				}
				m.said = append(m.said, asked{s.now, a})
				if want := m.waits(s.now, a); peek.Wait != want || peek.Held != (want > 0) {
					rt.Fatalf("%+v, want %v", peek, want)
				}
			case "release":
				_, err := s.b.Release(s.now, "a", "")
				if known := m.read().present() != nil; known != (err == nil) {
					rt.Fatalf("release: %v", err)
				}
				m.said = append(m.said, released{})
			case "gone":
				s.b.Gone("a")
				m.said = append(m.said, gone{})
			}
			if got, want := s.b.Failures("a"), m.read().n(); got != want {
				rt.Fatalf("%d failures, want %d", got, want)
			}
			if got, want := s.b.Held(s.now, "a"), m.waits(s.now, provision()) > 0; got != want {
				rt.Fatalf("held %v, want %v", got, want)
			}
		}
	})
}
