package holds

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

// shards is the number of ConfigMaps. Roles name them: it must not change.
const shards = 8

// Keys of a ConfigMap.
const (
	keyText   = "holds.jsonl"
	keyPacked = "holds.jsonl.gz"
	keyAside  = "unreadable.gz"
	keyLimits = "limits.json" // of ConfigMap limitShard
)

// limitShard is the ConfigMap with what is known of limits.
const limitShard = 0

// Sizes in bytes. The API server refuses ConfigMaps with more than 1 MiB of data.
const (
	maxPlain    = 256 << 10  // of records as text
	maxData     = 1000 << 10 // of all keys
	maxAnswer   = 4 << 20    // of the API server; etcd takes no object beyond 1.5 MiB
	maxAside    = maxData / 2
	maxUnpacked = 64 << 20 // of records, compressed before
)

// shardOf is the ConfigMap that the record of a host is in.
func shardOf(uuid string) int {
	h := fnv.New32a()
	_, _ = io.WriteString(h, uuid)
	return int(h.Sum32() % shards)
}

// shardName is the name of ConfigMap n.
func shardName(name string, n int) string { return fmt.Sprintf("%s-%d", name, n) }

// content is what is in a ConfigMap.
type content struct {
	text   string
	packed []byte
	aside  []byte
	limits string
	others others
}

// others are keys that this version does not know: a later one may have written them.
type others struct {
	data   map[string]string
	binary map[string][]byte
}

func (o others) size() (bytes int) {
	for key, text := range o.data {
		bytes += len(key) + len(text)
	}
	for key, text := range o.binary {
		bytes += len(key) + len(text)
	}
	return bytes
}

func known(key string) bool {
	return key == keyText || key == keyPacked || key == keyAside || key == keyLimits
}

// found is what was read of a ConfigMap.
type found struct {
	records []holdoff.Record
	lines   map[string][]byte // the same, as they were written
	written bool              // there was a ledger: one without hosts has the key, without text
	unread  int               // lines that could not be read, and texts
	why     error             // the last of these
}

// contentOf takes the keys of a ConfigMap.
func contentOf(data map[string]string, binary map[string][]byte) (c content, written bool) {
	data, binary = maps.Clone(data), maps.Clone(binary)
	text, isText := data[keyText]
	packed, isPacked := binary[keyPacked]
	c = content{text: text, packed: packed, aside: binary[keyAside], limits: data[keyLimits], others: others{data, binary}}
	maps.DeleteFunc(data, func(key, _ string) bool { return known(key) })
	maps.DeleteFunc(binary, func(key string, _ []byte) bool { return known(key) })
	return c, isText || isPacked
}

// parse reads the records of ConfigMap n.
func (c content) parse(n int) found {
	f := found{lines: map[string][]byte{}}
	texts := [][]byte{[]byte(c.text)}
	if c.packed != nil {
		text, err := unpack(c.packed, maxUnpacked)
		if err != nil { // nobody knows what was in the rest
			f.miss(fmt.Errorf("%s: %w", keyPacked, err))
		}
		texts = append(texts, text)
	}
	for _, text := range texts {
		for line := range bytes.Lines(text) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				f.take(line, n)
			}
		}
	}
	return f
}

func (f *found) miss(why error) {
	f.unread++
	f.why = why
}

// take takes a line of ConfigMap n in.
func (f *found) take(line []byte, n int) {
	r, err := holdoff.ParseRecord(line)
	switch {
	case err != nil:
		f.miss(err)
	case f.lines[r.UUID] != nil:
		f.miss(fmt.Errorf("uuid: %q is given twice", r.UUID))
	case shardOf(r.UUID) != n:
		f.miss(fmt.Errorf("uuid: %q belongs into ConfigMap %d", r.UUID, shardOf(r.UUID)))
	default:
		f.records, f.lines[r.UUID] = append(f.records, r), bytes.Clone(line)
	}
}

// setAside is what is kept of c when it could not be read; nil when it is too large.
func (c content) setAside() []byte {
	var kept []byte
	if c.text != "" {
		kept = pack([]byte(c.text))
	}
	kept = append(kept, c.packed...) // gzip files in a row are one
	if len(kept) > maxAside {
		return nil
	}
	return kept
}

// size is what c takes, without the limits.
func (c content) size() int { return len(c.text) + len(c.packed) + len(c.aside) }

// contentFor is lines as they are written beside aside into room bytes, and how many
// were left out.
func contentFor(lines map[string][]byte, aside []byte, room int) (c content, left int) {
	c.aside = aside
	text := join(lines, slices.Sorted(maps.Keys(lines)))
	if len(text) <= maxPlain {
		c.text = string(text)
		return c, 0
	}
	room -= len(aside)
	c.packed = pack(text)
	if len(c.packed) <= room {
		return c, 0
	}
	uuids := byWeight(lines)
	for len(c.packed) > room && len(uuids) > 0 {
		keep := len(uuids) * room / len(c.packed) * 19 / 20
		uuids = uuids[:min(keep, len(uuids)-1)]
		c.packed = pack(join(lines, slices.Sorted(slices.Values(uuids))))
	}
	return c, len(lines) - len(uuids)
}

// byWeight lists hosts with the holds first that are least likely to be over.
func byWeight(lines map[string][]byte) []string {
	present := map[string]holdoff.EpisodeRecord{}
	for uuid, line := range lines {
		if r, err := holdoff.ParseRecord(line); err == nil && len(r.Episodes) > 0 {
			present[uuid] = r.Episodes[len(r.Episodes)-1]
		}
	}
	return slices.SortedFunc(maps.Keys(lines), func(a, b string) int {
		x, y := present[a], present[b]
		switch {
		case x.Released != y.Released && x.Released:
			return 1
		case x.Released != y.Released:
			return -1
		}
		return cmp.Or(y.Since.Compare(x.Since), cmp.Compare(a, b))
	})
}

// join is the lines of these hosts.
func join(lines map[string][]byte, uuids []string) []byte {
	var text bytes.Buffer
	for _, uuid := range uuids {
		text.Write(lines[uuid])
		text.WriteByte('\n')
	}
	return text.Bytes()
}

func pack(text []byte) []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(text) // memory takes it
	_ = w.Close()
	return packed.Bytes()
}

// unpack fails when there are more than max bytes.
func unpack(packed []byte, max int64) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r, max+1))
	if int64(len(text)) > max {
		err = fmt.Errorf("is more than %d bytes when it is unpacked", max)
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}
