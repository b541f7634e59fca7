package holdfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

// The file is removed, replaced or cut off while we have it open: the next look or save
// writes all of it anew, and what somebody else put there is kept.
func TestBO16_FileThatIsGoneIsWrittenAnew(t *testing.T) {
	for _, row := range []struct {
		name  string
		spoil func(*desk) error
		kept  string // what is kept aside
	}{
		{"removed", func(d *desk) error { return os.Remove(d.path) }, ""},
		{"moved away", func(d *desk) error { return os.Rename(d.path, filepath.Join(d.t.TempDir(), "x")) }, ""},
		{"replaced", func(d *desk) error { return d.replace([]byte("of somebody else")) }, "of somebody else"},
		{"replaced by an empty file", func(d *desk) error { return d.replace(nil) }, ""},
		{"cut off", func(d *desk) error { return os.Truncate(d.path, 0) }, ""},
		{"its directory made anew", func(d *desk) error {
			return errors.Join(os.RemoveAll(filepath.Dir(d.path)), os.Mkdir(filepath.Dir(d.path), 0o700))
		}, ""},
	} {
		for _, by := range []string{"look", "save"} {
			t.Run(row.name+", found by a "+by, func(t *testing.T) {
				d := newDesk(t)
				f := d.open()
				want := []holdoff.Record{record("a", since), record("b", since)}
				d.save(f, nil, append(want, record("c", since))...)
				d.save(f, []string{"c"})
				d.log.Reset()
				if err := row.spoil(d); err != nil {
					t.Fatal(err)
				}
				if by == "save" {
					want = append(want, record("d", since))
					d.save(f, nil, want[2])
				}
				for range 3 {
					d.look(f)
				}
				if got := strings.Count(d.log.String(), "level=ERROR msg=\"the holds file is not there any more"); got != 1 || !d.says("INFO", "written anew", "hosts=2") {
					t.Errorf("log: %s", &d.log)
				}
				if _, err := open(d.path, nil, 0); !errors.Is(err, ErrHeld) {
					t.Errorf("another process: %v", err)
				}
				var kept string
				for _, name := range d.beside() {
					data, err := os.ReadFile(filepath.Join(filepath.Dir(d.path), name))
					if kept += string(data); err != nil || !strings.HasPrefix(name, "holds.db.broken-2") {
						t.Errorf("%s is left, %v", name, err)
					}
				}
				if kept != row.kept || row.kept == "" && d.beside() != nil {
					t.Errorf("%v are kept, with %q", d.beside(), kept)
				}
				d.save(f, nil, record("e", since))
				d.close(f)
				d.holds(d.open(), true, append(want, record("e", since))...)
			})
		}
	}
}

// Where it cannot be written anew that is said at each look, and it is tried again.
func TestBO16_FileThatIsGoneAndCannotBeWritten(t *testing.T) {
	for _, row := range []struct {
		name        string
		spoil, mend func(d *desk) error
		want        string
	}{
		{
			"no directory",
			func(d *desk) error { return os.RemoveAll(filepath.Dir(d.path)) },
			func(d *desk) error { return os.Mkdir(filepath.Dir(d.path), 0o700) },
			"there is no directory ",
		},
		{
			"a directory in its place",
			func(d *desk) error { return errors.Join(os.Remove(d.path), os.Mkdir(d.path, 0o700)) },
			func(d *desk) error { return os.Remove(d.path) },
			"must be a file, not a directory",
		},
		{
			"a link in its place",
			func(d *desk) error {
				return errors.Join(os.Rename(d.path, d.path+".moved"), os.Symlink(d.path+".moved", d.path))
			},
			func(d *desk) error { return errors.Join(os.Remove(d.path), os.Remove(d.path+".moved")) },
			"must be a file, not a symbolic link",
		},
		{
			"no room",
			func(d *desk) error { return errors.Join(os.Remove(d.path), os.MkdirAll(d.path+suffixNew+"/x", 0o700)) },
			func(d *desk) error { return os.RemoveAll(d.path + suffixNew) },
			"holds.db.new: ",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := newDesk(t)
			f := d.open()
			d.save(f, nil, record("a", since))
			d.log.Reset()
			if err := row.spoil(d); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if err := f.Look(); err == nil || !strings.HasPrefix(err.Error(), "holds file: "+d.path+": ") || !strings.Contains(err.Error(), row.want) {
					t.Errorf("%v, want %s", err, row.want)
				}
				if why := d.fails(f, record("b", since)); !strings.Contains(why, row.want) {
					t.Errorf("%s, want %s", why, row.want)
				}
			}
			if n := strings.Count(d.log.String(), "\n"); n != 1 {
				t.Errorf("%d lines: %s", n, &d.log)
			}
			if err := row.mend(d); err != nil {
				t.Fatal(err)
			}
			d.look(f)
			if !d.says("INFO", "written anew") || d.beside() != nil {
				t.Errorf("beside %v, log: %s", d.beside(), &d.log)
			}
			d.close(f)
			d.holds(d.open(), true, record("a", since))
		})
	}
}

// A lock that was removed is taken again, before another process can have it.
func TestLockThatWasRemovedIsTakenAgain(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	d.save(f, nil, record("a", since))
	d.log.Reset()
	before := d.read()
	if err := os.Remove(d.path + suffixLock); err != nil {
		t.Fatal(err)
	}
	d.look(f)
	if _, err := open(d.path, nil, time.Millisecond); !errors.Is(err, ErrHeld) {
		t.Errorf("another process: %v", err)
	}
	if d.log.Len() > 0 || !bytes.Equal(d.read(), before) {
		t.Errorf("written anew, log: %s", &d.log)
	}
}

// Whoever has taken the place of a lock that was removed has the file: we leave it alone.
func TestLockThatAnotherProcessHas(t *testing.T) {
	for name, spoil := range map[string]func(*desk) error{
		"the lock was removed":            func(d *desk) error { return os.Remove(d.path + suffixLock) },
		"the directory was replaced":      func(d *desk) error { return os.Rename(filepath.Dir(d.path), d.t.TempDir()+"/x") },
		"the lock and file were replaced": func(d *desk) error { return errors.Join(os.Remove(d.path+suffixLock), d.replace(nil)) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			f := d.open()
			d.save(f, nil, record("a", since))
			if err := spoil(d); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Dir(d.path), 0o700); err != nil {
				t.Fatal(err)
			}
			other := d.open()
			d.save(other, []string{"a"}, record("b", since))
			for range 2 {
				if err := f.Look(); !errors.Is(err, ErrHeld) || !strings.HasPrefix(err.Error(), "holds file: "+d.path+": ") {
					t.Errorf("%v", err)
				}
				if err := f.Save(holdoff.Batch{Puts: []holdoff.Record{record("c", since)}}); !errors.Is(err, ErrHeld) {
					t.Errorf("%v", err)
				}
			}
			d.look(other)
			d.save(other, nil, record("d", since))
			d.close(other)
			d.close(f)
			d.holds(d.open(), true, record("b", since), record("d", since))
		})
	}
}

// An empty file is nobody's ledger: it is as if there had been none, which is said, and
// nothing of it is kept.
func TestBO16_EmptyFileIsNone(t *testing.T) {
	d := newDesk(t)
	d.write(nil)
	f := d.open()
	d.holds(f, false)
	if !d.says("WARN", "the holds file is empty", "lost", "held from now on", d.path) || strings.Count(d.log.String(), "\n") != 1 {
		t.Errorf("log: %s", &d.log)
	}
	if d.beside() != nil {
		t.Errorf("beside: %v", d.beside())
	}
	d.save(f, nil, record("b", since))
	d.close(f)
	d.holds(d.open(), true, record("b", since))
}

// look looks after f, which must go well.
func (d *desk) look(f *File) {
	d.t.Helper()
	if err := f.Look(); err != nil {
		d.t.Error(err)
	}
}

// replace puts another file at path.
func (d *desk) replace(data []byte) error {
	other := filepath.Join(d.t.TempDir(), "other")
	return errors.Join(os.WriteFile(other, data, 0o600), os.Rename(other, d.path))
}
