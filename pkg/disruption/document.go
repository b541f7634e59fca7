package disruption

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
// Its error is that of r, or a *api.FieldError, which names the place.
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
	if err := json.Unmarshal(text, d, json.RejectUnknownMembers(true)); err != nil {
		return nil, placed(err)
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

// placed tells where in the document an error is.
func placed(err error) error {
	var field *jsontext.SyntacticError
	if errors.As(err, &field) {
		where := path(field.JSONPointer)
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return bad(where, "", "is there twice")
		}
		return bad(where, "", fmt.Sprintf("is no JSON at byte %d: %v", field.ByteOffset, field.Err))
	}
	var meaning *json.SemanticError
	if errors.As(err, &meaning) {
		where := path(meaning.JSONPointer)
		if errors.Is(err, json.ErrUnknownName) {
			return bad(where, "", "is not known")
		}
		rule := "is not what belongs here"
		if meaning.Err != nil {
			rule += ": " + clip(meaning.Err.Error())
		} else if meaning.GoType != nil {
			rule += ": " + kindWords(meaning)
		}
		return bad(where, string(meaning.JSONValue), rule)
	}
	return bad("document", "", "cannot be read: "+clip(err.Error()))
}

func kindWords(e *json.SemanticError) string {
	switch e.JSONKind {
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 't', 'f':
		return "true or false"
	}
	return "the value"
}

// path writes a JSON pointer as state.hosts[3].name.
func path(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		if _, err := strconv.Atoi(token); err == nil {
			b.WriteString("[" + token + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(clip(token))
	}
	if b.Len() == 0 {
		return "document"
	}
	return b.String()
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
