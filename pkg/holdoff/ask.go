package holdoff

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Ask is what the Book needs to know of a question, and of the node as last seen.
type Ask struct {
	UUID string // of the node: without it nobody is held
	Name string // "namespace~name"
	UID  string // of the host object

	Op       api.Op
	BMHState api.BMHState
	Deleting bool
	// Spec is a hash of what the host is to be, "" when not known; see respec.
	Spec string
	// Bare tells that nothing is to be deployed on it (BO-8).
	Bare bool
	// FailCount is status.provisioningFailCount: deployments that BMO saw fail.
	FailCount int

	// Left tells that nobody will start it: it is paused or detached (BO-8).
	Left bool
	// Release names the episode that a human has released the host from on the host
	// object itself; of another one it says nothing (BO-10).
	Release string

	// What Ironic has shown last, the failures of which the Book has been told.
	NodeState              string // "" when not known
	NodeFailed, NodeActive bool
}

// Verdict is the answer. Unless Held, the rest of it is zero.
type Verdict struct {
	Held bool
	// Wait is what is left of the hold, more than 0.
	Wait     time.Duration
	Episode  string
	Kind     Kind
	Failures int       // in a row
	Until    time.Time // on the wall clock of now
}

// Ask decides whether the host must wait. It also notes what the ask shows: a changed
// spec, which releases the host (BO-11); another host object on the same node, which
// inherits no hold (BO-17); a failure that no poll has shown (BO-16).
func (b *Book) Ask(now time.Time, a Ask) Verdict {
	if b == nil {
		return Verdict{}
	}
	if b.hosts[a.UUID] == nil && !b.says(a) {
		b.noteEnd(now, a.UUID, EndGone)
		return Verdict{}
	}
	now = b.clock(now)
	e, shown := b.judge(now, a)
	if shown.news {
		b.put(now, e)
	}
	if shown.sound {
		b.noteSound(a.UUID)
	}
	v := b.verdict(now, &e, a)
	if v.Held {
		b.counts.begin(&e) // known by this ask alone, perhaps (BO-16)
	} else {
		b.noteEnd(now, a.UUID, endShownBy(&e, a.Release))
	}
	return v
}

// Peek is Ask that changes nothing. It also returns what Failures would say then.
func (b *Book) Peek(now time.Time, a Ask) (v Verdict, failures int) {
	if b == nil || b.hosts[a.UUID] == nil && !b.says(a) {
		return Verdict{}, 0
	}
	now = b.latestOf(now)
	e, _ := b.judge(now, a)
	return b.verdict(now, &e, a), b.failures(&e)
}

// says reports whether an ask of a host without an entry can change anything. Nearly all asks
// are of hosts that never failed, and need nothing more.
func (b *Book) says(a Ask) bool {
	switch {
	case !b.on:
		return false // what we do not see ourselves is not looked for (BO-1)
	case a.FailCount > 0:
		return true
	}
	return !b.knownSound(a.UUID)
}

// shown is what judging an ask has found out.
type shown struct {
	news  bool // the entry has changed
	sound bool // what was not seen did not happen
}

// judge returns the entry of the host as a leaves it.
func (b *Book) judge(now time.Time, a Ask) (e entry, s shown) {
	if !usable(a.UUID) {
		return entry{}, shown{}
	}
	a = a.cut()
	e, known := b.entry(a.UUID)
	if known {
		if a.UID != "" && e.uid != "" && a.UID != e.uid {
			e.passOn(a.Name, a.UID)
			s.news = true
		}
		s.news = e.learn(a.Name, a.UID) || s.news
	}
	if a.runs() {
		s.sound = true
		return e, s
	}
	if a.Deleting || !a.starts() && a.Op != api.OpDeprovision {
		return e, s
	}
	if spec, changed := respec(e.spec, a.Spec); e.present() != nil && spec != e.spec {
		if changed {
			e.release()
			e.recounted = 0 // BMO begins to count anew
		}
		e.spec, s.news = spec, true
	}
	if b.evidence(now, &e, a) {
		s.news = true
	} else {
		s.sound = e.present() == nil
	}
	if p := e.present(); p != nil && a.Release == p.id && e.release() {
		s.news = true
	}
	return e, s
}

// evidence begins an episode when a shows a failure that the Book does not have, and
// reports whether e has changed (BO-16).
//
// The usual order is that we see a failure and BMO counts it later: then its count is
// not above ours. It may count one failure twice, as it forgets it while it waits and
// finds it again on the node: a higher count while the node is still failed tells
// nothing, then or later.
func (b *Book) evidence(now time.Time, e *entry, a Ask) bool {
	p, count := e.present(), min(max(a.FailCount, 0), maxFailures)
	more := count - e.failures() - e.recounted
	switch {
	case p == nil && e.void == "" && !b.knownSound(a.UUID):
		if count > 0 || a.NodeFailed {
			e.beginUnseen(a, b.start, max(count, 1))
			return true
		}
		return false
	case more <= 0:
		return false
	case p != nil && e.uncounted:
		// What came before the failure that we saw: it is part of the row.
		row := *p
		row.failures, e.uncounted = count, false
		e.begin(row)
	case a.NodeFailed && (p != nil || e.void != ""):
		e.recounted += more
	default:
		e.beginUnseen(a, now, e.failures()+more)
	}
	return true
}

// beginUnseen begins an episode that a alone shows.
func (e *entry) beginUnseen(a Ask, since time.Time, failures int) {
	f := Failure{Kind: Deployment}
	if a.NodeFailed {
		f.State, f.Kind = a.NodeState, kindOf(a.NodeState)
	}
	e.learn(a.Name, a.UID)
	if a.Spec != "" {
		e.spec, _ = respec(e.spec, a.Spec)
	}
	p := newEpisode(unseenID(a.UUID, failures, since), f, failures, since)
	p.unseen = true
	e.begin(p)
}

// kindOf is the work that leaves a node in that state.
func kindOf(state string) Kind {
	switch state {
	case "inspect failed":
		return Inspection
	case "clean failed":
		return Cleaning
	default:
		return Deployment
	}
}

// verdict applies the rules of BO-2 and BO-6 ... BO-9.
func (b *Book) verdict(now time.Time, e *entry, a Ask) Verdict {
	left := b.left(now, e)
	if left == 0 || !b.waits(a) {
		return Verdict{}
	}
	p := e.present()
	return Verdict{
		Held: true, Wait: left, Episode: p.id, Kind: p.kind, Failures: p.failures, Until: now.Round(0).Add(left).UTC(),
	}
}

// waits reports whether a hold applies to what a asks for.
func (b *Book) waits(a Ask) bool {
	switch {
	case a.Deleting || a.Left || a.runs():
		return false
	case a.Op == api.OpDeprovision:
		return b.cfg.Stage == Remediate && !a.Bare
	case b.cfg.Stage == Retry && a.Op == api.OpProvision && a.BMHState == api.BMHProvisioning && a.NodeFailed:
		// BMO must see the failure to deprovision, and asks with the state that it
		// is in. The hold begins when it wants to start again (BO-8).
		return false
	default:
		return a.starts()
	}
}

// cut is a as it is kept.
func (a Ask) cut() Ask {
	a.Name, a.UID, a.Spec = cut(a.Name, maxText), cut(a.UID, maxText), cut(a.Spec, maxText)
	a.NodeState = cut(a.NodeState, maxText)
	return a
}

// starts reports whether a would begin work that can fail.
func (a Ask) starts() bool {
	return a.Op == api.OpInspect || a.Op == api.OpPrepare || a.Op == api.OpProvision
}

// runs reports whether there is an instance: then nothing is held (BO-7).
func (a Ask) runs() bool {
	return a.NodeActive || a.BMHState == api.BMHProvisioned || a.BMHState == api.BMHExternallyProvisioned
}
