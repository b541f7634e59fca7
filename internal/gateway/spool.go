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

// smallBody is how many bytes of a body may wait in memory, at most one body on each of maxConns connections.
const smallBody = 64 << 10

// spool keeps large bodies on disk, with a bound for all together. It is safe for concurrent use.
type spool struct {
	most int64 // bytes of one body
	all  int64 // bytes of all bodies together
	disk *semaphore.Weighted
	used atomic.Int64
}

// body is a whole body that can be read several times. Close it once, to free its room.
type body struct {
	at      io.ReaderAt
	size    int64
	close   func()
	leading func() bool // nil: any replica may send it
}

// reader returns a reader of its own for the whole body; nil for an empty one.
func (b body) reader() io.Reader {
	if b.size == 0 {
		return nil
	}
	return io.NewSectionReader(b.at, 0, b.size)
}

// withBody returns r with b. GetBody lets net/http take another connection if Ironic closes an idle one before a byte
// went out.
//
// A process that does not lead sends no byte of a body with leading: it may have been paused since it decided. Ironic
// does not carry out a request whose body does not come whole.
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

// Why receive does not take a body.
var (
	errTooLarge = errors.New("body too large")
	errNoRoom   = errors.New("no room for the body")
	errBroken   = errors.New("the client has broken the request off")
)

// receive reads the body of r, which must have come whole at until. An error is errTooLarge, errNoRoom if ctx ended
// before there was room, errBroken if the client did not send all of the body, or one of the disk.
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

// take keeps a body on disk, of no more than most bytes. Its errors are those of receive.
func (s *spool) take(ctx context.Context, from io.Reader, most int64) (body, error) {
	if s.disk.Acquire(ctx, most) != nil {
		return body{}, errNoRoom
	}
	s.used.Add(most)
	file, err := nameless()
	done := func() {
		_ = file.Close() // nobody needs its bytes any more
		s.used.Add(-most)
		s.disk.Release(most)
	}
	var n int64
	if err == nil {
		n, err = io.CopyBuffer(struct{ io.Writer }{file}, io.LimitReader(from, most+1), make([]byte, 32<<10))
	}
	var disk *fs.PathError
	switch {
	case errors.As(err, &disk):
		err = fmt.Errorf("place for large bodies (TMPDIR): %w", err)
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

// nameless makes a file that vanishes when it is closed, even after kill -9. The caller closes it after an error too.
func nameless() (*os.File, error) {
	file, err := os.CreateTemp("", "ironic-throttle-body-")
	if err == nil {
		err = os.Remove(file.Name())
	}
	return file, err
}
