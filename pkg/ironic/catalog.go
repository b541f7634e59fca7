package ironic

import (
	"slices"
	"strings"
)

// Catalog is a list of all nodes, in Ironic's own order. It never changes: With makes another one. All methods are
// safe for concurrent use. Client.Catalog makes them.
type Catalog struct {
	*roster

	states []State
}

// roster is what the copies of a Catalog share.
type roster struct {
	entries   []Entry        // without their states
	byUUID    map[string]int // in small letters
	pageLimit int
}

// Entry is a node of a Catalog. Fields that are unset, or that Ironic's version does not have, are "".
type Entry struct {
	UUID, Name     string
	State          State
	BootInterface  string
	ConductorGroup string
}

// add takes a row up, and reports whether its node is a new one. Client.Catalog alone may call it.
func (c *Catalog) add(n Node) bool {
	key := strings.ToLower(n.UUID)
	i, known := c.byUUID[key]
	if !known {
		i = len(c.entries)
		c.byUUID[key] = i
		c.entries, c.states = append(c.entries, Entry{}), append(c.states, "")
	}
	c.entries[i] = Entry{UUID: n.UUID, Name: n.Name, BootInterface: n.BootInterface, ConductorGroup: n.ConductorGroup}
	c.states[i] = n.State
	return !known
}

// Len returns the number of nodes.
func (c *Catalog) Len() int { return len(c.entries) }

// At returns node i of 0 to Len()-1; another i panics, as with a slice.
func (c *Catalog) At(i int) Entry {
	e := c.entries[i]
	e.State = c.states[i]
	return e
}

// Find returns the place of the node with that UUID, in letters of either case.
func (c *Catalog) Find(uuid string) (int, bool) {
	i, ok := c.byUUID[strings.ToLower(uuid)]
	return i, ok
}

// FindName returns the place of the first node with that name. It looks at one after the other: names are seldom asked
// with.
func (c *Catalog) FindName(name string) (int, bool) {
	i := slices.IndexFunc(c.entries, func(e Entry) bool { return e.Name == name })
	return i, i >= 0 && name != ""
}

// PageLimit is the number of nodes after which Ironic ends a page of its own accord (its max_limit), as this list has
// met it; 0 when all nodes came in one page and nothing was said to follow.
func (c *Catalog) PageLimit() int { return c.pageLimit }

// With returns a Catalog in which nodes have the states that are given by UUID. Unknown UUIDs are ignored: a new node
// comes with the next list, and so does its place in Ironic's order.
func (c *Catalog) With(states map[string]State) *Catalog {
	next := &Catalog{roster: c.roster, states: slices.Clone(c.states)}
	for uuid, state := range states {
		if i, ok := c.Find(uuid); ok {
			next.states[i] = state
		}
	}
	return next
}
