package holdfile

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

func init() { children["full"] = childFull }

// childFull saves until there is no room, goes on saving, and has room again.
func childFull() {
	signal.Ignore(syscall.SIGXFSZ)
	var was syscall.Rlimit
	_ = syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was)
	f, err := Open("holds.db", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 100_000, Max: was.Max})
	saved, failed := 0, 0
	put := func() error {
		r := record(fmt.Sprintf("host-%04d", saved), since)
		r.Episodes[0].Cause = strings.Repeat("x", 250)
		return f.Save(holdoff.Batch{Puts: []holdoff.Record{r}})
	}
	for failed < 5 {
		if failed == 3 { // nor is there room for a new file
			_ = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 20_000, Max: was.Max})
		}
		if err := put(); err == nil {
			saved++
		} else if failed++; !errors.Is(err, syscall.EFBIG) {
			fmt.Println(err)
			return
		}
		if _, err := os.Stat("holds.db" + suffixNew); err == nil {
			fmt.Println("the half of a new file was left")
			return
		}
	}
	_ = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was)
	for range 3 {
		if err := put(); err != nil {
			fmt.Println(err)
			return
		}
		saved++
	}
	fmt.Println("saved", saved)
}

// A disk without room: Save says so each time, what was saved is there, and it goes on
// when there is room.
func TestAFullDisk(t *testing.T) {
	d := newDesk(t)
	out, err := startChild(t, "full", d.path).Output()
	var saved int
	if _, scanErr := fmt.Sscanf(string(out), "saved %d\n", &saved); scanErr != nil || err != nil || saved < 20 {
		t.Fatalf("%s%v", out, err)
	}
	records, known, err := d.open().Load()
	if len(records) != saved || !known || err != nil {
		t.Errorf("%d of %d records, %v, %v", len(records), saved, known, err)
	}
	if d.beside() != nil {
		t.Errorf("beside: %v", d.beside())
	}
}
