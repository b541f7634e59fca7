package holds

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

// shards is the number of ConfigMaps. Roles name them: it must not change.
const shards = 8

// Keys of a ConfigMap.
const (
	keyText   = "holds.jsonl"
	keyPacked = "holds.jsonl.gz"
	keyAside  = "unreadable.gz"
)

// Sizes in bytes. The API server refuses ConfigMaps with more than 1 MiB of data.
const (
	maxPlain    = 256 << 10  // of records as text
	maxData     = 1000 << 10 // of all keys
	maxAside    = maxData / 2
	maxUnpacked = 64 << 20 // of records, compressed before
	maxLine     = 64 << 10 // of one record
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
}

// contentOf takes the keys of a ConfigMap that are ours. written tells that somebody has
// written a ledger there: one without hosts has the key, without text.
func contentOf(data map[string]string, binary map[string][]byte) (c content, written bool) {
	text, isText := data[keyText]
	packed, isPacked := binary[keyPacked]
	return content{text: text, packed: packed, aside: binary[keyAside]}, isText || isPacked
}

// parsed is what was read of a ConfigMap.
type parsed struct {
	records []holdoff.Record
	values  map[string][]byte // their lines, by UUID
	unread  int               // lines that could not be read, and texts
	why     error             // the last of these
}

// parse reads the records of ConfigMap n.
func (c content) parse(n int) parsed {
	p := parsed{values: map[string][]byte{}}
	p.lines([]byte(c.text), n)
	if c.packed != nil {
		text, err := unpack(c.packed, maxUnpacked)
		if err != nil { // nobody knows what was in the rest
			p.unread++
			p.why = fmt.Errorf("%s: %w", keyPacked, err)
			return p
		}
		p.lines(text, n)
	}
	return p
}

func (p *parsed) lines(text []byte, n int) {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		r, err := p.line(line, n)
		if err != nil {
			p.unread++
			p.why = err
			continue
		}
		p.records = append(p.records, r)
		p.values[r.UUID] = bytes.Clone(line)
	}
}

func (p *parsed) line(line []byte, n int) (holdoff.Record, error) {
	if len(line) > maxLine {
		return holdoff.Record{}, fmt.Errorf("a line is longer than %d bytes", maxLine)
	}
	r, err := holdoff.ParseRecord(line)
	if err != nil {
		return holdoff.Record{}, err
	}
	if p.values[r.UUID] != nil {
		return holdoff.Record{}, fmt.Errorf("uuid: %q is given twice", r.UUID)
	}
	if shardOf(r.UUID) != n {
		return holdoff.Record{}, fmt.Errorf("uuid: %q belongs into ConfigMap %d", r.UUID, shardOf(r.UUID))
	}
	return r, nil
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

// contentFor is values as they are written beside aside into room bytes, and how many
// were left out.
func contentFor(values map[string][]byte, aside []byte, room int) (c content, left int) {
	c.aside = aside
	text := join(values, slices.Sorted(maps.Keys(values)))
	if len(text) <= maxPlain {
		c.text = string(text)
		return c, 0
	}
	room -= len(aside)
	c.packed = pack(text)
	if len(c.packed) <= room {
		return c, 0
	}
	uuids := byWeight(values)
	for len(c.packed) > room && len(uuids) > 0 {
		keep := len(uuids) * room / len(c.packed) * 19 / 20
		uuids = uuids[:min(keep, len(uuids)-1)]
		c.packed = pack(join(values, slices.Sorted(slices.Values(uuids))))
	}
	return c, len(values) - len(uuids)
}

// byWeight lists hosts with the holds first that are least likely to be over.
func byWeight(values map[string][]byte) []string {
	type weight struct {
		uuid     string
		released bool
		since    time.Time
	}
	weights := make([]weight, 0, len(values))
	for uuid, line := range values {
		w := weight{uuid: uuid}
		var r holdoff.Record
		if json.Unmarshal(line, &r) == nil && len(r.Episodes) > 0 {
			last := r.Episodes[len(r.Episodes)-1]
			w.released, w.since = last.Released, last.Since
		}
		weights = append(weights, w)
	}
	slices.SortFunc(weights, func(a, b weight) int {
		if a.released != b.released {
			if a.released {
				return 1
			}
			return -1
		}
		return cmp.Or(b.since.Compare(a.since), cmp.Compare(a.uuid, b.uuid))
	})
	uuids := make([]string, len(weights))
	for i, w := range weights {
		uuids[i] = w.uuid
	}
	return uuids
}

// join is the lines of these hosts.
func join(values map[string][]byte, uuids []string) []byte {
	var text bytes.Buffer
	for _, uuid := range uuids {
		text.Write(values[uuid])
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
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > max {
		return nil, fmt.Errorf("is more than %d bytes when it is unpacked", max)
	}
	return text, nil
}
