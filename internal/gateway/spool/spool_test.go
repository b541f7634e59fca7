package spool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
)

const testMax, memoryAll = 256 << 10, 512 * Small

// open is a Spool as the gateway makes it.
func open(tb testing.TB, dir string, maxBody, disk int64) *Spool {
	tb.Helper()
	s, err := New(dir, maxBody, memoryAll, disk)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// letters is a body of n bytes, of which each can be told from its neighbours, that
// takes no memory.
type letters struct{ at, n int64 }

func (l *letters) Read(p []byte) (int, error) {
	if l.at == l.n {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), l.n-l.at))
	copyLetters(p[:n], l.at)
	l.at += int64(n)
	return n, nil
}

// period is one of lettersText, a prime so that no block is like the one before.
const period = 8191

var lettersText = func() []byte {
	text := make([]byte, period+64<<10)
	for i := range text {
		text[i] = byte(i % period * 7 / 3)
	}
	return text
}()

func copyLetters(p []byte, at int64) {
	for len(p) > 0 {
		n := copy(p, lettersText[at%period:])
		p, at = p[n:], at+int64(n)
	}
}

// sameLetters reads a body to its end and compares it with what was sent.
func sameLetters(r io.Reader, want int64) error {
	var at int64
	buffer, wanted := make([]byte, 8<<10), make([]byte, 8<<10)
	for {
		n, err := r.Read(buffer)
		if copyLetters(wanted[:n], at); !bytes.Equal(buffer[:n], wanted[:n]) {
			return fmt.Errorf("within %d bytes from %d on it differs", n, at)
		}
		at += int64(n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if at != want {
		return fmt.Errorf("%d bytes, not %d", at, want)
	}
	return nil
}

// idle fails unless all room was given back and nothing is left in the directory.
func idle(tb testing.TB, s *Spool) {
	tb.Helper()
	if memory, disk := s.memoryUsed.Load(), s.diskUsed.Load(); memory != 0 || disk != 0 {
		tb.Errorf("%d bytes of memory and %d of the disk are still held", memory, disk)
	}
	if !s.memory.TryAcquire(s.memoryAll) || !s.disk.TryAcquire(s.diskAll) {
		tb.Error("not all the room was given back")
	} else {
		s.memory.Release(s.memoryAll)
		s.disk.Release(s.diskAll)
	}
	noFiles(tb, s)
}

func noFiles(tb testing.TB, s *Spool) {
	tb.Helper()
	if left, err := os.ReadDir(s.dir); err != nil || len(left) > 0 {
		tb.Errorf("%v is left, %v", left, err)
	}
}

func TestGW8_SpoolKeepsBodiesOfEverySize(t *testing.T) {
	for _, size := range []int64{
		0, 1, tiny, tiny + 1, Small - 1, Small, Small + 1, 2 * Small, testMax - 1, testMax, testMax + 1, 3 * testMax,
	} {
		for _, announced := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d, announced %v", size, announced), func(t *testing.T) {
				s := open(t, t.TempDir(), testMax, testMax)
				length := size
				if !announced {
					length = -1
				}
				body := &letters{n: size}
				c, err := s.Take(t.Context(), body, length)
				if size > testMax {
					if !errors.Is(err, ErrTooLarge) {
						t.Errorf("%+v, %v", c, err)
					}
					if body.at > testMax+2*copyBuffer {
						t.Errorf("%d bytes were read of a body that is too large", body.at)
					}
					idle(t, s)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if c.Size() != size {
					t.Errorf("size is %d", c.Size())
				}
				if held := s.memoryUsed.Load() + s.diskUsed.Load(); size > tiny && held < size || held > max(size, Small) {
					t.Errorf("%d bytes are held for %d", held, size)
				}
				if onDisk := c.file != nil; onDisk && (size < Small || c.text != nil) || !onDisk && size > Small {
					t.Errorf("on disk: %v", onDisk)
				}
				noFiles(t, s)
				readOften(t, c, size)
				c.Close()
				idle(t, s)
			})
		}
	}
}

// readOften reads a body several times at once, as a Transport that tries again may.
func readOften(t *testing.T, c Body, size int64) {
	t.Helper()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := sameLetters(iotest.OneByteReader(io.LimitReader(c.Reader(), 100)), min(size, 100)); err != nil {
				t.Error("its begin:", err)
			}
			if err := sameLetters(c.Reader(), size); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestGW8_SpoolTellsABodyThatBreaksOff(t *testing.T) {
	gone := errors.New("connection reset")
	for _, size := range []int64{1, tiny, Small, Small + 1, testMax} {
		for _, came := range []int64{0, size / 2, size - 1} {
			for _, length := range []int64{size, -1} {
				s := open(t, t.TempDir(), testMax, testMax)
				body := io.MultiReader(&letters{n: came}, iotest.ErrReader(gone))
				c, err := s.Take(t.Context(), body, length)
				if !errors.Is(err, ErrBroken) || !errors.Is(err, gone) {
					t.Errorf("%d of %d (%d announced): %+v, %v", came, size, length, c, err)
				}
				idle(t, s)
				if length < 0 {
					continue
				}
				// One that ends as if it were whole.
				c, err = s.Take(t.Context(), &letters{n: came}, length)
				if !errors.Is(err, ErrBroken) {
					t.Errorf("%d of %d: %+v, %v", came, size, c, err)
				}
				idle(t, s)
			}
		}
	}
}

func TestGW8_SpoolWithoutItsDirectory(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, where := range map[string]string{"missing": filepath.Join(dir, "missing"), "a file": file} {
		for _, length := range []int64{Small + 1, -1} {
			if _, err := New(where, testMax, memoryAll, testMax); err == nil || !strings.Contains(err.Error(), "TMPDIR") {
				t.Errorf("%s: %v", name, err)
			}
			s := open(t, dir, testMax, testMax)
			s.dir = where // it goes while we run
			_, err := s.Take(t.Context(), &letters{n: Small + 1}, length)
			if err == nil || errors.Is(err, ErrBroken) || errors.Is(err, ErrNoRoom) || errors.Is(err, ErrTooLarge) {
				t.Errorf("%s: %v", name, err)
			}
			if s.dir = dir; s.memoryUsed.Load() != 0 || s.diskUsed.Load() != 0 {
				t.Errorf("%s: room is still held", name)
			}
			// Small bodies need no directory.
			s.dir = where
			c, err := s.Take(t.Context(), &letters{n: Small}, Small)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			c.Close()
		}
	}
}

// Who finds no room waits for it, in turn, and not longer than it may.
func TestGW8_SpoolWaitsForRoom(t *testing.T) {
	for _, tt := range []struct {
		name         string
		size, length int64
		fill         int // bodies of that size that fill it
	}{
		{"disk", testMax, testMax, 1},
		{"disk, in chunks", testMax, -1, 1},
		{"memory", Small, Small, memoryAll / Small},
		{"memory, in chunks", 1, -1, chunkedRoom / Small},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				s := open(t, dir, testMax, testMax)
				var held []Body
				for range tt.fill {
					c, err := s.Take(t.Context(), &letters{n: tt.size}, tt.length)
					if err != nil {
						t.Fatal(err)
					}
					held = append(held, c)
				}
				impatient, cancel := context.WithCancel(t.Context())
				var mu sync.Mutex // guards order
				var order []string
				wait := func(name string, ctx context.Context) {
					c, err := s.Take(ctx, &letters{n: tt.size}, tt.length)
					if err != nil {
						name += ": " + err.Error()
					} else {
						defer c.Close()
						err = sameLetters(c.Reader(), tt.size)
					}
					mu.Lock()
					defer mu.Unlock()
					if order = append(order, name); err != nil && !errors.Is(err, ErrNoRoom) {
						t.Error(err)
					}
				}
				for _, name := range []string{"first", "impatient", "last"} {
					ctx := t.Context()
					if name == "impatient" {
						ctx = impatient
					}
					go wait(name, ctx)
					synctest.Wait()
				}
				if len(order) > 0 {
					t.Fatalf("%v found room where there is none", order)
				}
				cancel()
				synctest.Wait()
				if len(order) != 1 || order[0] != "impatient: "+ErrNoRoom.Error() {
					t.Fatalf("%q", order)
				}
				for _, c := range held {
					c.Close()
				}
				synctest.Wait()
				if len(order) != 3 {
					t.Errorf("%q", order)
				}
				idle(t, s)
			})
		})
	}
}

// A body that can never find room is refused when its time is over, and no one waits
// behind it for ever.
func TestGW8_SpoolSmallerThanABody(t *testing.T) {
	s := open(t, t.TempDir(), testMax, testMax/2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Take(ctx, &letters{n: testMax}, testMax); !errors.Is(err, ErrNoRoom) {
		t.Error(err)
	}
	c, err := s.Take(t.Context(), &letters{n: testMax / 2}, testMax/2)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	idle(t, s)
}

// 200 large bodies at once: all come through, a few at a time, in the memory of a few
// copy buffers.
func TestGW8_TwoHundredLargeBodiesTakeLittleMemory(t *testing.T) {
	const bodies, size, atOnce = 200, 1 << 20, 4
	// Beyond what was there before: 64 KiB for each of the 50 that come in chunks, two
	// buffers for each that is copied, and as much garbage again. 200 bodies of 64 MiB
	// take no more.
	const bound = 16 << 20
	s := open(t, t.TempDir(), size, atOnce*size)
	var peak atomic.Uint64
	sample := func() {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		for old := peak.Load(); m.HeapInuse > old && !peak.CompareAndSwap(old, m.HeapInuse); old = peak.Load() {
		}
	}
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	var all sync.WaitGroup
	var most atomic.Int64
	for i := range bodies {
		length := int64(size)
		if i%4 == 0 {
			length = -1
		}
		all.Go(func() {
			c, err := s.Take(t.Context(), &letters{n: size}, length)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			sample()
			for used := s.diskUsed.Load(); ; {
				if old := most.Load(); used <= old || most.CompareAndSwap(old, used) {
					break
				}
			}
			if err := sameLetters(c.Reader(), size); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	idle(t, s)
	if grown := int64(peak.Load()) - int64(before.HeapInuse); grown > bound {
		t.Errorf("the heap grew by %d bytes for %d bodies of %d", grown, bodies, size)
	}
	if used := most.Load(); used > atOnce*size {
		t.Errorf("%d bytes were on disk, %d are allowed", used, atOnce*size)
	}
}

func TestSpooledBodyIsWhatWasSent(t *testing.T) {
	s := open(t, t.TempDir(), testMax, testMax)
	text := bytes.Repeat([]byte("0123456789"), 10_000)
	c, err := s.Take(t.Context(), iotest.HalfReader(bytes.NewReader(text)), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got, err := io.ReadAll(c.Reader()); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
