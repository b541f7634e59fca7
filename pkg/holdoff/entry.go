package holdoff

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of what is kept, in bytes.
const (
	maxText  = 512 // names, states, hashes
	maxCause = 256
)

// maxFailures bounds failure counts that come from BMO or from a file.
const maxFailures = 1_000_000

// entry is one host. It is copied and put back whole; fails is never changed in place.
type entry struct {
	uuid, name, uid string
	// spec is that of the last failure, or the newest seen since.
	spec string
	// fails has at most one episode of each kind, in the order of their t0. The last
	// one is present.
	fails []episode
	// void is an episode that another host object has had on this node: seen again,
	// it is not the new one's (BO-17).
	void string
	// uncounted: what BMO has counted before we saw the first failure is not known.
	uncounted bool
	// recounted is by how much BMO's count is above ours though we have missed nothing.
	recounted int
}

// episode is one failure.
type episode struct {
	id           string
	kind         Kind
	state, cause string
	failures     int // in a row, with this one
	since        time.Time
	released     bool
	// unseen: only what somebody else counted shows it.
	unseen bool
}

// present is the episode that decides, nil when there is none.
func (e *entry) present() *episode {
	if len(e.fails) == 0 {
		return nil
	}
	return &e.fails[len(e.fails)-1]
}

func (e *entry) failures() int {
	if p := e.present(); p != nil {
		return p.failures
	}
	return 0
}

// begin makes p the present episode; an older one of its kind is past.
func (e *entry) begin(p episode) {
	e.fails = append(e.without(p.kind), p)
}

// without returns the episodes of other kinds.
func (e *entry) without(k Kind) []episode {
	return slices.DeleteFunc(slices.Clone(e.fails), func(p episode) bool { return p.kind == k })
}

// release marks the present episode and all older ones as released, and reports whether
// that has changed anything.
func (e *entry) release() bool {
	p := e.present()
	if p == nil || p.released {
		return false
	}
	e.fails = slices.Clone(e.fails)
	for i := range e.fails {
		e.fails[i].released = true
	}
	return true
}

// passOn empties e for another host object on the same node (BO-17).
func (e *entry) passOn(name, uid string) {
	void := e.void
	if p := e.present(); p != nil {
		void = p.id
	}
	*e = entry{uuid: e.uuid, name: name, uid: uid, void: void}
}

// learn notes the name and UID of the host, and reports whether either has changed.
func (e *entry) learn(name, uid string) bool {
	news := name != "" && name != e.name || uid != "" && uid != e.uid
	if name != "" {
		e.name = name
	}
	if uid != "" {
		e.uid = uid
	}
	return news
}

// failureID names a failure that was seen.
func failureID(uuid, state, token string) string { return hash(uuid, state, token) }

// unseenID names one that was not: by what showed it and since when.
func unseenID(uuid string, failures int, since time.Time) string {
	return "unseen-" + hash(uuid, strconv.Itoa(failures), strconv.FormatInt(since.UnixNano(), 10))
}

// hash is 48 bits of the texts.
func hash(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%d:%s,", len(t), t)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// cut is s as it is kept: valid UTF-8 of at most n bytes.
func cut(s string, n int) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
