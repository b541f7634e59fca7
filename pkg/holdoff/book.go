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

// forgetAfter is when a failure is forgotten whose hold is over: nobody has heard of the node since.
const forgetAfter = 30 * 24 * time.Hour

// Book is the record of failed hosts, by node UUID. It is not safe for concurrent use.
type Book struct {
	cfg   Config
	onEnd func(Ended)
	hosts map[string]host

	unsaved  map[string]uint64 // hosts whose record is to be saved, and the revision of their last change
	revision uint64
}

// host is a host and its last failure.
type host struct {
	uuid, name, uid string
	spec            string // of the last failure, or the newest seen since
	id              string
	kind            Kind // whose success ends it
	state, cause    string
	failures        int // in a row
	since           time.Time
	released        bool

	holds bool // it is held, and the end was not told yet
}

// End says how a hold ended.
type End string

// The ends.
const (
	EndHand    End = "hand"    // somebody has released it
	EndSpec    End = "spec"    // the host is to be something else
	EndTime    End = "time"    // its time is over
	EndSuccess End = "success" // its work went well
	EndGone    End = "gone"    // the host is no more, or another one
)

// Ended is a hold that has ended.
type Ended struct {
	UUID, Name string // Name is "namespace~name"
	How        End
}

// New returns an empty Book. onEnd hears of each hold that ends, but for those that Release ends, while the method runs that
// notices it; nil hears nothing.
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

// Configure replaces the settings, also for hosts that have failed already. A cfg that is not valid changes nothing.
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

// Failure is work that failed before there was an instance, as Ironic shows it.
type Failure struct {
	UUID string
	Name string // of the node, "namespace~name"
	UID  string // of the host object, "" when not known
	// State is the provision state that it was left in, Token the text of provision_updated_at.
	State, Token string
	Spec         string // "" when not known
	Cause        string // last_error
	Kind         Kind
}

// Failed enters a failure, and reports whether it is a new one: the same failure seen again changes nothing. The hold of a
// host that fails again begins again, and it has failed once more in a row.
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
	case was.another(f.UID):
		was = host{}
	}
	h := host{
		uuid: f.UUID, name: cmp.Or(f.Name, was.name), uid: cmp.Or(f.UID, was.uid), id: id, kind: f.Kind, state: f.State, cause: f.Cause,
		failures: was.failures + 1, since: now,
	}
	if f.Spec != "" { // else it may have failed with another one than before: the next ask says which
		h.spec, _ = respec(was.spec, f.Spec)
	}
	if slices.Index(kinds, was.kind) > slices.Index(kinds, h.kind) {
		h.kind = was.kind // its cleaning may go well, and its deployment has failed all the same
	}
	b.put(h)
	b.count(now, held, h, EndTime)
	return true
}

// Succeeded notes that work of that kind went well. It ends a failure of the same kind; active means that the node is active,
// which ends any.
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
		if b.left(now, h) == 0 && now.Sub(h.since) >= forgetAfter {
			b.drop(h, EndTime)
		} else {
			b.count(now, h.holds, h, EndTime)
		}
	}
}

// put keeps h, and what is stored of it is to be saved.
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

// count notes whether h is held now; held: it was before.
func (b *Book) count(now time.Time, held bool, h host, how End) {
	h.holds = b.left(now, h) > 0
	b.hosts[h.uuid] = h
	if held && !h.holds {
		b.onEnd(Ended{h.uuid, h.name, how})
	}
}

// left is how long h is still held; 0: not.
func (b *Book) left(now time.Time, h host) time.Duration {
	if h.released {
		return 0
	}
	return max(b.cfg.hold(h.name, h.failures)-max(now.Sub(h.since), 0), 0)
}

// another reports whether h is another host object than that with uid, on the same node.
func (h host) another(uid string) bool { return uid != "" && h.uid != "" && uid != h.uid }

// failureID is 48 bits of what tells one failure from the next.
func failureID(f Failure) string {
	h := sha256.New()
	for _, text := range []string{f.UUID, f.State, f.Token} {
		fmt.Fprintf(h, "%d:%s,", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}
