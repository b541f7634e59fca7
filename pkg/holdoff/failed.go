package holdoff

import (
	"time"
	"unicode/utf8"
)

// Failure is work that failed before there was an instance, as Ironic shows it.
type Failure struct {
	UUID string
	Name string // of the node, "namespace~name"
	UID  string // of the host object, when known
	// State is the provision state that it was left in, Token the text of
	// provision_updated_at, by which one failure is told from the next.
	State, Token string
	Spec         string // hash of what the host is to be, when known
	Cause        string // last_error
	Kind         Kind
}

// Failed enters a failure and returns the id of its episode. fresh tells that the
// episode is new; the same failure seen again changes nothing (BO-4). Another failure
// of a host that has failed before is a new episode with its own t0, and one more in a
// row (BO-5). Without a node UUID or a kind there is nothing to enter.
func (b *Book) Failed(now time.Time, f Failure) (episode string, fresh bool) {
	if b == nil {
		return "", false
	}
	now = b.clock(now)
	if !usable(f.UUID) || !f.Kind.valid() {
		return "", false
	}
	id := failureID(f.UUID, f.State, f.Token)
	f = f.cut()
	e, known := b.entry(f.UUID)
	news := false
	if known && f.UID != "" && e.uid != "" && f.UID != e.uid {
		// The failure may be the old object's, and stays it.
		e.passOn(f.Name, f.UID)
		news = true
	}
	news = e.learn(f.Name, f.UID) && known || news
	if e.void == id || e.has(id) {
		if e.spec == "" && f.Spec != "" {
			e.spec, news = f.Spec, true
		}
		if news {
			b.put(now, e)
		}
		return id, false
	}
	if !known {
		e.uncounted = !b.knownSound(f.UUID)
	}
	e.spec, _ = respec(e.spec, f.Spec)
	failures := min(e.failures()+1, maxFailures)
	if b.wasCounted(now, &e, f.Kind) {
		failures = e.failures()
	}
	e.begin(newEpisode(id, f, failures, now))
	b.put(now, e)
	if b.left(now, &e) > 0 {
		b.counts.begin(&e)
	}
	return id, true
}

// Learn notes the spec of a failed host whose spec is not known yet: one that was found failed
// after a restart and has not asked. It ignores a host object with another UID that names the
// same node.
func (b *Book) Learn(now time.Time, uuid, uid, spec string) {
	if b == nil || spec == "" {
		return
	}
	if e, known := b.entry(uuid); known && e.spec == "" && (uid == "" || e.uid == "" || e.uid == uid) {
		e.spec = cut(spec, maxText)
		b.put(b.clock(now), e)
	}
}

// wasCounted reports whether the failure that Ironic shows now is the one that was known by
// BMO's count only: the host has been held since, so it had no other try. Its t0
// is set anew all the same, which can only lengthen the hold.
func (b *Book) wasCounted(now time.Time, e *entry, k Kind) bool {
	p := e.present()
	if p == nil || !p.unseen || p.kind != k || p.released {
		return false
	}
	return b.left(now, e) > 0 || b.cfg.timeout(e.name) == 0
}

// Mended notes success at work of kind how, which ends an episode of that kind. active
// means that the node is active, which ends all episodes. Nothing else does: the
// node of a failed deployment is available again as soon as BMO has cleaned it (BO-6).
func (b *Book) Mended(now time.Time, uuid string, how Kind, active bool) {
	if b == nil {
		return
	}
	defer b.noteEnd(b.clock(now), uuid, EndSuccess)
	b.noteSound(uuid)
	e, known := b.entry(uuid)
	if !known {
		return
	}
	rest := e.without(how)
	switch {
	case active || len(rest) == 0:
		b.drop(uuid)
	case len(rest) < len(e.fails):
		e.fails = rest
		b.put(now, e)
	}
}

// Gone forgets a node that has left Ironic.
func (b *Book) Gone(uuid string) {
	if b == nil {
		return
	}
	delete(b.sound, uuid)
	b.drop(uuid)
	b.noteEnd(b.latest, uuid, EndGone)
}

// usable reports whether that can be the UUID of a node.
func usable(uuid string) bool { return uuid != "" && len(uuid) <= maxText && utf8.ValidString(uuid) }

// entry returns a copy of what is known of the host; a new one when nothing is.
func (b *Book) entry(uuid string) (e entry, known bool) {
	if there := b.hosts[uuid]; there != nil {
		return *there, true
	}
	return entry{uuid: uuid}, false
}

func (e *entry) has(id string) bool {
	for i := range e.fails {
		if e.fails[i].id == id {
			return true
		}
	}
	return false
}

func newEpisode(id string, f Failure, failures int, since time.Time) episode {
	return episode{id: id, kind: f.Kind, state: f.State, cause: f.Cause, failures: failures, since: since}
}

// cut is f as it is kept. Not its UUID, which is Ironic's own.
func (f Failure) cut() Failure {
	f.Name, f.UID, f.Spec = cut(f.Name, maxText), cut(f.UID, maxText), cut(f.Spec, maxText)
	f.State, f.Cause = cut(f.State, maxText), cut(f.Cause, maxCause)
	return f
}
