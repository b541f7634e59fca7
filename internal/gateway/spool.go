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

// spool keeps the bodies of gated requests while they are decided about: small ones
// in memory, the others in files that have no name any more. Both kinds are bounded
// together; who finds no room waits for it. Safe for concurrent use.
type spool struct {
	dir     string
	maxBody int64

	memory, disk         *semaphore.Weighted
	chunked              *semaphore.Weighted // part of memory
	memoryUsed, diskUsed atomic.Int64
	memoryAll, diskAll   int64
}

func newSpool(dir string, maxBody, diskAll int64) *spool {
	return &spool{
		dir: dir, maxBody: maxBody,
		memory: semaphore.NewWeighted(spoolMemoryAll), memoryAll: spoolMemoryAll,
		disk: semaphore.NewWeighted(diskAll), diskAll: diskAll,
		chunked: semaphore.NewWeighted(spoolChunked),
	}
}

// content is a body that can be read several times; close it once.
type content struct {
	text  []byte
	file  *os.File // nil: text is all
	long  int64
	close func()
}

func (c content) size() int64 { return c.long }

// reader reads the whole from its begin, independently of others.
func (c content) reader() io.Reader {
	if c.file == nil {
		return bytes.NewReader(c.text)
	}
	return io.NewSectionReader(c.file, 0, c.long)
}

// open is reader as requests want it.
func (c content) open() (io.ReadCloser, error) { return io.NopCloser(c.reader()), nil }

// head returns the first n bytes, or what there is.
func (c content) head(n int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(c.reader(), n))
	if err != nil {
		return nil, fmt.Errorf("spooled body: %w", err)
	}
	return text, nil
}

var (
	errTooLarge = errors.New("body too large")
	errNoRoom   = errors.New("no room for the body")
	errBroken   = errors.New("the body did not come whole")
)

// take reads a body to its end. length is its length as announced, -1 for one in
// chunks. Errors are errTooLarge, errNoRoom when ctx ended before there was room,
// errBroken when the client did not send all of it, and those of the disk.
func (s *spool) take(ctx context.Context, body io.Reader, length int64) (content, error) {
	if length > s.maxBody {
		return content{}, errTooLarge
	}
	if length == 0 {
		return content{close: func() {}}, nil
	}
	switch {
	case length > spoolMemory:
		whole, err := s.onDisk(ctx, body, length)
		if err == nil && whole.long < length {
			whole.close()
			return content{}, fmt.Errorf("%w: %w", errBroken, io.ErrUnexpectedEOF)
		}
		return whole, err
	case length > spoolTiny:
		return s.inMemory(ctx, body, length)
	case length > 0:
		return announced(body, length, func() {})
	}
	return s.inChunks(ctx, body)
}

// inMemory keeps a small body that was announced.
func (s *spool) inMemory(ctx context.Context, body io.Reader, length int64) (content, error) {
	release, err := s.memoryRoom(ctx, length)
	if err != nil {
		return content{}, err
	}
	return announced(body, length, release)
}

// inChunks keeps a body of unknown length: in memory, and when it turns out long, on
// disk.
func (s *spool) inChunks(ctx context.Context, body io.Reader) (content, error) {
	room := min(spoolMemory, s.maxBody)
	if s.chunked.Acquire(ctx, room) != nil {
		return content{}, errNoRoom
	}
	back, err := s.memoryRoom(ctx, room)
	if err != nil {
		s.chunked.Release(room)
		return content{}, err
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
		return content{text: text[:n], long: int64(n), close: release}, nil
	}
	release() // an early end is an io.ErrUnexpectedEOF of the body as well as of ReadFull
	return content{}, fmt.Errorf("%w: %w", errBroken, from.err)
}

func (s *spool) memoryRoom(ctx context.Context, n int64) (release func(), err error) {
	if s.memory.Acquire(ctx, n) != nil {
		return nil, errNoRoom
	}
	s.memoryUsed.Add(n)
	return func() {
		s.memoryUsed.Add(-n)
		s.memory.Release(n)
	}, nil
}

// announced reads a body of a known length into memory.
func announced(body io.Reader, length int64, release func()) (content, error) {
	text := make([]byte, length)
	if _, err := io.ReadFull(body, text); err != nil {
		release()
		return content{}, fmt.Errorf("%w: %w", errBroken, err)
	}
	return content{text: text, long: length, close: release}, nil
}

// onDisk keeps a large body; most is what it may have, in bytes.
func (s *spool) onDisk(ctx context.Context, body io.Reader, most int64) (content, error) {
	if s.disk.Acquire(ctx, most) != nil {
		return content{}, errNoRoom
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
		return content{}, err
	}
	done := func() {
		_ = file.Close() // nothing of it is wanted any more
		release(held)
	}
	from := &source{Reader: io.LimitReader(body, most+1)}
	n, err := io.CopyBuffer(struct{ io.Writer }{file}, from, make([]byte, copyBuffer))
	switch {
	case from.err != nil:
		err = fmt.Errorf("%w: %w", errBroken, from.err)
	case err != nil:
		err = fmt.Errorf("place of large bodies (TMPDIR): %w", err)
	case n > most:
		err = errTooLarge
	}
	if err != nil {
		done()
		return content{}, err
	}
	release(most - n) // what it might have needed
	return content{file: file, long: n, close: done}, nil
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
