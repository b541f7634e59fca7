package holdfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// What a bbolt database looks like (version 2; integers are those of the machine).
const (
	magic     = 0xED0CDAED
	version   = 2
	headSize  = 16 // of a page: id 8, flags 2, count 2, overflow 4
	elemSize  = 16 // branch: pos 4, ksize 4, id 8; leaf: flags 4, pos 4, ksize 4, vsize 4
	metaSize  = 64 // magic, version, page size, flags 4 each; root, sequence, freelist, high, txid, checksum 8 each
	branch    = 0x01
	leaf      = 0x02
	meta      = 0x04
	subBucket = 0x01 // flag of a leaf element

	minPage, maxPage = 1 << 10, 1 << 24
	// maxDepth is of the tree. With two keys on a page it has more room than any file.
	maxDepth = 40
	// maxFile is the largest file that is read: twice what the most hosts need that a
	// Book has, each with three long episodes.
	maxFile = 1 << 30
)

var native = binary.NativeEndian

// pairs calls each for every pair of the bucket in the database r of size bytes, in the
// order of the keys. It reads every page at most once and trusts nothing; an error
// means that the database is broken, or is none. What each gets is not used again.
func pairs(r io.ReaderAt, size int64, bucket string, each func(key, value []byte)) error {
	if size > maxFile {
		return fmt.Errorf("%d bytes are more than %d", size, int64(maxFile))
	}
	d, err := newDatabase(r, size)
	if err != nil {
		return err
	}
	var root []byte
	err = d.walk(d.root, 0, func(flags uint32, key, value []byte) error {
		if flags&subBucket != 0 && string(key) == bucket {
			root = value
		}
		return nil
	})
	if err != nil {
		return err
	}
	if root == nil {
		return fmt.Errorf("there is no bucket %q", bucket)
	}
	pair := func(flags uint32, key, value []byte) error {
		if flags != 0 {
			return fmt.Errorf("a pair of bucket %q has flags %#x", bucket, flags)
		}
		each(key, value)
		return nil
	}
	if len(root) < 16 {
		return fmt.Errorf("bucket %q: %d bytes are too few", bucket, len(root))
	}
	if id := native.Uint64(root); id != 0 {
		return d.walk(id, 0, pair)
	}
	// A small bucket is a page within its value.
	inline := root[16:]
	if len(inline) < headSize {
		return fmt.Errorf("bucket %q: its page is cut off", bucket)
	}
	if native.Uint16(inline[8:]) != leaf {
		return fmt.Errorf("bucket %q: its page is no leaf", bucket)
	}
	return leafPairs(inline, pair)
}

// database is what the newest good meta page says, and the pages that were read.
type database struct {
	r          io.ReaderAt
	pageSize   int64
	root, high uint64
	read       []bool
}

func newDatabase(r io.ReaderAt, size int64) (*database, error) {
	first, firstOK := readMeta(r, 0)
	best, ok := first, firstOK
	// The second meta page is on the second page, wherever that begins.
	for at := int64(minPage); at <= maxPage; at *= 2 {
		if firstOK && at != first.pageSize {
			continue
		}
		if m, good := readMeta(r, at); good && m.pageSize == at && (!ok || m.txid > best.txid) {
			best, ok = m, true
		}
	}
	switch {
	case !ok:
		return nil, errors.New("there is no page that describes a database")
	case best.high < 2 || best.high > uint64(size/best.pageSize): //nolint:gosec // a size is not negative
		return nil, fmt.Errorf("%d pages of %d bytes do not fit into %d bytes", best.high, best.pageSize, size)
	}
	return &database{r: r, pageSize: best.pageSize, root: best.root, high: best.high, read: make([]bool, best.high)}, nil
}

// metaPage is what counts in one.
type metaPage struct {
	pageSize         int64
	root, high, txid uint64
}

func readMeta(r io.ReaderAt, at int64) (metaPage, bool) {
	page := make([]byte, headSize+metaSize)
	if n, _ := r.ReadAt(page, at); n < len(page) {
		return metaPage{}, false
	}
	body := page[headSize:]
	sum := fnv.New64a()
	_, _ = sum.Write(body[:metaSize-8])
	m := metaPage{
		pageSize: int64(native.Uint32(body[8:])),
		root:     native.Uint64(body[16:]), high: native.Uint64(body[40:]), txid: native.Uint64(body[48:]),
	}
	good := native.Uint16(page[8:]) == meta && native.Uint32(body) == magic && native.Uint32(body[4:]) == version &&
		native.Uint64(body[56:]) == sum.Sum64() &&
		m.pageSize >= minPage && m.pageSize <= maxPage && m.pageSize&(m.pageSize-1) == 0
	return m, good
}

// page returns the bytes of a page with what flows over into the next ones.
func (d *database) page(id uint64) ([]byte, error) {
	if id < 2 || id >= d.high {
		return nil, fmt.Errorf("page %d: there are pages 2 to %d", id, d.high-1)
	}
	head := make([]byte, headSize)
	at := int64(id) * d.pageSize //nolint:gosec // id is below high, and high pages fit into the file
	if _, err := d.r.ReadAt(head, at); err != nil {
		return nil, fmt.Errorf("page %d: %w", id, err)
	}
	if is := native.Uint64(head); is != id {
		return nil, fmt.Errorf("page %d: says that it is page %d", id, is)
	}
	over := uint64(native.Uint32(head[12:]))
	if over >= d.high-id {
		return nil, fmt.Errorf("page %d: has %d more pages, %d are there", id, over, d.high-id-1)
	}
	for n := id; n <= id+over; n++ {
		if d.read[n] {
			return nil, fmt.Errorf("page %d: is in two places", n)
		}
		d.read[n] = true
	}
	page := make([]byte, int64(over+1)*d.pageSize) //nolint:gosec // these pages are below high too
	if _, err := d.r.ReadAt(page, at); err != nil {
		return nil, fmt.Errorf("page %d: %w", id, err)
	}
	return page, nil
}

type pairFunc func(flags uint32, key, value []byte) error

// walk calls each for the pairs below page id.
func (d *database) walk(id uint64, depth int, each pairFunc) error {
	if depth > maxDepth {
		return fmt.Errorf("page %d: is more than %d pages deep", id, maxDepth)
	}
	page, err := d.page(id)
	if err != nil {
		return err
	}
	switch kind := native.Uint16(page[8:]); kind {
	case leaf:
		err = leafPairs(page, each)
	case branch:
		err = d.branches(page, depth, each)
	default:
		err = fmt.Errorf("has flags %#x", kind)
	}
	if err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	return nil
}

func (d *database) branches(page []byte, depth int, each pairFunc) error {
	e, err := newElements(page)
	if err != nil {
		return err
	}
	for i := range e.count {
		at := headSize + i*elemSize
		if _, _, err := e.pair(at, native.Uint32(page[at:]), native.Uint32(page[at+4:]), 0); err != nil {
			return err
		}
		if err := d.walk(native.Uint64(page[at+8:]), depth+1, each); err != nil {
			return err
		}
	}
	return nil
}

func leafPairs(page []byte, each pairFunc) error {
	e, err := newElements(page)
	if err != nil {
		return err
	}
	for i := range e.count {
		at := headSize + i*elemSize
		key, value, err := e.pair(at, native.Uint32(page[at+4:]), native.Uint32(page[at+8:]), native.Uint32(page[at+12:]))
		if err != nil {
			return err
		}
		if err := each(native.Uint32(page[at:]), key, value); err != nil {
			return err
		}
	}
	return nil
}

// elements reads those of one page, in order.
type elements struct {
	page  []byte
	count int
	room  int64 // that keys and values have left: they do not overlap
	last  []byte
}

func newElements(page []byte) (*elements, error) {
	count := int(native.Uint16(page[10:]))
	room := len(page) - headSize - count*elemSize
	if room < 0 {
		return nil, fmt.Errorf("%d elements do not fit", count)
	}
	return &elements{page: page, count: count, room: int64(room)}, nil
}

// pair returns the key and the value of the element at that begin pos bytes further on.
func (e *elements) pair(at int, pos, keySize, valueSize uint32) (key, value []byte, err error) {
	begin := int64(at) + int64(pos)
	middle := begin + int64(keySize)
	end := middle + int64(valueSize)
	e.room -= end - begin
	if begin < int64(headSize+e.count*elemSize) || end > int64(len(e.page)) || e.room < 0 {
		return nil, nil, fmt.Errorf("element %d is outside of its page", (at-headSize)/elemSize)
	}
	key, value = e.page[begin:middle:middle], e.page[middle:end:end]
	if keySize == 0 || e.last != nil && bytes.Compare(e.last, key) >= 0 {
		return nil, nil, fmt.Errorf("the key of element %d is out of order", (at-headSize)/elemSize)
	}
	e.last = key
	return key, value, nil
}
