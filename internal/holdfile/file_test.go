package holdfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

func TestBO16_SavedIsLoaded(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	d.holds(f, false) // there was no file
	if !d.says("WARN", "there is no holds file yet") {
		t.Errorf("log: %s", &d.log)
	}
	d.save(f, nil, record("a", since), record("b", since), record("c", since))
	d.save(f, []string{"b", "x"}, record("c", since.Add(1)))
	d.save(f, nil)
	d.close(f)
	d.log.Reset()
	for range 2 { // the second one reads what the first has written anew
		f = d.open()
		d.holds(f, true, record("a", since), record("c", since.Add(1)))
		d.holds(f, true) // once
		d.close(f)
	}
	if d.log.Len() > 0 || d.beside() != nil {
		t.Errorf("beside %v, log: %s", d.beside(), &d.log)
	}
	info, err := os.Stat(d.path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestBO16_EmptyFileIsKnown(t *testing.T) {
	d := newDesk(t)
	d.close(d.open())
	f := d.open()
	d.holds(f, true)
	d.save(f, nil, record("a", since))
	d.save(f, []string{"a"})
	d.close(f)
	d.holds(d.open(), true)
}

func TestABookComesBack(t *testing.T) {
	d := newDesk(t)
	cfg := holdoff.DefaultConfig()
	cfg.Timeout = time.Hour
	b, err := holdoff.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := d.open()
	b.Failed(since, holdoff.Failure{UUID: "a", Name: "metal3~a", State: "error", Token: "1", Kind: holdoff.Cleaning, Cause: "\x00 <&> \u2028"})
	batch := b.Unsaved(since)
	if err := f.Save(batch); err != nil {
		t.Fatal(err)
	}
	b.Saved(batch)
	d.close(f)
	records, _, _ := d.open().Load()
	again, err := holdoff.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	again.Restore(since, records)
	if got, want := again.View(since), b.View(since); len(got) != 1 || got[0] != want[0] {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestClosed(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	d.close(f)
	d.close(f)
	if err := f.Save(holdoff.Batch{}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Save: %v", err)
	}
	if _, _, err := f.Load(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Load: %v", err)
	}
}

func TestPlacesThatAreNotOurs(t *testing.T) {
	for _, row := range []struct {
		name string
		make func(path string) error // and where
		path string
		want string
	}{
		{"no directory", nil, "none/holds.db", "there is no directory "},
		{"a file for a directory", func(p string) error { return os.WriteFile(filepath.Dir(p), nil, 0o600) }, "file/holds.db", "file is not a directory"},
		{"a directory", func(p string) error { return os.Mkdir(p, 0o700) }, "holds.db", "must be a file, not a directory"},
		{"a link", func(p string) error { return os.Symlink("elsewhere", p) }, "holds.db", "must be a file, not a symbolic link"},
		{"a pipe", func(p string) error { return syscall.Mkfifo(p, 0o600) }, "holds.db", "must be a file, not a device, pipe or socket"},
		{"a link for a lock", func(p string) error { return os.Symlink("elsewhere", p+".lock") }, "holds.db", ".lock: must be a file, not a symbolic link"},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), row.path)
			if row.make != nil {
				if err := row.make(path); err != nil {
					t.Fatal(err)
				}
			}
			f, err := Open(path, nil)
			if err == nil {
				t.Fatal(f.Close())
			}
			if !strings.HasPrefix(err.Error(), "holds file: "+path) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want %s", err, row.want)
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), "elsewhere")); err == nil {
				t.Error("the link was followed")
			}
		})
	}
}

func TestOneProcessAtATime(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	d.save(f, nil, record("a", since))
	for _, wait := range []time.Duration{0, time.Millisecond, 60 * time.Millisecond} {
		if _, err := open(d.path, nil, wait); !errors.Is(err, ErrHeld) || err.Error() != fmt.Sprintf("holds file: %s: held by another process (waited %s)", d.path, wait) {
			t.Errorf("%v", err)
		}
	}
	d.save(f, nil, record("b", since)) // it was not harmed
	d.close(f)
	d.holds(d.open(), true, record("a", since), record("b", since))
}

func TestALockThatIsLetGoInTime(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	opened := make(chan error)
	go func() {
		g, err := open(d.path, nil, time.Minute)
		if err == nil {
			err = g.Close()
		}
		opened <- err
	}()
	d.close(f)
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// A record of a later version is read as far as this one knows it: a rollback lets no host go.
func TestRecordsOfALaterVersion(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	later := record("b", since)
	later.Version = holdoff.RecordVersion + 1
	d.save(f, nil, record("a", since), later)
	d.close(f)
	d.holds(d.open(), true, record("a", since), later)
}

// One bit is enough for a line not to be taken.
func TestChecksum(t *testing.T) {
	line, err := record("a", since).Line()
	if err != nil {
		t.Fatal(err)
	}
	line = appendLine(nil, verbPut, line)
	taken := func(line []byte) bool {
		l := &ledger{records: map[string]holdoff.Record{}, lines: map[string][]byte{}}
		return l.take(line) == nil || len(l.records) > 0
	}
	if !taken(line) {
		t.Error("not taken")
	}
	for n := range line {
		if taken(line[:n]) {
			t.Errorf("%d bytes of it", n)
		}
		for bit := range 8 {
			changed := bytes.Clone(line)
			if changed[n] ^= 1 << bit; taken(changed) {
				t.Errorf("bit %d of byte %d", bit, n)
			}
		}
	}
}

// A file is written anew when most of it is of the past, and not before. Where it cannot be,
// that is no failure of the Save.
func TestFileIsMadeSmaller(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	d.save(f, nil, record("a", since))
	for n := 1; ; n++ {
		was, size := f.info, f.size
		if n == 9 { // far enough
			f.most = 0
			if err := os.MkdirAll(d.path+suffixNew+"/x", 0o700); err != nil {
				t.Fatal(err)
			}
		}
		now := record("a", since.Add(time.Duration(n)))
		now.Spec = strings.Repeat("x", 500)
		d.save(f, []string{fmt.Sprint("b", n-1)}, now, record(fmt.Sprint("b", n), since))
		if n == 9 {
			if !os.SameFile(was, f.info) || f.most != 2*f.size || !d.says("WARN", "cannot be made smaller") {
				t.Errorf("%d of %d bytes, log: %s", f.size, f.most, &d.log)
			}
			if err := os.RemoveAll(d.path + suffixNew); err != nil {
				t.Fatal(err)
			}
			f.most = slack
		}
		if os.SameFile(was, f.info) {
			continue
		}
		if size < slack*9/10 || f.size > 1000 || int64(len(d.read())) != f.size {
			t.Errorf("%d bytes were made %d", size, f.size)
		}
		d.save(f, nil, record("c", since))
		d.close(f)
		d.holds(d.open(), true, now, record(fmt.Sprint("b", n), since), record("c", since))
		return
	}
}
