package spool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// Small is up to how many bytes a body waits in memory.
const Small = 64 << 10

const (
	// Bodies in chunks, which need room before it is known how long they are, have a part of
	// the memory only: no client of Ironic sends those.
	chunkedRoom = 8 << 20
	tiny        = 4 << 10 // up to this a body takes no room
	copyBuffer  = 32 << 10
)

// Spool is room for bodies. Make one with New; it is safe for concurrent use.
type Spool struct {
	dir     string
	maxBody int64

	memory, disk         *semaphore.Weighted
	chunked              *semaphore.Weighted // part of memory
	memoryUsed, diskUsed atomic.Int64
	memoryAll, diskAll   int64
}

// New keeps bodies of up to maxBody bytes: all small ones in memory bytes together, the others
// in disk bytes below dir. It checks that files can be made there; "" is the system's place
// for temporary files.
func New(dir string, maxBody, memory, disk int64) (*Spool, error) {
	file, err := nameless(dir)
	if err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	return &Spool{
		dir: dir, maxBody: maxBody,
		memory: semaphore.NewWeighted(memory), memoryAll: memory,
		disk: semaphore.NewWeighted(disk), diskAll: disk,
		chunked: semaphore.NewWeighted(chunkedRoom),
	}, nil
}

// Room is what bodies take of it, and what they may take.
type Room struct{ MemoryBytes, DiskBytes, MemoryLimit, DiskLimit int64 }

// Room tells it.
func (s *Spool) Room() Room {
	return Room{MemoryBytes: s.memoryUsed.Load(), DiskBytes: s.diskUsed.Load(), MemoryLimit: s.memoryAll, DiskLimit: s.diskAll}
}

// Body is one that can be read several times; close it once. The zero value is an empty one.
type Body struct {
	text  []byte
	file  *os.File // nil: text is all
	long  int64
	close func()
}

// Size is its length in bytes.
func (b Body) Size() int64 { return b.long }

// OnDisk reports whether it takes room there.
func (b Body) OnDisk() bool { return b.file != nil }

// Reader reads the whole from its begin, independently of others.
func (b Body) Reader() io.Reader {
	if b.file == nil {
		return bytes.NewReader(b.text)
	}
	return io.NewSectionReader(b.file, 0, b.long)
}

// Close gives its room back.
func (b Body) Close() {
	if b.close != nil {
		b.close()
	}
}

// What is wrong with a body that is not taken, or with the time for it.
var (
	ErrTooLarge = errors.New("body too large")
	ErrNoRoom   = errors.New("no room for the body")
	ErrBroken   = errors.New("the body did not come whole")
)

// Take reads a body to its end. length is its length as announced, -1 for one in
// chunks. Errors are ErrTooLarge, ErrNoRoom when ctx ended before there was room,
// ErrBroken when the client did not send all of it, and those of the disk.
func (s *Spool) Take(ctx context.Context, body io.Reader, length int64) (Body, error) {
	if length > s.maxBody {
		return Body{}, ErrTooLarge
	}
	if length == 0 {
		return Body{}, nil
	}
	switch {
	case length > Small:
		whole, err := s.onDisk(ctx, body, length)
		if err == nil && whole.long < length {
			whole.Close()
			return Body{}, fmt.Errorf("%w: %w", ErrBroken, io.ErrUnexpectedEOF)
		}
		return whole, err
	case length > 0:
		return s.inMemory(ctx, body, length)
	}
	return s.inChunks(ctx, body)
}

// inMemory keeps a small body that was announced.
func (s *Spool) inMemory(ctx context.Context, body io.Reader, length int64) (Body, error) {
	release := func() {}
	if length > tiny {
		var err error
		if release, err = s.memoryRoom(ctx, length); err != nil {
			return Body{}, err
		}
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(body, text); err != nil {
		release()
		return Body{}, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return Body{text: text, long: length, close: release}, nil
}

// inChunks keeps a body of unknown length: in memory, and when it turns out long, on
// disk.
func (s *Spool) inChunks(ctx context.Context, body io.Reader) (Body, error) {
	room := min(Small, s.maxBody)
	if s.chunked.Acquire(ctx, room) != nil {
		return Body{}, ErrNoRoom
	}
	back, err := s.memoryRoom(ctx, room)
	if err != nil {
		s.chunked.Release(room)
		return Body{}, err
	}
	release := func() {
		back()
		s.chunked.Release(room)
	}
	text := make([]byte, room)
	from := &source{Reader: body}
	n, err := io.ReadFull(from, text)
	switch {
	case err == nil:
		defer release()
		return s.onDisk(ctx, io.MultiReader(bytes.NewReader(text), body), s.maxBody)
	case from.err == nil:
		return Body{text: text[:n], long: int64(n), close: release}, nil
	}
	release() // an early end is an io.ErrUnexpectedEOF of the body as well as of ReadFull
	return Body{}, fmt.Errorf("%w: %w", ErrBroken, from.err)
}

func (s *Spool) memoryRoom(ctx context.Context, n int64) (release func(), err error) {
	if s.memory.Acquire(ctx, n) != nil {
		return nil, ErrNoRoom
	}
	s.memoryUsed.Add(n)
	return func() {
		s.memoryUsed.Add(-n)
		s.memory.Release(n)
	}, nil
}

// onDisk keeps a large body; most is what it may have, in bytes.
func (s *Spool) onDisk(ctx context.Context, body io.Reader, most int64) (Body, error) {
	if s.disk.Acquire(ctx, most) != nil {
		return Body{}, ErrNoRoom
	}
	s.diskUsed.Add(most)
	held := most
	release := func(n int64) {
		held -= n
		s.diskUsed.Add(-n)
		s.disk.Release(n)
	}
	file, err := nameless(s.dir)
	if err != nil {
		release(held)
		return Body{}, err
	}
	done := func() {
		_ = file.Close() // nothing of it is wanted any more
		release(held)
	}
	from := &source{Reader: io.LimitReader(body, most+1)}
	n, err := io.CopyBuffer(struct{ io.Writer }{file}, from, make([]byte, copyBuffer))
	switch {
	case from.err != nil:
		err = fmt.Errorf("%w: %w", ErrBroken, from.err)
	case err != nil:
		err = fmt.Errorf("place of large bodies (TMPDIR): %w", err)
	case n > most:
		err = ErrTooLarge
	}
	if err != nil {
		done()
		return Body{}, err
	}
	release(most - n) // what it might have needed
	return Body{file: file, long: n, close: done}, nil
}

// source remembers an error of the client, to tell it from one of the disk.
type source struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// nameless makes a file that is gone when it is closed, also after kill -9.
func nameless(dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, "ironic-throttle-body-")
	if err != nil {
		return nil, fmt.Errorf("place of large bodies (TMPDIR) %q: %w", dir, err)
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("place of large bodies (TMPDIR) %q: %w", dir, err), file.Close())
	}
	return file, nil
}
