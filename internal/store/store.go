// Package store keeps what must outlive the process: the holds of failed hosts, and what the throttle has learned about
// limits. Both are one value, which a save replaces as a whole (docs/replicas.md).
package store

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

var (
	// ErrTakenOver means that another process keeps the holds now, so this one must stop.
	ErrTakenOver = errors.New("another process keeps the holds")
	// ErrNotLeading means that this process wrote nothing, because it does not lead. It may lead again.
	ErrNotLeading = errors.New("nothing is kept while this process does not lead")
)

// Store is a place for one value. One goroutine at a time uses it, and calls Load first.
type Store interface {
	// Load takes the place, so that its earlier owner can no longer save, and returns its value; nil: it has none.
	Load(ctx context.Context) ([]byte, error)
	// Save replaces the value. After an error, the place has either the new value or the one before.
	Save(ctx context.Context, value []byte) error
	// Aside keeps a value that Unpack could not read, beside the next one that Save writes.
	Aside(value []byte) error
	// Room returns the size of the largest value, in bytes.
	Room() int
	// Close lets another process have the place.
	Close() error
	// String names the place.
	String() string
}

// Value is what a Keeper keeps.
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
	maxText = 256 << 20 // bytes of a value without compression
)

// Pack returns v as a Store keeps it: lines of JSON in gzip, whose checksum shows damage. If that is more than room
// bytes, it leaves out hosts that were released, then those that failed the longest time ago, and returns how many.
func Pack(v Value, room int) (value []byte, left int, err error) {
	limits, err := v.Limits.Text()
	if err != nil {
		limits = nil // the throttle learns them again
	}
	records := slices.SortedFunc(slices.Values(v.Records), byNeed)
	value, err = pack(records, limits)
	for len(value) > room && len(records) > 0 && err == nil {
		keep := len(records) * room / len(value) * 19 / 20
		records = records[:min(keep, len(records)-1)]
		value, err = pack(records, limits)
	}
	return value, len(v.Records) - len(records), err
}

// byNeed sorts holds before hosts that were released, and the latest failure first.
func byNeed(a, b holdoff.Record) int {
	x, y := a.Episodes[0], b.Episodes[0]
	switch {
	case x.Released == y.Released:
		return cmp.Or(y.Since.Compare(x.Since), cmp.Compare(a.UUID, b.UUID))
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
		_, _ = z.Write(append(line, '\n')) // a write to memory cannot fail
		err = errors.Join(err, wrong)
	}
	err = errors.Join(err, z.Close()) // before Bytes: it writes the last ones
	return packed.Bytes(), err
}

// Unpack returns what Pack got, all or nothing: with one damaged byte, times of holds may be wrong.
func Unpack(value []byte) (Value, error) {
	z, err := gzip.NewReader(bytes.NewReader(value))
	if err != nil {
		return Value{}, err
	}
	lines := json.NewDecoder(http.MaxBytesReader(nil, z, maxText))
	var first head
	var v Value
	if err = lines.Decode(&first); err == nil && first.Format != format {
		err = fmt.Errorf("format: %d is not %d", first.Format, format)
	}
	if err == nil && len(first.Limits) > 0 {
		v.Limits, err = sizing.ParseState(first.Limits)
	}
	for err == nil {
		var line json.RawMessage
		if err = lines.Decode(&line); errors.Is(err, io.EOF) { // after the checksum
			return v, nil
		}
		var r holdoff.Record
		if err == nil {
			r, err = holdoff.ParseRecord(line)
		}
		v.Records = append(v.Records, r)
	}
	return Value{}, err
}
