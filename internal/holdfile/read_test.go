package holdfile

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

// drawBatch is some hosts with records, and others without.
func drawBatch(rt *rapid.T) holdoff.Batch {
	var b holdoff.Batch
	hosts := rapid.SliceOfNDistinct(rapid.IntRange(0, 5), 0, 4, rapid.ID).Draw(rt, "hosts")
	slices.Sort(hosts)
	for _, host := range hosts {
		uuid := fmt.Sprint("host\n", host)
		if rapid.Bool().Draw(rt, "put") {
			b.Puts = append(b.Puts, record(uuid, since.Add(time.Duration(rapid.IntRange(0, 9).Draw(rt, "since")))))
		} else {
			b.Deletes = append(b.Deletes, uuid)
		}
	}
	return b
}

// after is what model is after the first lines of b.
func after(model map[string]holdoff.Record, b holdoff.Batch, lines int) map[string]holdoff.Record {
	model = maps.Clone(model)
	for _, r := range b.Puts[:min(lines, len(b.Puts))] {
		model[r.UUID] = r
	}
	for _, uuid := range b.Deletes[:max(lines-len(b.Puts), 0)] {
		delete(model, uuid)
	}
	return model
}

// Wherever in a Save the machine stops: all that was saved before is there, and what is there
// of the Save are whole records.
func TestBO16_TornTails(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and long: make test plays it without the race detector")
	}
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesk(t)
		f := d.open()
		model := map[string]holdoff.Record{}
		for range rapid.IntRange(1, 4).Draw(rt, "saves") {
			b := drawBatch(rt)
			before := len(d.read())
			d.save(f, b.Deletes, b.Puts...)
			text := d.read()
			for cut := before; cut <= len(text); cut++ {
				torn := cut - 1 - bytes.LastIndexByte(text[:cut], '\n')
				want := after(model, b, bytes.Count(text[before:cut], []byte("\n")))
				l, err := read(bytes.NewReader(text[:cut]))
				if err != nil || l.unread > 0 || l.torn != torn || !cmp.Equal(l.records, want) {
					rt.Fatalf("cut at %d of %d: %v, %+v, want %v", cut, len(text), err, l, want)
				}
			}
			all := len(b.Puts) + len(b.Deletes)
			switch rapid.SampledFrom([]string{"goes on", "is written anew", "stops"}).Draw(rt, "then") {
			case "is written anew":
				f.most = 0
				d.save(f, nil)
			case "stops":
				d.close(f)
				cut := rapid.IntRange(before, len(text)).Draw(rt, "cut")
				d.write(text[:cut])
				d.log.Reset()
				f = d.open()
				all = bytes.Count(text[before:cut], []byte("\n"))
				got, known, err := f.Load()
				want := slices.Collect(maps.Values(after(model, b, all)))
				byUUID := cmpopts.SortSlices(func(a, b holdoff.Record) bool { return a.UUID < b.UUID })
				if diff := cmp.Diff(want, got, byUUID, cmpopts.EquateEmpty()); diff != "" || !known || err != nil || d.beside() != nil {
					rt.Fatalf("known %v, %v, beside %v: %s", known, err, d.beside(), diff)
				}
				if torn := text[cut-1] != '\n'; d.says("INFO", "that is cut off") != torn || !torn && d.log.Len() > 0 {
					rt.Fatalf("log: %s", &d.log)
				}
			}
			model = after(model, b, all)
		}
	})
}

// zeros is a file without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestReadIsBounded(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	l, err := read(io.MultiReader(bytes.NewReader(firstLine), io.LimitReader(zeros{}, 100<<20)))
	runtime.ReadMemStats(&after)
	if err != nil || l.unread != 1 || after.TotalAlloc-before.TotalAlloc > 10*maxLine {
		t.Errorf("%v, %+v, %d bytes", err, l, after.TotalAlloc-before.TotalAlloc)
	}
}

// baseFile is a file of 40 hosts, half of them in what it was written with.
func baseFile(f *testing.F) []byte {
	f.Helper()
	path := filepath.Join(f.TempDir(), "holds.db")
	for half := range 2 {
		file, err := Open(path, nil)
		if err != nil {
			f.Fatal(err)
		}
		for i := range 20 {
			if err := file.Save(holdoff.Batch{Puts: []holdoff.Record{record(fmt.Sprintf("host-%02d", 20*half+i), since)}}); err != nil {
				f.Fatal(err)
			}
		}
		if err := file.Close(); err != nil {
			f.Fatal(err)
		}
	}
	base, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	return base
}

// edited is data with bytes changed: edits are bytes of three, two of the place and one to put
// there. first is the first place that has changed.
func edited(data, edits []byte) (changed []byte, first int) {
	changed, first = bytes.Clone(data), len(data)
	for ; len(edits) >= 3; edits = edits[3:] {
		changed[(int(edits[0])<<8|int(edits[1]))%len(data)] = edits[2]
	}
	for i := range data {
		if data[i] != changed[i] {
			return changed, i
		}
	}
	return changed, first
}

// FuzzRead reads any bytes, or a true file with bytes changed: it returns, what it returns is
// no more than was there, and no whole record before the damage is missing.
func FuzzRead(f *testing.F) {
	base := baseFile(f)
	f.Add(false, []byte("holds\n"))
	f.Add(false, base)
	f.Add(false, append(bytes.Clone(firstLine), appendLine(nil, verbWhole, nil)...))
	f.Add(false, appendLine(bytes.Clone(firstLine), verbDelete, []byte(`"a"`)))
	f.Add(true, []byte{0, 1, 'x'})
	f.Add(true, []byte{8, 1, 'x', 9, 1, '\n'})
	f.Fuzz(func(t *testing.T, edit bool, data []byte) {
		first := 0
		if edit {
			data, first = edited(base, data)
		}
		l, err := read(bytes.NewReader(data))
		if err != nil {
			if first > len(firstLine) {
				t.Fatal(err)
			}
			return
		}
		total := l.torn
		for uuid, line := range l.lines {
			if total += len(line); l.records[uuid].UUID != uuid {
				t.Errorf("%s: %s", uuid, line)
			}
		}
		if total > len(data) || len(l.lines) != len(l.records) || (l.unread > 0) != (l.why != nil) {
			t.Errorf("%d bytes of %d bytes, %+v", total, len(data), l)
		}
		for i := range bytes.Count(data[:first], []byte(verbPut+" {")) - 1 {
			if uuid := fmt.Sprintf("host-%02d", i); l.lines[uuid] == nil {
				t.Errorf("%s is lost by damage at %d", uuid, first)
			}
		}
	})
}

// FuzzFile opens any bytes, or a true file with bytes changed. Either its records are
// there, or it is kept aside; and it can be written after that.
func FuzzFile(f *testing.F) {
	base := baseFile(f)
	f.Add(false, []byte{})
	f.Add(false, []byte("holds\n"))
	f.Add(false, base[:len(base)/3])
	f.Add(true, []byte{})
	f.Add(true, []byte{0, 17, 0, 16, 17, 0})
	f.Add(true, []byte{8, 16, 3})
	f.Fuzz(func(t *testing.T, edit bool, data []byte) {
		if edit {
			data, _ = edited(base, data)
		}
		d := newDesk(t)
		d.write(data)
		f := d.open()
		records, known, err := f.Load()
		if err != nil {
			t.Fatal(err)
		}
		if len(records) > 40 && edit {
			t.Errorf("%d records", len(records))
		}
		switch aside := d.beside(); {
		case len(aside) > 1, (len(aside) == 1) != (!known && len(data) > 0): // nothing is kept of an empty file
			t.Errorf("known %v, beside: %v", known, aside)
		case len(aside) == 1:
			if kept, err := os.ReadFile(filepath.Join(filepath.Dir(d.path), aside[0])); err != nil || !bytes.Equal(kept, data) {
				t.Errorf("%d of %d bytes are kept, %v", len(kept), len(data), err)
			}
		}
		next := record("\U0010ffff", since) // the last one by name
		d.save(f, nil, next)
		d.close(f)
		d.holds(d.open(), true, append(records, next)...)
	})
}
