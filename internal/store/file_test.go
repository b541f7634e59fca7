package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/store"
)

// saverPath makes the test binary a process that saves there, more and more.
const saverPath = "STORE_TEST_SAVES_TO"

func saveForEver(path string) {
	f := store.NewFile(path)
	value, err := f.Load(context.Background())
	n := 0
	if value != nil {
		var v store.Value
		v, err = store.Unpack(value)
		n = len(v.Records)
	}
	for ; err == nil; n++ {
		if value, _, err = store.Pack(store.Value{Records: records(n)}, f.Room()); err == nil {
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
	for round := range 20 {
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
				time.AfterFunc(time.Duration(round)*time.Millisecond, func() { _ = c.Process.Kill() })
			}
		}
		_ = c.Wait()
		value, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		v, err := store.Unpack(value)
		if there = len(v.Records); err != nil || there < said || there > said+1 {
			t.Fatalf("round %d: %d were said to be saved, %d are there, %v", round, said, there, err)
		}
	}
	t.Logf("20 kills, %d saves", saves)
}

func TestOneProcessHasTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holds")
	loads := func(f *store.File, want string) {
		t.Helper()
		if value, err := f.Load(t.Context()); err != nil || string(value) != want || (value == nil) != (want == "") {
			t.Fatalf("%q, %v, want %q", value, err, want)
		}
	}
	first, second := store.NewFile(path), store.NewFile(path)
	loads(first, "")
	for _, remove := range []string{"", path, path + ".lock"} { // what is removed is there again
		if remove != "" {
			_ = os.Remove(remove)
		}
		if err := first.Save(t.Context(), []byte("1")); err != nil {
			t.Fatal(err)
		}
		if _, err := second.Load(t.Context()); !errors.Is(err, store.ErrTakenOver) {
			t.Errorf("a second process: %v", err)
		}
	}
	_ = os.Remove(path + ".lock")
	loads(second, "1") // the second one is faster
	if err := first.Save(t.Context(), []byte("2")); !errors.Is(err, store.ErrTakenOver) {
		t.Errorf("the first one after the second one: %v", err)
	}
	if err := errors.Join(second.Save(t.Context(), []byte("3")), second.Close()); err != nil {
		t.Fatal(err)
	}
	loads(store.NewFile(path), "3")
}
