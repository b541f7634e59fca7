package ironic

import "hash/maphash"

// index finds rows by a text of theirs without holding the text: an open hash table of
// row numbers, at most half full, 8 to 16 bytes a row. Its seed is its own, so that
// nobody can choose names that collide.
type index struct {
	seed  maphash.Seed
	fold  bool     // letters of either case are the same
	slots []uint32 // row + 1, 0 is free; a power of two
	used  int
}

// newIndex makes an index with room for rows rows; it grows.
func newIndex(rows int, fold bool) *index {
	size := 16
	for size < 2*rows {
		size *= 2
	}
	return &index{seed: maphash.MakeSeed(), fold: fold, slots: make([]uint32, size)}
}

// find returns the row with that key; keyOf tells the key of a row.
func (x *index) find(key string, keyOf func(row int) string) (int, bool) {
	slot := x.slot(key, keyOf)
	return int(x.slots[slot]) - 1, x.slots[slot] != 0
}

// add notes a row whose key is not there yet.
func (x *index) add(key string, row int, keyOf func(row int) string) {
	if 2*(x.used+1) > len(x.slots) {
		old := x.slots
		x.slots = make([]uint32, 2*len(old))
		for _, entry := range old {
			if entry != 0 {
				x.slots[x.slot(keyOf(int(entry)-1), keyOf)] = entry
			}
		}
	}
	x.slots[x.slot(key, keyOf)] = uint32(row + 1)
	x.used++
}

// slot returns where key is, or where it would be.
func (x *index) slot(key string, keyOf func(row int) string) uint64 {
	mask := uint64(len(x.slots) - 1)
	for i := x.hash(key) & mask; ; i = (i + 1) & mask {
		if x.slots[i] == 0 || x.same(keyOf(int(x.slots[i])-1), key) {
			return i
		}
	}
}

func (x *index) hash(key string) uint64 {
	if !x.fold {
		return maphash.String(x.seed, key)
	}
	var room [maxKeyLen]byte
	lower := room[:0]
	for i := range min(len(key), len(room)) {
		lower = append(lower, lowered(key[i]))
	}
	return maphash.Bytes(x.seed, lower)
}

func (x *index) same(a, b string) bool {
	if !x.fold || a == b {
		return a == b
	}
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lowered(a[i]) != lowered(b[i]) {
			return false
		}
	}
	return true
}

// lowered folds ASCII letters and nothing else, as UUIDs need it.
func lowered(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}
