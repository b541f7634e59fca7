package holdfile

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

func init() { children["limits"] = childLimits }

// large is what is known of n, in some ten KiB.
func large(n int) sizing.State {
	s := limit(n)
	r := s.Pools[""]
	for len(r.Windows) < 16 {
		r.Windows = append(r.Windows, r.Windows[0])
	}
	for pool := range 8 {
		s.Pools[strings.Repeat(fmt.Sprint(pool), 200)] = r
	}
	return s
}

// childLimits saves what is known of one limit after the other, and holds between. It says on
// stdout which limit it begins to save, and "ok" when that is done. It ends when its stdin does.
func childLimits() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	f, err := Open("holds.db", nil)
	if err != nil {
		fmt.Println("error", err)
		return
	}
	s, err := f.LoadLimits()
	for n := s.Pools[""].Limit + 1; err == nil; n++ {
		var text []byte
		if text, err = large(n).Text(); err != nil {
			break
		}
		fmt.Println("save", n)
		if err = f.SaveLimits(text); err != nil {
			break
		}
		fmt.Println("ok", n)
		if n%3 == 0 {
			err = f.Save(holdoff.Batch{Puts: []holdoff.Record{record(fmt.Sprint("host-", n%7), since)}})
		}
	}
	fmt.Println("error", err)
}

// untilKilled runs childLimits, kills it after some saves, and returns the limit that it had saved
// for certain, and the one that it had begun to save.
func untilKilled(t *testing.T, path string, saves int) (saved, begun int) {
	t.Helper()
	c := startChild(t, "limits", path)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	oks := 0
	for lines := bufio.NewScanner(out); lines.Scan(); { // also what it said before it was killed
		var n int
		switch _, err := fmt.Sscanf(lines.Text(), "save %d", &n); {
		case err == nil:
			begun = n
		case lines.Text() == fmt.Sprint("ok ", begun):
			saved = begun
			oks++
		default:
			t.Errorf("child: %s", lines.Text())
		}
		if oks == saves {
			_ = c.Process.Kill()
		}
	}
	_ = c.Wait() // it was killed
	return saved, begun
}

// kill -9 of a process that saves limits all the time: what is there then is what was saved last,
// or what a save was on its way with, and no hold is lost.
func TestSZ7_Kill9(t *testing.T) {
	d := newDesk(t)
	d.close(d.open())
	random := rand.New(rand.NewPCG(*killSeed, 7))
	torn, there := 0, 0
	for n := range *kills {
		saved, begun := untilKilled(t, d.path, 1+random.IntN(60))
		f := d.open()
		got, err := f.LoadLimits()
		if limit := got.Pools[""].Limit; err != nil || limit != saved && limit != begun {
			t.Fatalf("kill %d: limit %d, want %d or %d, %v", n, limit, saved, begun, err)
		} else if there = limit; cmp.Diff(large(limit), got) != "" {
			t.Fatalf("kill %d: %+v", n, got)
		}
		if _, err := os.Stat(d.limitsPath() + suffixNew); err == nil {
			torn++
		}
		if _, known, err := f.Load(); !known || err != nil {
			t.Fatalf("kill %d: holds known %v, %v", n, known, err)
		}
		d.close(f)
	}
	t.Logf("%d kills, %d of them before a new file had its name; %d saves", *kills, torn, there)
}
