package disruption

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// Document is what `plan --export` writes and `plan --state` reads.
type Document struct {
	Version int    `json:"version"`
	Config  Config `json:"config"`
	State   State  `json:"state"`
}

// maxDocument bounds a document, bytes.
const maxDocument = 256 << 20

// ReadDocument reads a document.
func ReadDocument(r io.Reader) (*Document, error) {
	d := &Document{Config: Default()}
	in := json.NewDecoder(io.LimitReader(r, maxDocument))
	in.DisallowUnknownFields()
	if err := in.Decode(d); err != nil {
		return nil, fmt.Errorf("document: %w", err)
	}
	if d.Version != 1 {
		return nil, fmt.Errorf("version %d: must be 1", d.Version)
	}
	return d, nil
}

// Write writes d.
func (d *Document) Write(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(d)
}

// MarshalText implements [encoding.TextMarshaler].
func (s Span) MarshalText() ([]byte, error) {
	if s == Never {
		return []byte("Never"), nil
	}
	return []byte(time.Duration(s).String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Span) UnmarshalText(text []byte) error {
	if strings.EqualFold(string(text), "never") {
		*s = Never
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return fmt.Errorf("%q is not a duration such as 30m, or Never", text)
	}
	*s = Span(d)
	return nil
}
