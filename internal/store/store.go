// Package store keeps what must outlive the process: the holds of failed hosts and what is learned of limits. They are one
// value, which is replaced as a whole (docs/replicas.md).
package store

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

var (
	// ErrTakenOver means that another process keeps the holds now, so this one must not any more.
	ErrTakenOver = errors.New("another process keeps the holds")
	// ErrNotLeading means that nothing was written, as this process does not lead. It may lead again.
	ErrNotLeading = errors.New("nothing is kept while this process does not lead")
)

// Store is a place for one value. One goroutine at a time uses it, and calls Load first.
type Store interface {
	// Load takes the place, so that whoever had it before can save no more, and returns its value: nil where there is none.
	Load(ctx context.Context) ([]byte, error)
	// Save replaces the value. After nil it is kept; after an error it may be, or the one before is. What somebody else
	// has put there is kept aside.
	Save(ctx context.Context, value []byte) error
	// Aside keeps a value that could not be read beside the next one that is saved.
	Aside(value []byte) error
	// Room is the size of the largest value, in bytes.
	Room() int
	// Close lets another process have the place.
	Close() error
	// String names the place.
	String() string
}

// Value is what is kept.
type Value struct {
	Records []holdoff.Record
	Limits  sizing.State
}

// head is the first line of a value, before the records.
type head struct {
	Format int             `json:"format"`
	Limits json.RawMessage `json:"limits,omitempty"` // a sizing.State
}

const (
	format  = 1
	maxLine = max(holdoff.MaxLine, sizing.MaxState) + 1<<10
	maxText = 256 << 20 // of a value without compression
)

// Pack returns records and the text of a sizing.State as they are kept: lines of JSON in gzip, whose checksum shows damage.
// Where that is more than room bytes, it leaves out the hosts that were released, then those that failed the longest time
// ago, and returns how many.
func Pack(records []holdoff.Record, limits []byte, room int) (value []byte, left int, err error) {
	rest := slices.SortedFunc(slices.Values(records), func(a, b holdoff.Record) int { return cmp.Compare(a.UUID, b.UUID) })
	value, err = pack(rest, limits)
	if len(value) > room {
		slices.SortStableFunc(rest, byNeed)
	}
	for len(value) > room && len(rest) > 0 && err == nil {
		keep := len(rest) * room / len(value) * 19 / 20
		rest = rest[:min(keep, len(rest)-1)]
		value, err = pack(rest, limits)
	}
	return value, len(records) - len(rest), err
}

// byNeed sorts the holds to the front that end last.
func byNeed(a, b holdoff.Record) int {
	x, y := a.Episodes[0], b.Episodes[0]
	switch {
	case x.Released == y.Released:
		return y.Since.Compare(x.Since)
	case x.Released:
		return 1
	}
	return -1
}

func pack(records []holdoff.Record, limits []byte) ([]byte, error) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	err := json.NewEncoder(z).Encode(head{format, limits})
	for _, r := range records {
		line, wrong := r.Line()
		_, _ = z.Write(append(line, '\n')) // memory takes it
		err = errors.Join(err, wrong)
	}
	err = errors.Join(err, z.Close()) // before the bytes are taken, for it writes the last ones
	return packed.Bytes(), err
}

// Unpack returns what Pack was given. With an error it returns what it could read: where the value is damaged, its holds count
// from now, as their times may be wrong, and no limits are known.
func Unpack(value []byte, now time.Time) (v Value, err error) {
	z, err := gzip.NewReader(bytes.NewReader(value))
	if err != nil {
		return v, err
	}
	var first head
	text := &io.LimitedReader{R: z, N: maxText}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, maxLine)
	if lines.Scan() {
		err = json.Unmarshal(lines.Bytes(), &first)
	}
	if err == nil && first.Format != format {
		err = fmt.Errorf("format: %d is not %d", first.Format, format)
	}
	for lines.Scan() {
		if r, wrong := holdoff.ParseRecord(lines.Bytes()); wrong == nil {
			v.Records = append(v.Records, r)
		} else if err == nil {
			err = wrong
		}
	}
	if text.N == 0 {
		err = fmt.Errorf("longer than %d bytes without compression", maxText)
	}
	if err = errors.Join(err, lines.Err()); err == nil && len(first.Limits) > 0 {
		v.Limits, err = sizing.ParseState(first.Limits)
	} else if err != nil {
		for _, r := range v.Records {
			for i := range r.Episodes {
				r.Episodes[i].Since = now.Round(0)
			}
		}
	}
	return v, err
}
