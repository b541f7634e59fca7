package gateway

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

// smallBody is up to how many bytes a body waits in memory. There is one at a time on each of maxConns connections.
const smallBody = 64 << 10

// spool is room for large bodies: on disk, so much for all together. Make one with newSpool; it is safe for concurrent use.
type spool struct {
	dir  string
	most int64 // bytes of one body
	all  int64 // and of all
	disk *semaphore.Weighted
	used atomic.Int64
}

// newSpool checks that files can be made below dir; "" is the system's place for temporary files.
func newSpool(dir string, most, all int64) (*spool, error) {
	file, err := nameless(dir)
	if err != nil {
		return nil, err
	}
	return &spool{dir: dir, most: most, all: all, disk: semaphore.NewWeighted(all)}, file.Close()
}

// body is one that can be read several times; close it once. The zero value is an empty one.
type body struct {
	text []byte
	file *os.File // nil: text is all
	size int64
	done func() // nil: nothing is to be done
}

// Size is its length in bytes.
func (b body) Size() int64 { return b.size }

// Reader reads the whole from its begin, independently of others.
func (b body) Reader() io.Reader {
	if b.file == nil {
		return bytes.NewReader(b.text)
	}
	return io.NewSectionReader(b.file, 0, b.size)
}

// close gives its room back.
func (b body) close() {
	if b.done != nil {
		b.done()
	}
}

// What is wrong with a body that is not taken, or with the time for it.
var (
	errTooLarge = errors.New("body too large")
	errNoRoom   = errors.New("no room for the body")
	errBroken   = errors.New("the body did not come whole")
)

// take reads a body to its end. length is its length as announced, -1 for one in chunks. Errors are errTooLarge,
// errNoRoom when ctx ended before there was room, errBroken when the client did not send all of it, and those of the
// disk.
func (s *spool) take(ctx context.Context, in io.Reader, length int64) (body, error) {
	switch {
	case length > s.most:
		return body{}, errTooLarge
	case length == 0:
		return body{}, nil
	case length > smallBody:
		return s.onDisk(ctx, in, length, length)
	}
	room := length
	if length < 0 {
		room = min(smallBody, s.most)
	}
	from, text := &source{Reader: in}, make([]byte, room)
	n, err := io.ReadFull(from, text)
	switch {
	case from.err != nil:
		return body{}, fmt.Errorf("%w: %w", errBroken, from.err)
	case err != nil && length > 0:
		return body{}, fmt.Errorf("%w: %w", errBroken, io.ErrUnexpectedEOF)
	case err == nil && length < 0: // it may be a long one
		return s.onDisk(ctx, io.MultiReader(bytes.NewReader(text), in), 0, s.most)
	}
	return body{text: text[:n], size: int64(n)}, nil
}

// onDisk keeps a large body of at least and at most so many bytes.
func (s *spool) onDisk(ctx context.Context, in io.Reader, least, most int64) (body, error) {
	if s.disk.Acquire(ctx, most) != nil {
		return body{}, errNoRoom
	}
	s.used.Add(most)
	held := most
	release := func(n int64) {
		held -= n
		s.used.Add(-n)
		s.disk.Release(n)
	}
	file, err := nameless(s.dir)
	if err != nil {
		release(held)
		return body{}, err
	}
	done := func() {
		_ = file.Close() // nothing of it is wanted any more
		release(held)
	}
	from := &source{Reader: io.LimitReader(in, most+1)}
	n, err := io.CopyBuffer(struct{ io.Writer }{file}, from, make([]byte, copyBuffer))
	switch {
	case from.err != nil:
		err = fmt.Errorf("%w: %w", errBroken, from.err)
	case err != nil:
		err = fmt.Errorf("place of large bodies (TMPDIR): %w", err)
	case n > most:
		err = errTooLarge
	case n < least:
		err = fmt.Errorf("%w: %w", errBroken, io.ErrUnexpectedEOF)
	}
	if err != nil {
		done()
		return body{}, err
	}
	release(most - n) // what it might have needed
	return body{file: file, size: n, done: done}, nil
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
	if err == nil {
		if err = os.Remove(file.Name()); err != nil {
			_ = file.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("place of large bodies (TMPDIR) %q: %w", dir, err)
	}
	return file, nil
}
