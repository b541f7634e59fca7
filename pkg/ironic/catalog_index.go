package ironic

import "hash/maphash"

// index finds rows by a text of theirs without holding the text: an open hash table of
// row numbers, at most half full, 8 to 32 bytes a row. Its seed is its own, so that
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

// put returns the row with that key and false. If there is none, it adds row and returns it and true.
func (x *index) put(key string, row int, keyOf func(row int) string) (int, bool) {
	if 2*(x.used+1) > len(x.slots) {
		old := x.slots
		x.slots = make([]uint32, 4*len(old)) // seldom: each time all texts are read again
		for _, entry := range old {
			if entry != 0 {
				x.slots[x.slot(keyOf(int(entry)-1), keyOf)] = entry
			}
		}
	}
	slot := x.slot(key, keyOf)
	if entry := x.slots[slot]; entry != 0 {
		return int(entry) - 1, false
	}
	x.slots[slot] = uint32(row + 1) //nolint:gosec // rows are fewer than the bytes of their text
	x.used++
	return row, true
}

// slot returns where key is, or where it would be.
func (x *index) slot(key string, keyOf func(row int) string) uint64 {
	mask := uint64(len(x.slots) - 1) //nolint:gosec // never empty
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
	var room [40]byte // a UUID has 36; of a longer text the beginning must do
	lower := room[:copy(room[:], key)]
	for i := range lower {
		lower[i] |= 'a' - 'A' // coarser than same, which has the last word
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
