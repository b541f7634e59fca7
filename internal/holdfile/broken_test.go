package holdfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

func TestBO16_BrokenFileIsMovedAside(t *testing.T) {
	good := newDesk(t)
	f := good.open()
	good.save(f, nil, record("a", since))
	good.close(f)
	whole := good.read()
	for _, row := range []struct {
		name string
		data []byte
	}{
		{"a text", []byte("holds\n")},
		{"zeros", make([]byte, 64<<10)},
		{"cut off", whole[:len(whole)/2]},
		{"without its first pages", whole[8<<10:]},
		{"ones from the third page on", append(bytes.Clone(whole[:8<<10]), bytes.Repeat([]byte{0xff}, len(whole)-8<<10)...)},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := newDesk(t)
			d.write(row.data)
			f := d.open()
			d.holds(f, false)
			if !d.says("ERROR", "broken and is moved aside: its holds are lost", d.path) {
				t.Errorf("log: %s", &d.log)
			}
			aside := d.beside()
			if len(aside) != 1 || !strings.HasPrefix(aside[0], "holds.db.broken-2") {
				t.Fatalf("beside: %v", aside)
			}
			if data, err := os.ReadFile(filepath.Join(filepath.Dir(d.path), aside[0])); err != nil || !bytes.Equal(data, row.data) {
				t.Errorf("%d bytes of %d are kept, %v", len(data), len(row.data), err)
			}
			d.save(f, nil, record("b", since))
			d.close(f)
			d.holds(d.open(), true, record("b", since))
		})
	}
}

// A file of which the first records could be read is broken like any other: nobody
// knows what was in the rest.
func TestHalfAFileIsNone(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	var puts []holdoff.Record
	for n := range 300 {
		puts = append(puts, record(fmt.Sprintf("host-%03d", n), since))
	}
	d.save(f, nil, puts...)
	d.close(f)
	data := d.read()
	last := bytes.LastIndex(data, []byte(`"uuid":"host-299"`)) / os.Getpagesize() * os.Getpagesize()
	data[last] ^= 1
	d.write(data)
	f = d.open()
	d.holds(f, false)
	d.close(f)
	d.holds(d.open(), true) // nor have they come back
	if n := len(d.beside()); n != 1 {
		t.Errorf("%d files aside", n)
	}
}

func TestTooLargeAFileIsMovedAside(t *testing.T) {
	d := newDesk(t)
	d.close(d.open())
	if err := os.Truncate(d.path, maxFile+1); err != nil { // it takes no room
		t.Fatal(err)
	}
	f := d.open()
	d.holds(f, false)
	if !d.says("ERROR", "bytes are more than") || len(d.beside()) != 1 {
		t.Errorf("beside %v, log: %s", d.beside(), &d.log)
	}
}

func TestAnotherDatabaseIsMovedAside(t *testing.T) {
	for _, row := range []struct {
		name string
		fill func(*bbolt.Tx) error
		want string
	}{
		{"without a bucket", func(*bbolt.Tx) error { return nil }, `there is no bucket \"holds\"`},
		{"with another bucket", func(tx *bbolt.Tx) error {
			_, err := tx.CreateBucket([]byte("members"))
			return err
		}, `there is no bucket \"holds\"`},
		{"with a bucket in the bucket", func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucket([]byte("holds"))
			if err == nil {
				_, err = b.CreateBucket([]byte("inner"))
			}
			return err
		}, `a pair of bucket \"holds\" has flags 0x1`},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := newDesk(t)
			db, _, err := openDB(d.path)
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Update(row.fill); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			d.holds(d.open(), false)
			if !d.says("ERROR", "broken", row.want) || len(d.beside()) != 1 {
				t.Errorf("beside %v, log: %s", d.beside(), &d.log)
			}
		})
	}
}

func TestTheNewestBrokenFilesAreKept(t *testing.T) {
	d := newDesk(t)
	other := filepath.Join(filepath.Dir(d.path), "holds.db.brokenly")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 22, 1, 2, 3, 0, time.FixedZone("", 3600))
	for n := range 6 {
		d.write(fmt.Append(nil, n))
		aside, err := moveAside(d.path, at.Add(time.Duration(n/2)*time.Second))
		if err != nil || prune(d.path) != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(aside); err != nil || string(data) != fmt.Sprint(n) {
			t.Errorf("%s: %s, %v", aside, data, err)
		}
	}
	want := "[holds.db.broken-20261122T000204Z-2 holds.db.broken-20261122T000205Z holds.db.broken-20261122T000205Z-2 holds.db.brokenly]"
	if got := fmt.Sprint(d.beside()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// What a process that was killed in the middle of renew leaves.
func TestLeftoversDoNoHarm(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	d.save(f, nil, record("a", since))
	d.close(f)
	if err := os.WriteFile(d.path+suffixNew, []byte("half"), 0o400); err != nil {
		t.Fatal(err)
	}
	f = d.open()
	d.holds(f, true, record("a", since))
	if d.beside() != nil {
		t.Errorf("beside: %v", d.beside())
	}
}

// fails saves r, which must not succeed, and returns why.
func (d *desk) fails(f *File, r holdoff.Record) string {
	d.t.Helper()
	err := f.Save(holdoff.Batch{Puts: []holdoff.Record{r}})
	if err == nil {
		d.t.Fatal("saved")
	}
	if !strings.HasPrefix(err.Error(), "holds file: "+d.path+": ") {
		d.t.Errorf("%v", err)
	}
	return err.Error()
}

func TestSaveThatFailsIsSaidAndMendsItself(t *testing.T) {
	for _, row := range []struct {
		name  string
		spoil func(*desk, *File) error
	}{
		{"the file cannot be written", func(_ *desk, f *File) error { return f.file.Close() }},
		{"it is cut off under us", func(d *desk, _ *File) error { return os.Truncate(d.path, 0) }},
		{"its pages are overwritten", func(d *desk, f *File) error {
			data := d.read()
			for i := range data {
				data[i] = byte(7 * i)
			}
			_, err := f.file.WriteAt(data, 0)
			return err
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := newDesk(t)
			f := d.open()
			for n := range 100 {
				d.save(f, nil, record(fmt.Sprint("host-", n), since))
			}
			d.save(f, []string{"host-7"})
			if err := row.spoil(d, f); err != nil {
				t.Fatal(err)
			}
			// There is no way to a new file either.
			if err := os.MkdirAll(d.path+suffixNew+"/x", 0o700); err != nil {
				t.Fatal(err)
			}
			d.fails(f, record("host-5", since.Add(1)))
			if why := d.fails(f, record("host-5", since.Add(1))); !strings.Contains(why, "holds.db.new: ") {
				t.Errorf("the second one: %s", why)
			}
			if err := os.RemoveAll(d.path + suffixNew); err != nil {
				t.Fatal(err)
			}
			d.save(f, []string{"host-6"}, record("host-5", since.Add(1)))
			_ = f.Close() // of a file that was closed under it

			records, known, err := d.open().Load()
			if len(records) != 98 || !known || err != nil {
				t.Fatalf("%d records, %v, %v", len(records), known, err)
			}
			for _, r := range records {
				want := since
				if r.UUID == "host-5" {
					want = since.Add(1)
				}
				if r.UUID == "host-6" || r.UUID == "host-7" || !r.Episodes[0].Since.Equal(want) {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// What was moved aside once is done with: the file that took its place is good.
func TestOnlyTheBrokenFileIsMovedAside(t *testing.T) {
	d := newDesk(t)
	d.write([]byte("x"))
	f := d.open()
	d.save(f, nil, record("a", since))
	if err := f.file.Close(); err != nil {
		t.Fatal(err)
	}
	d.fails(f, record("b", since))
	d.save(f, nil, record("b", since))
	_ = f.Close()
	if n := len(d.beside()); n != 1 {
		t.Errorf("%d files aside", n)
	}
	d.holds(d.open(), true, record("a", since), record("b", since))
}

// A disk that is full at the start is no reason not to start.
func TestStartWithoutRoom(t *testing.T) {
	for _, broken := range []bool{false, true} {
		d := newDesk(t)
		f := d.open()
		d.save(f, nil, record("a", since))
		d.close(f)
		want := []holdoff.Record{record("a", since)}
		if broken {
			d.write([]byte("x"))
			want = nil
		}
		if err := os.MkdirAll(d.path+suffixNew+"/x", 0o700); err != nil {
			t.Fatal(err)
		}
		f = d.open()
		d.holds(f, !broken, want...)
		if !d.says("ERROR", "cannot be written") {
			t.Errorf("log: %s", &d.log)
		}
		d.fails(f, record("b", since))
		if err := os.RemoveAll(d.path + suffixNew); err != nil {
			t.Fatal(err)
		}
		d.save(f, nil, record("b", since))
		if moved := len(d.beside()) == 1; moved != broken {
			t.Errorf("beside: %v", d.beside())
		}
		d.close(f)
		d.holds(d.open(), true, append(want, record("b", since))...)
	}
}
