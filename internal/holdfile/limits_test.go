package holdfile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// limit is what is known of a limit that was found.
func limit(n int) sizing.State {
	return sizing.State{Version: sizing.StateVersion, Pools: map[string]sizing.Record{
		"": {Limit: n, Bad: n + 10, Stood: n, BadAt: since, Windows: []sizing.Window{{At: since, Limit: n, Occupied: n, Up: 10}}},
	}}
}

func limitText(t testing.TB, n int) []byte {
	t.Helper()
	text, err := limit(n).Text()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (d *desk) limitsPath() string { return d.path + suffixLimits }

func (d *desk) saveLimits(f *File, n int) {
	d.t.Helper()
	if err := f.SaveLimits(limitText(d.t, n)); err != nil {
		d.t.Fatal(err)
	}
}

// limits loads what is known of them and compares.
func (d *desk) limits(f *File, want sizing.State) {
	d.t.Helper()
	got, err := f.LoadLimits()
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		d.t.Errorf("error %v: %s", err, diff)
	}
}

func TestSZ7_SavedLimitsAreLoaded(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	d.limits(f, sizing.State{}) // there was no file
	d.saveLimits(f, 30)
	d.save(f, nil, record("a", since))
	before := d.read()
	d.saveLimits(f, 40)
	if !bytes.Equal(d.read(), before) {
		t.Error("the file of holds has changed")
	}
	d.close(f)
	d.log.Reset()
	for range 2 {
		f = d.open()
		d.holds(f, true, record("a", since))
		d.limits(f, limit(40))
		d.close(f)
	}
	if diff := cmp.Diff([]string{"holds.db.limits"}, d.beside()); diff != "" || d.log.Len() > 0 {
		t.Errorf("beside: %s, log: %s", diff, &d.log)
	}
	if info, err := os.Stat(d.limitsPath()); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// What cannot be read is an error that names the file, stays as it is until the next save, and
// costs no hold.
func TestSZ7_BrokenLimitsAreLeftAlone(t *testing.T) {
	good := appendLine(nil, verbLimits, limitText(t, 30))
	later := appendLine(nil, verbLimits, bytes.Replace(limitText(t, 30), []byte(`"version":2`), []byte(`"version":3`), 1))
	for _, row := range []struct {
		name string
		text []byte
		want string
	}{
		{"empty", nil, "a checksum is wrong"},
		{"a text", []byte("limits\n"), "a checksum is wrong"},
		{"cut off", good[:len(good)-9], "a checksum is wrong"},
		{"without its end", good[:len(good)-1], "a checksum is wrong"},
		{"a digit", bytes.Replace(good, []byte(`"limit":30`), []byte(`"limit":90`), 1), "a checksum is wrong"},
		{"twice", append(bytes.Clone(good), good...), "a checksum is wrong"},
		{"a file of holds", firstLine, `"format" is not known`},
		{"a later version", later, "version: 3 is not 2"},
		{"what no limit is", appendLine(nil, verbLimits, []byte(`{"version":2,"pools":{"":{"limit":0}}}`)), "a number is out of range"},
		{"no JSON", appendLine(nil, verbLimits, []byte("{")), "unexpected end of JSON"},
		{"too large", make([]byte, maxLimits+1), "longer than"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := newDesk(t)
			f := d.open()
			d.save(f, nil, record("a", since))
			d.close(f)
			if err := os.WriteFile(d.limitsPath(), row.text, 0o600); err != nil {
				t.Fatal(err)
			}
			f = d.open()
			for range 2 {
				s, err := f.LoadLimits()
				if err == nil || !strings.HasPrefix(err.Error(), "limits file: "+d.limitsPath()+": ") || !strings.Contains(err.Error(), row.want) || len(s.Pools) > 0 {
					t.Errorf("%+v, %v, want %s", s, err, row.want)
				}
			}
			d.holds(f, true, record("a", since))
			d.save(f, nil, record("b", since))
			if kept, err := os.ReadFile(d.limitsPath()); err != nil || !bytes.Equal(kept, row.text) {
				t.Errorf("%d bytes of %d are kept, %v", len(kept), len(row.text), err)
			}
			d.saveLimits(f, 40)
			d.close(f)
			f = d.open()
			d.limits(f, limit(40))
			d.holds(f, true, record("a", since), record("b", since))
		})
	}
}

// What is no file is not opened: a pipe would never answer.
func TestPlacesThatAreNoFileOfLimits(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"directory":              func(p string) error { return os.MkdirAll(filepath.Join(p, "x"), 0o700) },
		"symbolic link":          func(p string) error { return os.Symlink("elsewhere", p) },
		"device, pipe or socket": func(p string) error { return syscall.Mkfifo(p, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			if err := put(d.limitsPath()); err != nil {
				t.Fatal(err)
			}
			f := d.open()
			if _, err := f.LoadLimits(); err == nil || !strings.Contains(err.Error(), "must be a file, not a "+name) {
				t.Errorf("%v", err)
			}
			err := f.SaveLimits(limitText(t, 30))
			if name == "directory" {
				if err == nil || !strings.HasPrefix(err.Error(), "limits file: "+d.limitsPath()) {
					t.Errorf("%v", err)
				}
				err = os.RemoveAll(d.limitsPath())
				d.saveLimits(f, 30)
			}
			if err != nil {
				t.Error(err)
			}
			d.limits(f, limit(30))
			if diff := cmp.Diff([]string{"holds.db.limits"}, d.beside()); diff != "" {
				t.Errorf("beside: %s", diff)
			}
		})
	}
}

// A save that fails leaves what was there before.
func TestSZ7_LimitsThatCannotBeSaved(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	d.saveLimits(f, 30)
	fresh := d.limitsPath() + suffixNew
	if err := os.MkdirAll(filepath.Join(fresh, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := f.SaveLimits(limitText(t, 40)); err == nil || !strings.HasPrefix(err.Error(), "limits file: "+d.limitsPath()+": ") {
			t.Errorf("%v", err)
		}
	}
	d.limits(f, limit(30))
	d.save(f, nil, record("a", since)) // it goes on
	if err := errors.Join(os.RemoveAll(fresh), os.WriteFile(fresh, []byte("half"), 0o400)); err != nil {
		t.Fatal(err)
	}
	d.saveLimits(f, 40) // over what a process that was killed has left
	d.limits(f, limit(40))
	d.close(f)
	if err := f.SaveLimits(limitText(t, 50)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("%v", err)
	}
	if _, err := f.LoadLimits(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("%v", err)
	}
	d.limits(d.open(), limit(40))
}

// The lock of the holds guards the limits too.
func TestSZ7_LimitsOfAnotherProcess(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	d.saveLimits(f, 30)
	if err := os.Remove(d.path + suffixLock); err != nil {
		t.Fatal(err)
	}
	other := d.open()
	d.saveLimits(other, 40)
	if err := f.SaveLimits(limitText(t, 50)); !errors.Is(err, ErrHeld) {
		t.Errorf("%v", err)
	}
	d.limits(other, limit(40))
	d.close(other)
	d.saveLimits(f, 60) // the lock is free, and taken again
	if _, err := open(d.path, nil, 0); !errors.Is(err, ErrHeld) {
		t.Errorf("another process: %v", err)
	}
}

// A holds file that cannot be written is no reason not to save limits.
func TestLimitsAreSavedWithoutTheHolds(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	if err := errors.Join(os.Remove(d.path), os.MkdirAll(d.path+suffixNew+"/x", 0o700)); err != nil {
		t.Fatal(err)
	}
	d.fails(f, record("a", since))
	d.saveLimits(f, 30)
	if err := os.RemoveAll(d.path + suffixNew); err != nil {
		t.Fatal(err)
	}
	if err := f.Save(holdoff.Batch{Puts: []holdoff.Record{record("a", since)}}); err != nil {
		t.Error(err)
	}
	d.close(f)
	f = d.open()
	d.holds(f, true, record("a", since))
	d.limits(f, limit(30))
}

// FuzzLimits reads any JSON, or a true file with bytes changed: what it returns is read again from
// what is written of it, and a file that was changed is not read.
func FuzzLimits(f *testing.F) {
	base := appendLine(nil, verbLimits, limitText(f, 30))
	f.Add(false, []byte{})
	f.Add(false, limitText(f, 30))
	f.Add(false, []byte(`{"version":2,"pools":{"x":{"limit":1,"least":{"wait call-back":90}}}}`))
	f.Add(true, []byte{0, 9, 'x'})
	f.Fuzz(func(t *testing.T, edit bool, data []byte) {
		if edit {
			changed, first := edited(base, data)
			if _, err := parseLimits(changed); (err == nil) != (first == len(base)) {
				t.Errorf("%q: %v", changed, err)
			}
			return
		}
		s, err := parseLimits(appendLine(nil, verbLimits, data))
		if err != nil {
			if len(s.Pools) > 0 {
				t.Errorf("%v beside %+v", err, s)
			}
			return
		}
		text, err := s.Text()
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseLimits(appendLine(nil, verbLimits, text))
		if diff := cmp.Diff(s, again, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%v: %s", err, diff)
		}
	})
}
