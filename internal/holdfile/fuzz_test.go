package holdfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

func (d *desk) bytes(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile(d.path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// FuzzPairs reads what was a database, with bytes changed: it returns, and what it
// returns is no more than was there. edits are bytes of four: three of the place, one
// to put there.
func FuzzPairs(f *testing.F) {
	const pageSize = 1024
	var bases [][]byte
	for _, row := range []struct{ n, size int }{{3, 20}, {200, 20}, {5, 3000}, {1500, 10}} {
		data, _ := databaseOf(f, row.n, row.size, pageSize)
		bases = append(bases, data)
	}
	for i := range bases {
		f.Add(byte(i), true, []byte{0, 4, 16, 1})
		f.Add(byte(i), true, []byte{0, 12, 8, 1, 0, 12, 12, 1})
		f.Add(byte(i), false, []byte{0, 0, 16, 0})
	}
	f.Fuzz(func(t *testing.T, base byte, sealed bool, edits []byte) {
		data := bytes.Clone(bases[int(base)%len(bases)])
		for ; len(edits) >= 4; edits = edits[4:] {
			data[(int(edits[0])<<16|int(edits[1])<<8|int(edits[2]))%len(data)] = edits[3]
		}
		if sealed {
			seal(data, pageSize)
		}
		total := 0
		_ = pairs(bytes.NewReader(data), int64(len(data)), bucket, func(key, value []byte) {
			total += len(key) + len(value)
		})
		if total > len(data) {
			t.Errorf("%d bytes of pairs in %d bytes", total, len(data))
		}
	})
}

// FuzzFile opens any bytes, or a true file with bytes changed. Either its records are
// there, or it is kept aside; and it can be written after that.
func FuzzFile(f *testing.F) {
	path := filepath.Join(f.TempDir(), "holds.db")
	file, err := Open(path, nil)
	if err != nil {
		f.Fatal(err)
	}
	whole := map[string]bool{}
	for i := range 40 {
		r := record(fmt.Sprintf("host-%02d", i), since)
		whole[r.UUID] = true
		if err := file.Save(holdoff.Batch{Puts: []holdoff.Record{r}}); err != nil {
			f.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		f.Fatal(err)
	}
	base, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(false, []byte{})
	f.Add(false, []byte("holds\n"))
	f.Add(false, base[:8<<10])
	f.Add(true, []byte{})
	f.Add(true, []byte{0, 0, 17, 0, 0, 16, 17, 0})
	f.Add(true, []byte{0, 48, 16, 3})
	f.Add(true, []byte{0, 60, 0, 3, 0, 61, 0, 3})
	f.Fuzz(func(t *testing.T, edit bool, data []byte) {
		if edit {
			edits := data
			data = bytes.Clone(base)
			for ; len(edits) >= 4; edits = edits[4:] {
				data[(int(edits[0])<<16|int(edits[1])<<8|int(edits[2]))%len(data)] = edits[3]
			}
			seal(data, os.Getpagesize())
		}
		d := newDesk(t)
		d.write(data)
		f := d.open()
		records, known, err := f.Load()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if edit && !whole[r.UUID] {
				t.Errorf("a record of nobody: %+v", r)
			}
		}
		switch aside := d.beside(); {
		case len(aside) > 1, (len(aside) == 1) != (!known && len(data) > 0): // nothing is kept of an empty file
			t.Errorf("known %v, beside: %v", known, aside)
		case len(aside) == 1:
			if kept, err := os.ReadFile(filepath.Join(filepath.Dir(d.path), aside[0])); err != nil || !bytes.Equal(kept, data) {
				t.Errorf("%d of %d bytes are kept, %v", len(kept), len(data), err)
			}
		}
		d.save(f, nil, record("new", since))
		d.close(f)
		d.holds(d.open(), true, append(records, record("new", since))...)
	})
}
