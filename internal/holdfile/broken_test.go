package holdfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
		{"cut off in its first line", whole[:len(firstLine)-1]},
		{"a database", append(make([]byte, 16), "\xed\xda\x0c\xed\x02\n\x00\n"...)},
		{"records without checksums", bytes.ReplaceAll(whole, []byte("\n"), []byte(" \n"))},
		{"a later format", append(appendLine(nil, verbFormat, []byte("2")), whole[len(firstLine):]...)},
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

// Damage costs what it has hit: the other records are used, and the file is kept.
func TestBO16_DamageCostsItsOwnLines(t *testing.T) {
	rest := make([]holdoff.Record, 0, 300)
	for n := range 300 {
		rest = append(rest, record(fmt.Sprintf("host-%03d", n), since))
	}
	good := newDesk(t)
	f := good.open()
	good.save(f, nil, rest...)
	good.close(f)
	good.close(good.open()) // all are in what the file is written with now
	whole := good.read()
	lines := bytes.SplitAfter(whole, []byte("\n"))
	merged := append(bytes.TrimSuffix(bytes.Join(lines[:2], nil), []byte("\n")), bytes.Join(lines[2:], nil)...)
	for _, row := range []struct {
		name   string
		data   []byte
		unread int
		want   []holdoff.Record
	}{
		{"a digit of a time", bytes.Replace(whole, []byte("01:02:03"), []byte("01:02:02"), 1), 1, rest[1:]},
		{"an end of a line", merged, 1, rest[2:]},
		{"the first line", append([]byte("x"), whole...), 1, rest},
		{"without the first line", whole[len(lines[0]):], 1, rest},
		{"cut off", bytes.Join(lines[:101], nil), 1, rest[:100]},
		{"cut off in a line", append(bytes.Join(lines[:101], nil), "half"...), 1, rest[:100]},
		{"a second first line", append(bytes.Clone(whole), firstLine...), 1, rest},
		{"of a later version", appendLine(bytes.Clone(whole), "move", []byte("x")), 1, rest},
		{"what is no record", appendLine(bytes.Clone(whole), verbPut, []byte("{")), 1, rest},
		{"what is no UUID", appendLine(bytes.Clone(whole), verbDelete, []byte("host-000")), 1, rest},
		{"a long line", append(append(bytes.Clone(whole), bytes.Repeat([]byte("x"), 3*maxLine)...), "\n"+string(lines[1])...), 1, rest},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := newDesk(t)
			d.write(row.data)
			f := d.open()
			d.holds(f, false, row.want...)
			if !d.says("ERROR", "records that cannot be read", fmt.Sprintf("unread=%d ", row.unread), fmt.Sprintf("read=%d ", len(row.want))) {
				t.Errorf("log: %s", &d.log)
			}
			if n := len(d.beside()); n != 1 {
				t.Errorf("%d files aside", n)
			}
			d.close(f)
			d.holds(d.open(), true, row.want...)
		})
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
	if !d.says("ERROR", "more than 1073741824 bytes") || len(d.beside()) != 1 {
		t.Errorf("beside %v, log: %s", d.beside(), &d.log)
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
		if err := d.replace(fmt.Append(nil, n)); err != nil {
			t.Fatal(err)
		}
		aside, err := keepAside(d.path, at.Add(time.Duration(n/2)*time.Second))
		if err != nil || prune(d.path) != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(aside); err != nil || string(data) != fmt.Sprint(n) {
			t.Errorf("%s: %s, %v", aside, data, err)
		}
		if string(d.read()) != fmt.Sprint(n) {
			t.Error("a kill now would leave no file")
		}
	}
	want := "[holds.db.broken-20261122T000204Z-2 holds.db.broken-20261122T000205Z holds.db.broken-20261122T000205Z-2 holds.db.brokenly]"
	if got := fmt.Sprint(d.beside()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A file that would be too large to be read is written anew before more is added.
func TestFileThatWouldBeTooLarge(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	d.save(f, nil, record("a", since))
	f.size, f.most = maxFile, maxFile
	if err := os.Truncate(d.path, maxFile); err != nil { // it takes no room
		t.Fatal(err)
	}
	if why := d.fails(f, record("b", since)); !strings.Contains(why, "more than 1073741824 bytes") {
		t.Error(why)
	}
	d.save(f, nil, record("b", since))
	d.close(f)
	d.holds(d.open(), true, record("a", since), record("b", since))
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
		{"it is overwritten", func(d *desk, f *File) error {
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
