package holds

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

func TestBO16_BrokenContentIsKeptAside(t *testing.T) {
	two := hosts(5, 3)
	other := hosts(6, 1)[0]
	for _, row := range []struct {
		name  string
		spoil func(*corev1.ConfigMap)
		left  int // records of the first two
	}{
		{"a line", func(cm *corev1.ConfigMap) { cm.Data[keyText] += "{\n" }, 2},
		{"the first line", func(cm *corev1.ConfigMap) { cm.Data[keyText] = "x" + cm.Data[keyText] }, 1},
		{"a host twice", func(cm *corev1.ConfigMap) { cm.Data[keyText] += cm.Data[keyText] }, 2},
		{"a later version without a host", func(cm *corev1.ConfigMap) {
			cm.Data[keyText] += `{"version":2,"uuid":{"id":"` + two[2] + `"}}`
		}, 2},
		{"of another ConfigMap", func(cm *corev1.ConfigMap) {
			cm.Data[keyText] += strings.ReplaceAll(cm.Data[keyText], two[0], other)
		}, 2},
		{"a long line", func(cm *corev1.ConfigMap) { cm.Data[keyText] += strings.Repeat(" x", holdoff.MaxLine) }, 2},
		{"not packed", func(cm *corev1.ConfigMap) { cm.BinaryData = map[string][]byte{keyPacked: []byte("holds")} }, 2},
		{"packed and cut off", func(cm *corev1.ConfigMap) {
			packed := pack([]byte(cm.Data[keyText]))
			cm.Data, cm.BinaryData = nil, map[string][]byte{keyPacked: packed[:len(packed)-9]}
		}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				kept := []holdoff.Record{record(two[0], since), record(two[1], since)}
				far := record("far", since)
				d.save(d.open(), nil, append(kept, far)...)
				d.edit(5, row.spoil)
				broken, _ := contentOf(d.get(5).Data, d.get(5).BinaryData)
				d.log.Reset()
				m := d.open()
				d.holds(m, false, append(kept[2-row.left:2:2], far)...)
				if d.says("ERROR", "cannot be read") != 1 {
					t.Errorf("log: %s", &d.log)
				}
				aside := d.get(5).BinaryData[keyAside]
				if !bytes.Equal(aside, broken.setAside()) || len(aside) == 0 {
					t.Errorf("%d bytes are kept", len(aside))
				}
				if row.name == "a line" {
					if text, err := unpack(aside, maxUnpacked); err != nil || string(text) != broken.text {
						t.Errorf("%q, %v", text, err)
					}
				}
				// It stays while the ledger goes on, and is said once.
				d.save(m, []string{two[1]}, record(two[0], since.Add(1)))
				d.log.Reset()
				d.holds(d.open(), true, record(two[0], since.Add(1)), far)
				if !bytes.Equal(d.get(5).BinaryData[keyAside], aside) || d.log.Len() > 0 {
					t.Errorf("log: %s", &d.log)
				}
			})
		})
	}
}

func TestMissingConfigMapIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		one := hosts(2, 1)[0]
		d.save(d.open(), nil, record(one, since))
		d.edit(4, nil)
		d.holds(d.open(), false, record(one, since))
		if d.says("ERROR", "missing or were emptied") != 1 {
			t.Errorf("log: %s", &d.log)
		}
		d.holds(d.open(), true, record(one, since))
	})
}

// long is a record as large as they are in life: a failure with its own text.
func long(random *rand.Rand, uuid string) holdoff.Record {
	id := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return hex.EncodeToString(b)
	}
	r := record(uuid, since.Add(time.Duration(random.IntN(1e6))*time.Millisecond))
	r.UID, r.Spec, r.Name = id(16), id(8), "metal3~worker-"+id(3)
	r.Episodes[0].ID = id(8)
	r.Episodes[0].Cause = fmt.Sprintf("Deploy step deploy.write_image failed on node %s: Timeout reached while waiting for callback for node %s", uuid, uuid)
	return r
}

func TestManyHostsArePacked(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	values := map[string][]byte{}
	size := 0
	for range 16_000 / shards {
		r := long(random, fmt.Sprintf("%016x-%016x", random.Uint64(), random.Uint64()))
		values[r.UUID] = mustJSON(t, r)
		size += len(values[r.UUID])
	}
	c, left := contentFor(values, nil, maxData)
	if left != 0 || c.text != "" || len(c.packed) > maxData {
		t.Fatalf("%d left out, %d bytes of text, %d packed", left, len(c.text), len(c.packed))
	}
	t.Logf("a host takes %d bytes, %d packed", size/len(values), len(c.packed)/len(values))
	text, err := unpack(c.packed, maxUnpacked)
	if err != nil || bytes.Count(text, []byte("\n")) != len(values) {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

func TestBO16_WithoutRoomTheLeastImportantAreLeftOut(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	values := map[string][]byte{}
	byName := map[string]holdoff.Record{}
	for i, host := range hosts(7, 1_000) {
		r := long(random, host)
		r.Episodes[0].Since = since.Add(time.Duration(i) * time.Second)
		r.Episodes[0].Released = i%3 == 0
		byName[r.UUID], values[r.UUID] = r, mustJSON(t, r)
	}
	const room = 50_000
	c, left := contentFor(values, make([]byte, 10_000), room)
	if got := len(c.packed) + len(c.aside); got > room || got < room*8/10 {
		t.Errorf("%d bytes", got)
	}
	in := map[string]bool{}
	for _, r := range (content{packed: c.packed}).parse(7).records {
		in[r.UUID] = true
	}
	if left == 0 || len(in)+left != len(values) {
		t.Fatalf("%d kept, %d left out", len(in), left)
	}
	for i, uuid := range byWeight(values) {
		if in[uuid] != (i < len(in)) {
			t.Fatalf("place %d: %v of %d", i, in[uuid], len(in))
		}
	}
	first := byName[byWeight(values)[0]].Episodes[0]
	if first.Released || !first.Since.Equal(since.Add(998*time.Second)) {
		t.Errorf("%+v", first)
	}
}

func TestLeftOutIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		m := d.open()
		random := rand.New(rand.NewPCG(5, 6))
		var puts []holdoff.Record
		for _, host := range hosts(1, 1_000) {
			puts = append(puts, long(random, host))
		}
		m.shards[1].room = 50_000
		d.save(m, nil, puts...)
		d.save(m, nil, record(puts[0].UUID, since.Add(time.Hour)))
		if d.says("ERROR", "has no room for all holds") != 1 {
			t.Errorf("log: %s", &d.log)
		}
		records, known, err := d.open().Load()
		if len(records) == 0 || len(records) >= len(puts) || !known || err != nil {
			t.Errorf("%d of %d, %v, %v", len(records), len(puts), known, err)
		}
	})
}

func TestUnpackIsBounded(t *testing.T) {
	packed := pack(make([]byte, 1000))
	if text, err := unpack(packed, 1000); err != nil || len(text) != 1000 {
		t.Error(err)
	}
	if _, err := unpack(packed, 999); err == nil {
		t.Error("unpacked")
	}
	c := content{text: "x", packed: make([]byte, maxAside)}
	if c.setAside() != nil {
		t.Error("kept what is too large")
	}
}

// FuzzContent reads any content: what it returns belongs there, and is read again from
// what is written of it.
func FuzzContent(f *testing.F) {
	two := hosts(0, 2)
	text := join(map[string][]byte{
		two[0]: mustJSON(f, record(two[0], since)), two[1]: mustJSON(f, record(two[1], since)),
	}, two)
	f.Add(string(text), []byte(nil))
	f.Add("", pack(text))
	f.Add("{}\n\n", pack(text)[:40])
	f.Add(`{"version":2,"uuid":"a"}`, []byte{0x1f, 0x8b})
	f.Fuzz(func(t *testing.T, text string, packed []byte) {
		p := content{text: text, packed: packed}.parse(0)
		if (p.why != nil) != (p.unread > 0) || len(p.lines) != len(p.records) {
			t.Fatalf("%d records, %d lines, %d unread, %v", len(p.records), len(p.lines), p.unread, p.why)
		}
		for _, r := range p.records {
			if shardOf(r.UUID) != 0 || p.lines[r.UUID] == nil {
				t.Errorf("%+v", r)
			}
		}
		c, left := contentFor(p.lines, nil, maxData)
		again := c.parse(0)
		if left > 0 || again.unread > 0 || len(again.records) != len(p.records) {
			t.Errorf("%d left out, %d unread (%v), %d of %d records", left, again.unread, again.why, len(again.records), len(p.records))
		}
	})
}
