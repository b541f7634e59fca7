package holdfile

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// database returns the bytes of one with n pairs, of values of size bytes, after some
// of them were written again and removed.
func databaseOf(t testing.TB, n, size, pageSize int) (data []byte, want map[string]string) {
	t.Helper()
	d := &desk{path: t.TempDir() + "/db"}
	db, err := bbolt.Open(d.path, 0o600, &bbolt.Options{PageSize: pageSize, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	want = map[string]string{}
	put := func(from, to int, text string) {
		err := db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte(bucket))
			for i := from; i < to && err == nil; i++ {
				key := fmt.Sprintf("%08d-%s", i, text[:1])
				want[key] = strings.Repeat(text, size/len(text)+1)[:size]
				err = b.Put([]byte(key), []byte(want[key]))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	put(0, n, "first ")
	put(n/2, n, "second ")
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, key := range slices.Sorted(maps.Keys(want))[n/3 : n/2] {
			delete(want, key)
			if err := tx.Bucket([]byte(bucket)).Delete([]byte(key)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return d.bytes(t), want
}

func readPairs(data []byte) (map[string]string, error) {
	got := map[string]string{}
	err := pairs(bytes.NewReader(data), int64(len(data)), bucket, func(key, value []byte) {
		got[string(key)] = string(value)
	})
	return got, err
}

// Whatever bbolt writes is read: within a page of the root, in a page, in trees of
// some depth, with values longer than pages, with pages of any size.
func TestPairsAreThoseOfBbolt(t *testing.T) {
	for _, row := range []struct{ n, size, pageSize int }{
		{0, 10, 0}, {1, 10, 0}, {1, 0, 0}, {3, 500, 0}, {10, 500, 0}, {1000, 500, 0}, {1000, 20, 1024}, {30_000, 20, 1024},
		{10, 20_000, 0}, {100, 5000, 1024}, {500, 500, 16 << 10}, {500, 500, 64 << 10},
	} {
		data, want := databaseOf(t, row.n, row.size, row.pageSize)
		got, err := readPairs(data)
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%+v: %d of %d pairs, %v", row, len(got), len(want), err)
		}
	}
}

// One page that describes the database is enough: the newer one, unless the machine
// stopped while it was written.
func TestPairsWithOneMetaPage(t *testing.T) {
	for _, pageSize := range []int{1024, 4096, 65536} {
		data, want := databaseOf(t, 300, 100, pageSize)
		for broken := range 2 {
			torn := bytes.Clone(data)
			torn[broken*pageSize+headSize+20] ^= 1
			got, err := readPairs(torn)
			newer := native.Uint64(data[headSize+48:]) > native.Uint64(data[pageSize+headSize+48:]) == (broken == 0)
			switch {
			case !newer && (err != nil || !maps.Equal(got, want)):
				t.Errorf("the older page is broken: %d pairs, %v", len(got), err)
			case newer && err == nil && maps.Equal(got, want):
				t.Errorf("the newer page is broken, and nothing was lost")
			}
		}
		data[headSize+20] ^= 1
		data[pageSize+headSize+20] ^= 1
		if _, err := readPairs(data); err == nil || err.Error() != "there is no page that describes a database" {
			t.Errorf("both are broken: %v", err)
		}
	}
}

// seal makes the checksums of the meta pages right.
func seal(data []byte, pageSize int) {
	for at := headSize; at+metaSize <= len(data) && at < 2*pageSize; at += pageSize {
		sum := fnv.New64a()
		_, _ = sum.Write(data[at : at+metaSize-8])
		native.PutUint64(data[at+56:], sum.Sum64())
	}
}

func TestPairsRefuses(t *testing.T) {
	const pageSize = 1024
	data, _ := databaseOf(t, 300, 20, pageSize)
	live := 0 // the meta page in force
	if native.Uint64(data[pageSize+headSize+48:]) > native.Uint64(data[headSize+48:]) {
		live = pageSize
	}
	root := int(native.Uint64(data[live+headSize+16:])) * pageSize
	top := -1 // the root of the bucket
	_ = (&database{r: bytes.NewReader(data), pageSize: pageSize, high: uint64(len(data) / pageSize), read: make([]bool, len(data)/pageSize)}).
		walk(uint64(root/pageSize), 0, func(_ uint32, _, value []byte) error {
			top = int(native.Uint64(value)) * pageSize
			return nil
		})
	if top < 0 || native.Uint16(data[top+8:]) != branch {
		t.Fatalf("the root of the bucket is at %d", top)
	}
	first := int(native.Uint64(data[top+headSize+8:])) * pageSize // its first leaf
	for _, row := range []struct {
		name string
		make func(data []byte)
		want string
	}{
		{"version", func(b []byte) { native.PutUint32(b[live+headSize+4:], 3) }, ""},
		{"magic", func(b []byte) { native.PutUint32(b[live+headSize:], 3) }, ""},
		{"root is a meta page", func(b []byte) { native.PutUint64(b[live+headSize+16:], 1) }, "page 1: there are pages 2 to "},
		{"root is far away", func(b []byte) { native.PutUint64(b[live+headSize+16:], 1<<63) }, "there are pages 2 to "},
		{"more pages than bytes", func(b []byte) { native.PutUint64(b[live+headSize+40:], 1<<40) }, "do not fit into"},
		{"no pages", func(b []byte) { native.PutUint64(b[live+headSize+40:], 1) }, "do not fit into"},
		{"another id", func(b []byte) { b[root] ^= 1 }, "says that it is page"},
		{"another kind", func(b []byte) { b[root+8] = 0x10 }, "has flags 0x10"},
		{"two kinds", func(b []byte) { b[top+8] |= leaf }, "has flags 0x3"},
		{"flows over the end", func(b []byte) { native.PutUint32(b[first+12:], 1<<31) }, "more pages"},
		{"flows over the end by one", func(b []byte) {
			native.PutUint32(b[first+12:], uint32(native.Uint64(b[live+headSize+40:]))-uint32(first/pageSize))
		}, "more pages"},
		{"flows over its neighbour", func(b []byte) { native.PutUint32(b[top+12:], 3) }, "is in two places"},
		{"too many elements", func(b []byte) { native.PutUint16(b[first+10:], 1000) }, "1000 elements do not fit"},
		{"a tree that bites itself", func(b []byte) { native.PutUint64(b[top+headSize+8:], uint64(top/pageSize)) }, "is in two places"},
		{"a page twice", func(b []byte) { copy(b[top+headSize+8+16:top+headSize+16+16], b[top+headSize+8:top+headSize+16]) }, "is in two places"},
		{"a branch key outside", func(b []byte) { native.PutUint32(b[top+headSize:], 5000) }, "element 0 is outside"},
		{"a key before the page's data", func(b []byte) { native.PutUint32(b[first+headSize+4:], 0) }, "element 0 is outside"},
		{"a key outside", func(b []byte) { native.PutUint32(b[first+headSize+4:], 1<<32-1) }, "element 0 is outside"},
		{"a long key", func(b []byte) { native.PutUint32(b[first+headSize+8:], 1<<32-1) }, "element 0 is outside"},
		{"a long value", func(b []byte) { native.PutUint32(b[first+headSize+12:], 1<<32-1) }, "element 0 is outside"},
		{"no key", func(b []byte) { native.PutUint32(b[first+headSize+8:], 0) }, "the key of element 0"},
		{"keys out of order", func(b []byte) {
			at := first + headSize + int(native.Uint32(b[first+headSize+4:]))
			b[at] = 'z'
		}, "the key of element 1"},
		{"pairs that overlap", func(b []byte) {
			for i := range int(native.Uint16(b[first+10:])) {
				at := first + headSize + i*elemSize
				native.PutUint32(b[at+12:], uint32(first+pageSize-at)-native.Uint32(b[at+4:])-native.Uint32(b[at+8:]))
			}
		}, "is outside of its page"},
		{"flags of a pair", func(b []byte) { b[first+headSize] = 2 }, "has flags 0x2"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := bytes.Clone(data)
			row.make(b)
			seal(b, pageSize)
			got, err := readPairs(b)
			if row.want == "" { // the other meta page is an older one: that it is read at all says enough
				if newest, _ := readPairs(data); err == nil && maps.Equal(got, newest) {
					t.Error("it was read all the same")
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want %s", err, row.want)
			}
		})
	}
}
