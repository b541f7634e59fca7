package statusview

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pseudoTerminal opens a terminal: what a program writes into screen is read from keyboard,
// and the other way round.
func pseudoTerminal(t *testing.T) (keyboard, screen *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { _ = keyboard.Close() })
	fd := int(keyboard.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	return keyboard, screen
}

func resize(t *testing.T, screen *os.File, width, height uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height}); err != nil {
		t.Fatal(err)
	}
	// The terminal is not the one that controls this process, so nobody else tells it.
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
		t.Fatal(err)
	}
}

// steering are sequences that move the cursor, and colours.
var steering = regexp.MustCompile("\x1b\\[[0-9;?]*[a-zA-Z]")

// watcher reads what a program draws.
type watcher struct {
	from  io.Reader
	drawn string // not looked at yet
}

// until waits for text, and forgets what was drawn before it.
func (w *watcher) until(t *testing.T, text string) {
	t.Helper()
	part := make([]byte, 4096)
	for {
		plain := steering.ReplaceAllString(w.drawn, "")
		if _, after, found := strings.Cut(plain, text); found {
			w.drawn = after
			return
		}
		n, err := w.from.Read(part)
		w.drawn += string(part[:n])
		if err != nil {
			t.Fatalf("%v; %q was not shown, only %q", err, text, plain)
		}
	}
}

// TestLiveOnATerminal drives the live view as a person does: in a small terminal, in a large
// one, through all of its lines, and out again.
func TestLiveOnATerminal(t *testing.T) {
	keyboard, screen := pseudoTerminal(t)
	resize(t, screen, 80, 24)
	ended := make(chan error, 1)
	go func() {
		ended <- Live(t.Context(), Terminal{In: screen, Out: screen}, 20*time.Millisecond, func(context.Context) (Content, error) { return night(), nil })
	}()
	press := func(keys string) {
		if _, err := keyboard.WriteString(keys); err != nil {
			t.Fatal(err)
		}
	}
	w := watcher{from: keyboard}
	w.until(t, "3f2b8a6e…")
	w.until(t, "↓ shows all")
	resize(t, screen, 200, 50)
	w.until(t, someUUID)
	resize(t, screen, 80, 24)
	w.until(t, "3f2b8a6e…")
	press("\x1b[B")
	w.until(t, "Home shows what fits")
	press("q")
	drained := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, keyboard) // ends with the terminal
		close(drained)
	}()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	_ = screen.Close()
	<-drained
}
