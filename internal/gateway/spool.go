package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// smallBody is up to how many bytes a body waits in memory. There is one at a time on each of maxConns connections.
const smallBody = 64 << 10

// spool is room for large bodies: on disk, so much for all together. It is safe for concurrent use.
type spool struct {
	most int64 // bytes of one body
	all  int64 // and of all
	disk *semaphore.Weighted
	used atomic.Int64
}

// body is one that can be read several times; close it once, to give its room back.
type body struct {
	at      io.ReaderAt
	size    int64
	close   func()
	leading func() bool // nil: anybody may send it
}

// reader reads the whole from its begin, independently of others; nil for an empty one.
func (b body) reader() io.Reader {
	if b.size == 0 {
		return nil
	}
	return io.NewSectionReader(b.at, 0, b.size)
}

// withBody is a request with a body that is here. With GetBody a connection that Ironic closes in the same moment costs
// nothing: where no byte went out, another one is taken.
//
// The body cannot be sent by a process that does not lead: that may have been paused since it decided, up to this very
// moment. A request whose body does not come, or not all of it, is one that Ironic does not carry out.
func withBody(r *http.Request, b body) *http.Request {
	r = r.Clone(r.Context())
	r.Header.Del("Expect")
	r.Body, r.GetBody, r.ContentLength, r.TransferEncoding = http.NoBody, nil, b.size, nil
	if b.size > 0 {
		r.GetBody = func() (io.ReadCloser, error) {
			from := b.reader()
			return io.NopCloser(reading(func(p []byte) (int, error) {
				if b.leading != nil && !b.leading() {
					return 0, errStandby
				}
				return from.Read(p)
			})), nil
		}
		r.Body, _ = r.GetBody()
	}
	return r
}

// reading is an io.Reader.
type reading func(p []byte) (int, error)

// Read implements io.Reader.
func (r reading) Read(p []byte) (int, error) { return r(p) }

// What is wrong with a body that is not taken, or with the time for it.
var (
	errTooLarge = errors.New("body too large")
	errNoRoom   = errors.New("no room for the body")
	errBroken   = errors.New("the client has broken the request off")
)

// receive reads the body of r to its end; until then it must have come. Errors are errTooLarge, errNoRoom when ctx
// ended before there was room, errBroken when the client did not send all of it, and those of the disk.
func (g *Gateway) receive(
	ctx context.Context, w http.ResponseWriter, r *http.Request, until time.Time,
) (b body, err error) {
	wire, length := http.NewResponseController(w), r.ContentLength
	_ = wire.SetReadDeadline(until)
	switch {
	case length > g.spool.most:
		return body{}, errTooLarge
	case length > smallBody:
		b, err = g.spool.take(ctx, r.Body, length)
	default:
		var text []byte
		text, err = io.ReadAll(io.LimitReader(r.Body, smallBody+1))
		b = body{at: bytes.NewReader(text), size: int64(len(text)), close: func() {}}
		if err != nil {
			err = fmt.Errorf("%w: %w", errBroken, err)
		} else if b.size > smallBody { // it came in chunks
			b, err = g.spool.take(ctx, io.MultiReader(bytes.NewReader(text), r.Body), g.spool.most)
		}
	}
	if err == nil {
		_ = wire.SetReadDeadline(time.Now().Add(g.longest))
	}
	return b, err
}

// take keeps a body of at most so many bytes on disk.
func (s *spool) take(ctx context.Context, in io.Reader, most int64) (body, error) {
	if s.disk.Acquire(ctx, most) != nil {
		return body{}, errNoRoom
	}
	s.used.Add(most)
	file, err := nameless()
	done := func() {
		_ = file.Close() // nothing of it is wanted any more
		s.used.Add(-most)
		s.disk.Release(most)
	}
	var n int64
	if err == nil {
		n, err = io.CopyBuffer(struct{ io.Writer }{file}, io.LimitReader(in, most+1), make([]byte, 32<<10))
	}
	var disk *fs.PathError
	switch {
	case errors.As(err, &disk):
		err = fmt.Errorf("place of large bodies (TMPDIR): %w", err)
	case err != nil:
		err = fmt.Errorf("%w: %w", errBroken, err)
	case n > most:
		err = errTooLarge
	}
	if err != nil {
		done()
	}
	return body{at: file, size: n, close: done}, err
}

// nameless makes a file that is gone when it is closed, also after kill -9. With an error it is to be closed too.
func nameless() (*os.File, error) {
	file, err := os.CreateTemp("", "ironic-throttle-body-")
	if err == nil {
		err = os.Remove(file.Name())
	}
	return file, err
}
