package hosts

import "maps"

// table holds the hosts by name and by node. It does not lock.
type table struct {
	names  map[key]*entry
	nodes  map[uuid]*entry // the head of a chain by next: nearly always of one
	errors map[string]int
}

type key struct{ namespace, name string }

// entry is one host in the table.
type entry struct {
	host Host
	next *entry // another host of the same node
	seen uint32 // the list that saw it last
}

func newTable() *table {
	return &table{names: map[key]*entry{}, nodes: map[uuid]*entry{}, errors: map[string]int{}}
}

func (t *table) len() int { return len(t.names) }

func (t *table) errorTypes() map[string]int { return maps.Clone(t.errors) }

func (t *table) byName(namespace, name string) (Host, bool) {
	e := t.names[key{namespace, name}]
	if e == nil {
		return Host{}, false
	}
	return e.host, true
}

func (t *table) byNode(id uuid) (Host, bool) {
	e := t.nodes[id]
	if e == nil {
		return Host{}, false
	}
	return e.host, true
}

// put shows h, seen by a list (or by the watch after it), and returns what was there
// before, nil if nothing was.
func (t *table) put(h Host, seen uint32) *Host {
	k := key{h.Namespace, h.Name}
	e := t.names[k]
	if e == nil {
		e = &entry{host: pack(h), seen: seen}
		t.names[key{e.host.Namespace, e.host.Name}] = e
		t.link(e)
		return nil
	}
	e.seen = seen
	old := e.host
	if old == h {
		return &old
	}
	t.unlink(e)
	delete(t.names, k) // the key's text is a piece of the old host's, which goes
	e.host = pack(h)
	t.names[key{e.host.Namespace, e.host.Name}] = e
	t.link(e)
	return &old
}

// drop removes the host of that name and returns it, nil if it is not there.
func (t *table) drop(k key) *Host {
	e := t.names[k]
	if e == nil {
		return nil
	}
	t.unlink(e)
	delete(t.names, k)
	return &e.host
}

// unseen lists the hosts of a namespace ("": of all) that a list has not seen.
func (t *table) unseen(namespace string, by uint32) []key {
	var gone []key
	for k, e := range t.names {
		if e.seen != by && (namespace == "" || namespace == k.namespace) {
			gone = append(gone, k)
		}
	}
	return gone
}

func (t *table) link(e *entry) {
	if e.host.ErrorType != "" {
		t.errors[e.host.ErrorType]++
	}
	if id, ok := parseUUID(e.host.NodeUUID); ok {
		e.next = t.nodes[id]
		t.nodes[id] = e
	}
}

func (t *table) unlink(e *entry) {
	if kind := e.host.ErrorType; kind != "" {
		if t.errors[kind]--; t.errors[kind] == 0 {
			delete(t.errors, kind)
		}
	}
	id, ok := parseUUID(e.host.NodeUUID)
	if !ok {
		return
	}
	head := t.nodes[id]
	at := &head
	for *at != nil && *at != e {
		at = &(*at).next
	}
	if *at == nil {
		return
	}
	*at, e.next = e.next, nil
	if head == nil {
		delete(t.nodes, id)
	} else {
		t.nodes[id] = head
	}
}
