package disruption

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"sigs.k8s.io/json"
)

// DocumentVersion is of the form of a Document.
const DocumentVersion = 1

// Bounds of a Document's text. Each object and each null can stand for a large value in memory.
const (
	maxDocument = 256 << 20
	maxObjects  = 4_000_000
)

// Document is a State with the Config that a plan is made with: what `plan --export` writes and
// `plan --state` reads.
type Document struct {
	Version int    `json:"version"`
	Config  Config `json:"config"`
	State   State  `json:"state"`
}

// ReadDocument reads what Write wrote, or what somebody wrote by hand: settings that are not there are those of Default.
// Its error is that of r, or a *api.FieldError, whose rule names the place.
func ReadDocument(r io.Reader) (*Document, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("read the state: %w", err)
	}
	switch {
	case len(text) > maxDocument:
		return nil, bad("document", "", fmt.Sprintf("is larger than %d MiB", maxDocument>>20))
	case bytes.Count(text, []byte("{"))+bytes.Count(text, []byte("null")) > maxObjects:
		return nil, bad("document", "", fmt.Sprintf("has more than %d objects", maxObjects))
	}
	d := &Document{Config: Default()}
	d.Config.Budgets = nil // a list is read into the one that is there
	strict, err := json.UnmarshalStrict(text, d)
	if broken, at := json.SyntaxErrorOffset(err); broken {
		err = fmt.Errorf("byte %d: %w", at, err)
	}
	if kind := new(stdjson.UnmarshalTypeError); errors.As(err, &kind) {
		err = fmt.Errorf("byte %d: %s is of the type %s, and has %s", kind.Offset, kind.Field, kind.Type, kind.Value)
	}
	if err = errors.Join(append(strict, err)...); err != nil {
		return nil, bad("document", "", "cannot be read: "+clip(err.Error()))
	}
	if len(d.Config.Budgets) == 0 {
		d.Config.Budgets = Default().Budgets
	}
	if err := d.Check(); err != nil {
		return nil, err
	}
	return d, nil
}

// Check reports a *api.FieldError for what no plan can be made of.
func (d *Document) Check() error {
	if d.Version != DocumentVersion {
		return bad("version", strconv.Itoa(d.Version), fmt.Sprintf("is not known, only %d is", DocumentVersion))
	}
	if err := d.Config.check("config"); err != nil {
		return err
	}
	return d.State.check("state")
}

// Write writes the document as JSON. Numbers that are none, such as NaN, are an error.
func (d *Document) Write(w io.Writer) error {
	e := stdjson.NewEncoder(w)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	if err := e.Encode(d); err != nil {
		return fmt.Errorf("write the state: %w", err)
	}
	return nil
}

// neverWord is the text of Never.
const neverWord = "Never"

// String is as its text.
func (s Span) String() string {
	if s == Never {
		return neverWord
	}
	return time.Duration(s).String()
}

// MarshalText writes Never, or a duration such as 30s.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads Never, or a duration that is not negative.
func (s *Span) UnmarshalText(text []byte) error {
	if string(text) == neverWord {
		*s = Never
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return fmt.Errorf("%q is no duration such as 30s, and not Never", clip(string(text)))
	}
	*s = Span(d)
	return nil
}
