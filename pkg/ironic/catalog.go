package ironic

import (
	"slices"
	"unique"
)

// Catalog is a list of all nodes, in Ironic's own order. It never changes. Client.Catalog makes them.
type Catalog struct {
	nodes     []listed
	pageLimit int
}

// listed is an Entry in half of its memory.
type listed struct {
	uuid, name string
	rest       unique.Handle[Entry] // is the same for many nodes
}

// Entry is a node of a Catalog. Fields that are unset are "".
type Entry struct {
	UUID, Name     string
	State          State
	BootInterface  string
	ConductorGroup string
}

// Len returns the number of nodes.
func (c *Catalog) Len() int { return len(c.nodes) }

// At returns node i of 0 to Len()-1; another i panics, as with a slice.
func (c *Catalog) At(i int) Entry {
	e := c.nodes[i].rest.Value()
	e.UUID, e.Name = c.nodes[i].uuid, c.nodes[i].name
	return e
}

// Find returns the place of the node with that UUID. It looks at one after the other: 0.5 ms with 100,000 nodes.
func (c *Catalog) Find(uuid string) (int, bool) {
	i := slices.IndexFunc(c.nodes, func(n listed) bool { return n.uuid == uuid })
	return i, i >= 0
}

// PageLimit is the number of nodes after which Ironic ends a page of its own accord (its max_limit), as this list has
// met it; 0 when nothing was ever said to follow.
func (c *Catalog) PageLimit() int { return c.pageLimit }
