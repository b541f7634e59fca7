package slots

import "strings"

// directory lists the hosts that the ledger knows, by UUID and by name (LH-25).
type directory struct {
	byUUID map[string]*host
	byName map[string]*host // the host that bore the name last
}

// find returns the host that id means, or nil (LH-25). The UUID decides. A name
// alone means the host that bore it last. A host known by name only is found by
// an id with a UUID too, because it is about to learn it.
func (d *directory) find(id ID) *host {
	if h := d.byUUID[id.UUID]; h != nil {
		return h
	}
	if h := d.byName[id.Name]; h != nil && (id.UUID == "" || h.id.UUID == "") {
		return h
	}
	return nil
}

// Find returns the host that id means; false where the ledger knows none.
func (d *directory) Find(id ID) (Ref, bool) {
	h := d.find(id)
	return Ref{h}, h != nil
}

// Name returns the name of the host with that UUID, "" where none is known.
func (d *directory) Name(uuid string) string {
	if h := d.byUUID[uuid]; h != nil {
		return h.id.Name
	}
	return ""
}

// all yields every host once.
func (d *directory) all(yield func(*host) bool) {
	for _, h := range d.byUUID {
		if !yield(h) {
			return
		}
	}
	for _, h := range d.byName {
		if h.id.UUID == "" && !yield(h) {
			return
		}
	}
}

// enter gives h the UUID and the name of id and lists it under them (LH-25). A host that is
// known by this name only is the same host: enter returns it, and the caller merges it into
// h. A host with another UUID loses the name only if Ironic says so. An ask renames nothing
// that Ironic has named, except that it adds the namespace, and takes no name from another
// node: h may be called so, but is not found by that name alone. enter clones the strings,
// so they do not keep alive the request that they came in.
func (d *directory) enter(h *host, id ID, byIronic bool) (same *host) {
	if id.UUID != "" && h.id.UUID != id.UUID {
		h.id.UUID = strings.Clone(id.UUID)
		d.byUUID[h.id.UUID] = h
	}
	owner := d.byName[id.Name]
	switch {
	case id.Name == "" || !byIronic && h.named && !addsNamespace(id.Name, h.id.Name):
		return nil
	case h.id.Name == id.Name && owner == h:
		h.named = h.named || byIronic
		return nil
	}
	d.removeName(h)
	h.id.Name, h.named = strings.Clone(id.Name), byIronic
	switch {
	case owner == nil || owner == h:
	case owner.id.UUID == "":
		same = owner
	case !byIronic:
		return nil
	}
	d.byName[h.id.Name] = h
	return same
}

// addsNamespace reports whether name has a namespace and old has none: BMO
// names nodes namespace~name, other clients of Ironic do not.
func addsNamespace(name, old string) bool {
	return strings.Contains(name, "~") && !strings.Contains(old, "~")
}

// remove takes h off both lists.
func (d *directory) remove(h *host) {
	d.removeUUID(h)
	d.removeName(h)
}

func (d *directory) removeUUID(h *host) {
	if d.byUUID[h.id.UUID] == h {
		delete(d.byUUID, h.id.UUID)
	}
}

func (d *directory) removeName(h *host) {
	if d.byName[h.id.Name] == h {
		delete(d.byName, h.id.Name)
	}
}
