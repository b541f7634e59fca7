package holdoff

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"
)

// forgetAfter is how long after a failure the Book forgets it, if the hold is over.
const forgetAfter = 30 * 24 * time.Hour

// Book keeps the failed hosts, by the UUID of the node. It is not safe for concurrent use.
type Book struct {
	cfg   Config
	onEnd func(Ended)
	hosts map[string]host

	unsaved  map[string]uint64 // hosts whose record has to be saved, with the revision of their last change
	revision uint64            // counts the changes of records
}

// host is a failed host and its last failure.
type host struct {
	uuid, name, uid string
	spec            string // the spec that failed, or the newest seen since
	id              string // the episode
	kind            Kind   // the kind of work whose success ends the failure
	state, cause    string
	failures        int // in a row
	since           time.Time
	released        bool

	holds bool // it is held, and onEnd was not called yet
}

// End says how a hold ended.
type End string

// The ends.
const (
	EndHand    End = "hand"    // an annotation has released the host
	EndSpec    End = "spec"    // its spec has changed
	EndTime    End = "time"    // the time of the hold is over
	EndSuccess End = "success" // its work went well
	EndGone    End = "gone"    // the node is gone, or another BareMetalHost has it
)

// Ended is a hold that has ended.
type Ended struct {
	UUID, Name string // of the node; Name is "namespace~name"
	How        End
}

// New returns an empty Book, or an error with the faults of cfg. A method that notices that a hold has ended calls
// onEnd, but Release does not. onEnd may be nil.
func New(cfg Config, onEnd func(Ended)) (*Book, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if onEnd == nil {
		onEnd = func(Ended) {}
	}
	cfg.Hosts = maps.Clone(cfg.Hosts)
	return &Book{cfg: cfg, onEnd: onEnd, hosts: map[string]host{}, unsaved: map[string]uint64{}}, nil
}

// Configure replaces the settings, also for hosts that have failed already. If cfg has faults, it only returns them.
func (b *Book) Configure(cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	cfg.Hosts = maps.Clone(cfg.Hosts)
	b.cfg = cfg
	return nil
}

// Config returns the settings in force.
func (b *Book) Config() Config { return b.cfg }

// Failure is work that failed before the host had an instance, as Ironic shows it.
type Failure struct {
	UUID string // of the node
	Name string // of the node, "namespace~name"
	UID  string // of the BareMetalHost; "": not known
	// State is the node's provision state, and Token its provision_updated_at.
	State, Token string
	Spec         string // see respec; "": not known
	Cause        string // last_error
	Kind         Kind
}

// Failed enters a failure, and reports whether it is new: the same failure seen again changes nothing. With a new one,
// the hold begins again, and the host has failed once more in a row.
func (b *Book) Failed(now time.Time, f Failure) (fresh bool) {
	if f.UUID == "" || !slices.Contains(kinds, f.Kind) {
		return false
	}
	id := failureID(f)
	was := b.hosts[f.UUID]
	held := was.holds
	switch {
	case was.id == id:
		b.Note(now, Ask{UUID: f.UUID, Name: f.Name, UID: f.UID, Spec: f.Spec})
		return false
	case was.replacedBy(f.UID):
		was = host{}
	}
	h := host{
		uuid: f.UUID, name: cmp.Or(f.Name, was.name), uid: cmp.Or(f.UID, was.uid), id: id, kind: f.Kind, state: f.State, cause: f.Cause,
		failures: was.failures + 1, since: now,
	}
	if f.Spec != "" { // else the spec may have changed before this failure: the next ask says it
		h.spec, _ = respec(was.spec, f.Spec)
	}
	if slices.Index(kinds, was.kind) > slices.Index(kinds, h.kind) {
		h.kind = was.kind // a cleaning that goes well does not make up for a failed deployment
	}
	b.put(h)
	b.count(now, held, h, EndTime)
	return true
}

// Succeeded notes that work of that kind went well, which ends a failure of the same kind. active: the node is active
// now, which ends a failure of any kind.
func (b *Book) Succeeded(now time.Time, uuid string, kind Kind, active bool) {
	if h, known := b.hosts[uuid]; known && (active || kind == h.kind) {
		b.drop(h, EndSuccess)
	}
}

// Gone forgets a node that has left Ironic.
func (b *Book) Gone(uuid string) {
	if h, known := b.hosts[uuid]; known {
		b.drop(h, EndGone)
	}
}

// Tick notices the holds whose time is over. Call it now and then.
func (b *Book) Tick(now time.Time) {
	for _, uuid := range slices.Sorted(maps.Keys(b.hosts)) {
		h := b.hosts[uuid]
		if b.remaining(now, h) == 0 && now.Sub(h.since) >= forgetAfter {
			b.drop(h, EndTime)
		} else {
			b.count(now, h.holds, h, EndTime)
		}
	}
}

// put keeps h, whose record then has to be saved.
func (b *Book) put(h host) {
	b.hosts[h.uuid] = h
	b.changed(h.uuid)
}

func (b *Book) drop(h host, how End) {
	delete(b.hosts, h.uuid)
	b.changed(h.uuid)
	if h.holds {
		b.onEnd(Ended{h.uuid, h.name, how})
	}
}

func (b *Book) changed(uuid string) {
	b.revision++
	b.unsaved[uuid] = b.revision
}

// count notes whether h is held now, and calls onEnd if it was held before and is not any more.
func (b *Book) count(now time.Time, held bool, h host, how End) {
	h.holds = b.remaining(now, h) > 0
	b.hosts[h.uuid] = h
	if held && !h.holds {
		b.onEnd(Ended{h.uuid, h.name, how})
	}
}

// remaining returns how long h is still held; 0: it is not.
func (b *Book) remaining(now time.Time, h host) time.Duration {
	if h.released {
		return 0
	}
	return max(b.cfg.hold(h.name, h.failures)-max(now.Sub(h.since), 0), 0)
}

// replacedBy reports whether uid is that of another BareMetalHost on the same node.
func (h host) replacedBy(uid string) bool { return uid != "" && h.uid != "" && uid != h.uid }

// failureID returns 48 bits of a hash over what tells one failure from the next.
func failureID(f Failure) string {
	h := sha256.New()
	for _, text := range []string{f.UUID, f.State, f.Token} {
		fmt.Fprintf(h, "%d:%s,", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}
