package store_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/store"
)

// These make the test binary a process that saves there, more and more, or until the disk is full.
const (
	saverPath  = "STORE_TEST_SAVES_TO"
	fillerPath = "STORE_TEST_FILLS"
)

func saveForEver(path string) {
	f := store.NewFile(path, slog.New(slog.DiscardHandler))
	value, err := f.Load(context.Background())
	n := 0
	if value != nil {
		var v store.Value
		v, err = store.Unpack(value, now)
		n = len(v.Records)
	}
	for ; err == nil; n++ {
		if value, _, err = store.Pack(records(n), nil, f.Room()); err == nil {
			err = f.Save(context.Background(), value)
		}
		fmt.Println(n)
	}
	fmt.Println(err)
	os.Exit(1)
}

// A process that is killed in the midst of saving loses nothing that it said is saved, and what it leaves can be read.
func TestKill9LosesNothingThatIsSaved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holds")
	saves, there := 0, 0
	for round := range 40 {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), saverPath+"="+path)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		said, lines := there, bufio.NewScanner(out)
		for first := true; lines.Scan(); first = false {
			if _, err := fmt.Sscan(lines.Text(), &said); err != nil {
				t.Fatal(lines.Text())
			}
			if saves++; first {
				time.AfterFunc(time.Duration(round%20)*time.Millisecond, func() { _ = c.Process.Kill() })
			}
		}
		_ = c.Wait()
		value, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		v, err := store.Unpack(value, now)
		if there = len(v.Records); err != nil || there < said || there > said+1 {
			t.Fatalf("round %d: %d were said to be saved, %d are there, %v", round, said, there, err)
		}
	}
	t.Logf("40 kills, %d saves", saves)
}

// fillDisk saves at path, again while no file may have more than ten bytes, and once more without that bound. It ends with 1
// where any of that is not as it should be.
func fillDisk(path string) {
	signal.Ignore(syscall.SIGXFSZ)
	var log bytes.Buffer
	f := store.NewFile(path, slog.New(slog.NewTextHandler(&log, nil)))
	_, err := f.Load(context.Background())
	save := func(value string, most uint64) error {
		bound := syscall.Rlimit{Cur: most, Max: 1 << 20}
		return errors.Join(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &bound), f.Save(context.Background(), []byte(value)))
	}
	err = errors.Join(err, save("0123456789", 10))
	full := save("0123456789 and more", 10)
	kept, _ := os.ReadFile(path)
	_, half := os.Stat(path + ".new")
	err = errors.Join(err, save("enough", 1<<20))
	if err != nil || !errors.Is(full, syscall.EFBIG) || string(kept) != "0123456789" || half == nil || log.Len() > 0 {
		fmt.Println(err, full, string(kept), half, log.String())
		os.Exit(1)
	}
}

// A disk without room is an error of the save; what was saved before is there, and no half of a file; the next save goes on.
func TestAFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holds")
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), fillerPath+"="+path)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if text, err := os.ReadFile(path); string(text) != "enough" {
		t.Errorf("%q, %v", text, err)
	}
}

// open is a File that was loaded, and its log.
func open(t *testing.T, path string) (*store.File, *bytes.Buffer, []byte) {
	t.Helper()
	var log bytes.Buffer
	f := store.NewFile(path, slog.New(slog.NewTextHandler(&log, nil)))
	value, err := f.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f, &log, value
}

func save(t *testing.T, f *store.File, value string) {
	t.Helper()
	if err := f.Save(t.Context(), []byte(value)); err != nil {
		t.Fatal(err)
	}
}

func TestOneProcessHasTheFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "holds")
		first, _, value := open(t, path)
		if value != nil {
			t.Errorf("%q in no file", value)
		}
		second := store.NewFile(path, slog.New(slog.DiscardHandler))
		if _, err := second.Load(t.Context()); !errors.Is(err, store.ErrTakenOver) {
			t.Errorf("a second process: %v", err)
		}
		remove := func() {
			t.Helper()
			if err := os.Remove(path + ".lock"); err != nil {
				t.Fatal(err)
			}
		}
		remove() // the first one locks again
		save(t, first, "1")
		if _, err := second.Load(t.Context()); !errors.Is(err, store.ErrTakenOver) {
			t.Errorf("after the lock was removed: %v", err)
		}
		remove() // the second one is faster
		if value, err := second.Load(t.Context()); err != nil || string(value) != "1" {
			t.Fatalf("%q, %v", value, err)
		}
		if err := first.Save(t.Context(), []byte("2")); !errors.Is(err, store.ErrTakenOver) {
			t.Errorf("the first one after the second one: %v", err)
		}
		if err := second.Close(); err != nil {
			t.Fatal(err)
		}
		if _, _, value := open(t, path); string(value) != "1" {
			t.Errorf("%q is kept", value)
		}
	})
}

// Whatever comes into the place of the file is told once and kept aside, and the value is there again with the next save.
func TestTheFileIsReplacedBySomethingElse(t *testing.T) {
	for name, swap := range map[string]func(path string) error{
		"nothing":     func(string) error { return nil },
		"a directory": func(p string) error { return os.Mkdir(p, 0o700) },
		"a pipe":      func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"a link":      func(p string) error { return os.Symlink("/dev/null", p) },
		"other text":  func(p string) error { return os.WriteFile(p, []byte("by hand"), 0o600) },
		"the same":    func(p string) error { return os.WriteFile(p, []byte("1"), 0o600) },
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "holds")
			f, log, _ := open(t, path)
			save(t, f, "1")
			for _, again := range []string{"first", "second"} {
				if err := errors.Join(os.Remove(path), swap(path)); err != nil {
					t.Fatal(err)
				}
				save(t, f, "1")
				if text, err := os.ReadFile(path); string(text) != "1" || err != nil {
					t.Errorf("the %s time: %q, %v", again, text, err)
				}
				_, err := os.Lstat(path + ".broken")
				if kept := err == nil; kept != (name != "nothing") {
					t.Errorf("the %s time: kept aside: %t", again, kept)
				}
				if n := strings.Count(log.String(), "changed or removed"); n != 1 {
					t.Errorf("the %s time: told %d times", again, n)
				}
				log.Reset()
			}
			save(t, f, "2")
			if log.Len() > 0 {
				t.Errorf("a save that nobody disturbs: %s", log)
			}
		})
	}
}

// Where nothing can be kept, or what is there cannot be the value, the start fails and says why.
func TestPlacesThatCannotBeTaken(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.Mkdir(at("dir"), 0o700), syscall.Mkfifo(at("pipe"), 0o600), os.Symlink("elsewhere", at("link")),
		os.Symlink("elsewhere", at("linked.lock")), os.WriteFile(at("empty"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		at("dir"): "must be a regular file", at("pipe"): "must be a regular file", at("link"): "must be a regular file",
		at("linked"): "too many levels", at("none/holds"): "no such file or directory", at("empty/holds"): "not a directory",
	} {
		f := store.NewFile(path, slog.New(slog.DiscardHandler))
		if _, err := f.Load(t.Context()); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
		_ = f.Close()
	}
	if _, _, value := open(t, at("empty")); value != nil {
		t.Errorf("an empty file: %q", value)
	}
}
