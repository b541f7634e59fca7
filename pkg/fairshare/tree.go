package fairshare

import "math"

// tree holds the waiting or the called hosts of one lane by (key, seq). It is a treap:
// a search tree by (key, seq) that is also a heap by priority. The priority is a hash of
// seq, so that no history builds a deep tree but one that knows the hash. Each host knows
// the size of its subtree, so that a rank costs O(log n) like everything else.
type tree struct{ root *Host }

type treeNode struct {
	left, right *Host
	size        int32
	prio        uint32
}

// size is the number of hosts in the subtree of h.
func size(h *Host) int {
	if h == nil {
		return 0
	}
	return int(h.node.size)
}

func (t *tree) len() int { return size(t.root) }

// first returns the host that is next, or nil.
func (t *tree) first() *Host { return t.after(math.MinInt64, 0) }

// after returns the first host behind (key, seq), or nil.
func (t *tree) after(key, seq int64) (h *Host) {
	for at := t.root; at != nil; {
		if at.key > key || at.key == key && at.seq > seq {
			h, at = at, at.node.left
		} else {
			at = at.node.right
		}
	}
	return h
}

// rank returns how many hosts of t stand before h, which need not be one of them. Only
// hosts on the way to h are read: with many, memory is what it costs.
func (t *tree) rank(h *Host) (n int) {
	at := t.root
	for at != nil && at != h {
		if at.before(h) {
			n += size(at) - size(at.node.right)
			at = at.node.right
		} else {
			at = at.node.left
		}
	}
	if at == nil {
		return n
	}
	return n + size(h.node.left)
}

func (t *tree) insert(h *Host) {
	prio := hash(uint64(h.seq)) //nolint:gosec // a bit pattern
	at := &t.root
	for *at != nil && (*at).node.prio >= prio {
		(*at).node.size++
		at = (*at).childTowards(h)
	}
	left, right := split(*at, h)
	h.node = treeNode{left: left, right: right, prio: prio}
	h.resize()
	*at = h
}

// remove takes out h, which must be in t.
func (t *tree) remove(h *Host) {
	at := &t.root
	for *at != h {
		(*at).node.size--
		at = (*at).childTowards(h)
	}
	*at = merge(h.node.left, h.node.right)
	h.node = treeNode{}
}

// childTowards is the side of h where o belongs.
func (h *Host) childTowards(o *Host) **Host {
	if o.before(h) {
		return &h.node.left
	}
	return &h.node.right
}

func (h *Host) resize() {
	h.node.size = int32(1 + size(h.node.left) + size(h.node.right)) //nolint:gosec // hosts in memory
}

// split cuts a subtree in the hosts before h and those behind it.
func split(root, h *Host) (left, right *Host) {
	switch {
	case root == nil:
		return nil, nil
	case h.before(root):
		left, root.node.left = split(root.node.left, h)
		root.resize()
		return left, root
	default:
		root.node.right, right = split(root.node.right, h)
		root.resize()
		return root, right
	}
}

// merge makes one subtree of two, of which all of left stand before all of right.
func merge(left, right *Host) *Host {
	switch {
	case left == nil:
		return right
	case right == nil:
		return left
	case left.node.prio >= right.node.prio:
		left.node.right = merge(left.node.right, right)
		left.resize()
		return left
	default:
		right.node.left = merge(left, right.node.left)
		right.resize()
		return right
	}
}

// hash spreads x (the finisher of splitmix64).
func hash(x uint64) uint32 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return uint32(x >> 32)
}
