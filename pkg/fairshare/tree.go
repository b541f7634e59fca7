package fairshare

// tree holds the waiting hosts of one lane by (key, seq): a treap that knows the
// size of each subtree, so that a host's rank costs O(log n) as well. The priority
// is a hash of seq: no history builds a deep tree but one that knows the hash.
type tree struct {
	root *Host
	n    int
}

type treeNode struct {
	left, right, up *Host
	size            int32
	prio            uint32
}

func (h *Host) before(o *Host) bool {
	return h.key < o.key || h.key == o.key && h.seq < o.seq
}

func size(h *Host) int {
	if h == nil {
		return 0
	}
	return int(h.node.size)
}

func (t *tree) len() int { return t.n }

// first returns the host that is next, or nil.
func (t *tree) first() *Host {
	h := t.root
	for h != nil && h.node.left != nil {
		h = h.node.left
	}
	return h
}

// last returns the host that is last, or nil.
func (t *tree) last() *Host {
	h := t.root
	for h != nil && h.node.right != nil {
		h = h.node.right
	}
	return h
}

// from returns the first host with that key or a greater one, or nil.
func (t *tree) from(key int64) (h *Host) {
	for at := t.root; at != nil; {
		if at.key >= key {
			h, at = at, at.node.left
		} else {
			at = at.node.right
		}
	}
	return h
}

// previous returns the host before h, or nil.
func previous(h *Host) *Host {
	if h.node.left != nil {
		h = h.node.left
		for h.node.right != nil {
			h = h.node.right
		}
		return h
	}
	for h.node.up != nil && h.node.up.node.left == h {
		h = h.node.up
	}
	return h.node.up
}

// next returns the host after h, or nil.
func next(h *Host) *Host {
	if h.node.right != nil {
		h = h.node.right
		for h.node.left != nil {
			h = h.node.left
		}
		return h
	}
	for h.node.up != nil && h.node.up.node.right == h {
		h = h.node.up
	}
	return h.node.up
}

func (t *tree) insert(h *Host) {
	t.n++
	h.node = treeNode{size: 1, prio: hash(uint64(h.seq))} //nolint:gosec // a bit pattern
	if t.root == nil {
		t.root = h
		return
	}
	at := t.root
	for {
		at.node.size++
		child := &at.node.right
		if h.before(at) {
			child = &at.node.left
		}
		if *child == nil {
			*child, h.node.up = h, at
			break
		}
		at = *child
	}
	for h.node.up != nil && h.node.prio > h.node.up.node.prio {
		t.rotate(h)
	}
}

func (t *tree) remove(h *Host) {
	t.n--
	for h.node.left != nil || h.node.right != nil {
		child := h.node.left
		if child == nil || h.node.right != nil && h.node.right.node.prio > child.node.prio {
			child = h.node.right
		}
		t.rotate(child)
	}
	up := h.node.up
	t.replace(up, h, nil)
	for ; up != nil; up = up.node.up {
		up.node.size--
	}
	h.node = treeNode{}
}

// rotate lifts h above its parent.
func (t *tree) rotate(h *Host) {
	p := h.node.up
	t.replace(p.node.up, p, h)
	if p.node.left == h {
		p.node.left = h.node.right
		if p.node.left != nil {
			p.node.left.node.up = p
		}
		h.node.right = p
	} else {
		p.node.right = h.node.left
		if p.node.right != nil {
			p.node.right.node.up = p
		}
		h.node.left = p
	}
	p.node.up = h
	h.node.size = p.node.size
	p.node.size = int32(1 + size(p.node.left) + size(p.node.right)) //nolint:gosec // hosts in memory
}

// replace puts h in the place of old below up.
func (t *tree) replace(up, old, h *Host) {
	switch {
	case up == nil:
		t.root = h
	case up.node.left == old:
		up.node.left = h
	default:
		up.node.right = h
	}
	if h != nil {
		h.node.up = up
	}
}

// rank returns how many hosts of t go before h, which need not be one of them.
func (t *tree) rank(h *Host) (n int) {
	for at := t.root; at != nil; {
		if at.before(h) {
			n += size(at) - size(at.node.right)
			at = at.node.right
		} else {
			at = at.node.left
		}
	}
	return n
}

// ownRank is rank for a host that is in its tree: only the hosts above it are
// looked at.
func ownRank(h *Host) int {
	n := size(h.node.left)
	for up := h.node.up; up != nil; h, up = up, up.node.up {
		if up.node.right == h {
			n += size(up) - size(h)
		}
	}
	return n
}

// hash spreads x (the finisher of splitmix64).
func hash(x uint64) uint32 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return uint32(x >> 32)
}
