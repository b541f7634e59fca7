package hosts

import (
	"errors"
	"io"
)

// maxObject bounds one object on the wire. etcd takes none beyond 1.5 MiB.
const maxObject = 4 << 20

var errTooLarge = errors.New("an object of more than 4 MiB")

// body is the body of an answer, however long, of which no part may be beyond a bound. It
// tells a connection that broke from JSON that did.
type body struct {
	io.ReadCloser
	left   int64 // bytes that may be read until the next part begins
	broken error // what ended it, when that was the connection
}

func newBody(r io.ReadCloser) *body { return &body{ReadCloser: r, left: maxObject} }

// part begins the next part.
func (b *body) part() { b.left = maxObject }

func (b *body) Read(to []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	n, err := b.ReadCloser.Read(to[:min(int64(len(to)), b.left)])
	b.left -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		b.broken = err
	}
	return n, err
}
