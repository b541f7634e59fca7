package ironic

import (
	"slices"
	"strings"
	"sync"
)

// Catalog is a list of all nodes, in Ironic's own order. It never changes: With makes
// another one. All methods are safe for concurrent use. The zero value is not usable:
// Client.Catalog makes them.
type Catalog struct {
	*roster // shared by all copies

	words  *words // of states
	states []uint16
	seqs   []uint64 // of the mark of each state
}

// roster is what the copies of a Catalog share: about 76 bytes a node with UUIDs and
// names of the usual length, and 10 more in each copy.
type roster struct {
	begun     Mark
	pageLimit int

	text   string // UUID and name of each node, one after the other
	starts []uint32
	uuids  []uint8  // their lengths; maxKeyLen fits
	names  []uint16 // their lengths; maxTextLen fits
	boots  []uint16
	groups []uint16
	shared *words // of boots and groups

	byUUID *index

	once   sync.Once
	byName *index // made when it is first needed
}

// Entry is a node of a Catalog. Fields that are unset, or that Ironic's version does not
// have, are "".
type Entry struct {
	UUID, Name     string
	State          State
	BootInterface  string
	ConductorGroup string
}

// Seen is a state in which a node was observed by other means than the list; Seq is that of
// the Mark before that observation.
type Seen struct {
	UUID  string
	State State
	Seq   uint64
}

// Len returns the number of nodes.
func (c *Catalog) Len() int { return len(c.states) }

// At returns node i of 0 to Len()-1; another i panics, as with a slice. It does not
// allocate: the strings are parts of the Catalog, and hold all of it in memory.
func (c *Catalog) At(i int) Entry {
	return Entry{
		UUID: c.uuid(i), Name: c.name(i),
		State:         State(c.words.text(c.states[i])),
		BootInterface: c.shared.text(c.boots[i]), ConductorGroup: c.shared.text(c.groups[i]),
	}
}

// Find returns the place of the node with that UUID, in letters of either case.
func (c *Catalog) Find(uuid string) (int, bool) { return c.byUUID.find(uuid, c.uuid) }

// FindName returns the place of the node with that name. The first call makes the index,
// which takes some milliseconds at 100,000 nodes.
func (c *Catalog) FindName(name string) (int, bool) {
	if name == "" {
		return 0, false
	}
	c.once.Do(func() {
		names := newIndex(c.Len(), false)
		for i := range c.Len() {
			names.put(c.name(i), i, c.name)
		}
		c.byName = names
	})
	return c.byName.find(name, c.name)
}

// PageLimit is the number of nodes after which Ironic ends a page of its own accord (its
// max_limit), as this list has met it; 0 when all nodes came in one page and nothing was
// said to follow.
func (c *Catalog) PageLimit() int { return c.pageLimit }

// Begun returns the mark before the first request.
func (c *Catalog) Begun() Mark { return c.begun }

// Bytes is the memory that the Catalog takes, with what it shares with its copies and
// without the index of names.
func (c *Catalog) Bytes() int64 {
	n := len(c.text) + 4*cap(c.starts) + cap(c.uuids) + 2*(cap(c.names)+cap(c.boots)+cap(c.groups)) +
		4*cap(c.byUUID.slots) + 2*cap(c.states) + 8*cap(c.seqs)
	return int64(n) + c.words.bytes() + c.shared.bytes()
}

// With returns a Catalog in which nodes have the states that were observed after the list,
// or the change before, has shown them: where Seq is higher than that of what is there.
// Unknown UUIDs are ignored: a new node comes with the next list, and so does its place
// in Ironic's order.
func (c *Catalog) With(changes []Seen) *Catalog {
	next := &Catalog{roster: c.roster, words: c.words, states: slices.Clone(c.states), seqs: slices.Clone(c.seqs)}
	for _, change := range changes {
		i, ok := c.Find(change.UUID)
		if !ok || change.Seq <= next.seqs[i] {
			continue
		}
		code, ok := next.words.find(string(change.State))
		if !ok {
			next.words = next.words.clone()
			if code, ok = next.words.add(strings.Clone(string(change.State))); !ok {
				continue // no Ironic has that many states; the next list fails on it
			}
		}
		next.states[i], next.seqs[i] = code, change.Seq
	}
	return next
}

func (r *roster) uuid(i int) string {
	return r.text[r.starts[i]:][:r.uuids[i]]
}

func (r *roster) name(i int) string {
	return r.text[int(r.starts[i])+int(r.uuids[i]):][:r.names[i]]
}

// words number the few texts that many nodes share.
type words struct {
	texts []string
	size  int // bytes of texts
	codes map[string]uint16
}

func newWords() *words { return &words{codes: map[string]uint16{}} }

func (w *words) text(code uint16) string { return w.texts[code] }

func (w *words) find(text string) (uint16, bool) {
	code, ok := w.codes[text]
	return code, ok
}

// code returns the number of text as add does; it does not allocate for a known one.
func (w *words) code(text []byte) (uint16, bool) {
	if code, ok := w.codes[string(text)]; ok {
		return code, true
	}
	return w.add(string(text))
}

// add returns the number of text, a new one if need be; false when there are none left.
func (w *words) add(text string) (uint16, bool) {
	if code, ok := w.codes[text]; ok {
		return code, true
	}
	if len(w.texts) > maxWord || w.size+len(text) > maxWordBytes {
		return 0, false
	}
	w.size += len(text)
	code := uint16(len(w.texts)) //nolint:gosec // at most maxWord
	w.texts = append(w.texts, text)
	w.codes[text] = code
	return code, true
}

func (w *words) clone() *words {
	next := newWords()
	for _, text := range w.texts {
		next.add(text)
	}
	return next
}

// bytes estimates the memory: two string headers, a code, a slot of the map.
func (w *words) bytes() int64 {
	var n int64
	for _, text := range w.texts {
		n += int64(len(text)) + 48
	}
	return n
}
