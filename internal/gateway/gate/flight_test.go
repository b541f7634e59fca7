package gate

import (
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
)

func TestGW3_TheFenceIsBeforeTheFirstByte(t *testing.T) {
	leads := new(atomic.Bool)
	const text = `{"target": "active"}`
	open := fence(leads.Load, func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil })
	body, err := open()
	if err != nil {
		t.Fatal(err)
	}
	some := make([]byte, 5)
	if n, err := body.Read(some); n != 0 || err != errKept { //nolint:errorlint // as it is
		t.Errorf("read %d, %v", n, err)
	}
	leads.Store(true)
	var got strings.Builder
	for range 3 {
		n, err := body.Read(some)
		if err != nil {
			t.Fatal(err)
		}
		got.Write(some[:n])
	}
	leads.Store(false) // a long body may be on its way for minutes
	if n, err := body.Read(some); n != 0 || !errors.Is(err, errTorn) || !errors.Is(err, errStandby) {
		t.Errorf("read %d, %v", n, err)
	}
	leads.Store(true)
	n, err := body.Read(some)
	if got.Write(some[:n]); err != nil || got.String() != text {
		t.Errorf("%q, %v", got.String(), err)
	}
}
