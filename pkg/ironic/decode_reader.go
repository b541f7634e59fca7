package ironic

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// reader takes an answer in value by value, in one pass. What its methods return as
// bytes is valid until the next call.
type reader struct {
	dec   *jsontext.Decoder
	meter *meter
	plain []byte            // room for a text without its escapes
	words map[string]string // texts that many rows share, kept once
}

// maxWords bounds the words of a reader: nobody needs to say more different ones.
const maxWords = 1024

func newReader(r io.Reader) *reader {
	m := &meter{from: r, left: maxValueBytes}
	return &reader{
		meter: m,
		// What is allowed here is what encoding/json lets pass: bytes that are no UTF-8
		// become U+FFFD.
		dec:   jsontext.NewDecoder(m, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
		words: map[string]string{},
	}
}

// meter bounds what is read for one value of an answer: it is in memory as a whole.
type meter struct {
	from io.Reader
	left int
}

var errLongValue = fmt.Errorf("one value is longer than %d bytes", maxValueBytes)

// Read implements io.Reader.
func (m *meter) Read(p []byte) (int, error) {
	if m.left <= 0 {
		return 0, errLongValue
	}
	n, err := m.from.Read(p[:min(len(p), m.left)])
	m.left -= n
	return n, err
}

// next begins a value of its own.
func (m *meter) next() { m.left = maxValueBytes }

// expect takes one delimiter.
func (in *reader) expect(want jsontext.Kind) error {
	token, err := in.dec.ReadToken()
	if err != nil {
		return torn(err)
	}
	if token.Kind() != want {
		return fmt.Errorf("%v where %v must be", token.Kind(), want)
	}
	return nil
}

// more reports whether something comes before the delimiter end. It is true as well
// before an error, which the next call returns.
func (in *reader) more(end jsontext.Kind) bool { return in.dec.PeekKind() != end }

// skip passes over a value. Of a list or an object, however long, nothing is held but the
// longest value in it.
func (in *reader) skip() error {
	if kind := in.dec.PeekKind(); kind != '[' && kind != '{' {
		return in.dec.SkipValue()
	}
	for depth := in.dec.StackDepth(); ; {
		in.meter.next()
		if _, err := in.dec.ReadToken(); err != nil {
			return err
		}
		if in.dec.StackDepth() == depth {
			return nil
		}
	}
}

// end takes the brace that closes the answer.
func (in *reader) end() error {
	if err := in.expect('}'); err != nil {
		return err
	}
	return in.nothing()
}

// nothing checks that nothing follows.
func (in *reader) nothing() error {
	_, err := in.dec.ReadToken()
	if err == nil {
		return errors.New("something follows the JSON")
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// name takes the name of the next field of an object. Where it holds bytes that are no
// UTF-8 they stay: no name that we know has any.
func (in *reader) name() ([]byte, error) {
	in.meter.next()
	raw, err := in.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], nil
	}
	return in.unquote(raw), nil
}

// text takes a value and returns it cut to at most limit bytes when it is a text, and
// else nothing.
func (in *reader) text(limit int) ([]byte, error) {
	if kind := in.dec.PeekKind(); kind == '{' || kind == '[' {
		return nil, in.skip()
	}
	raw, err := in.dec.ReadValue()
	if err != nil || raw[0] != '"' {
		return nil, err
	}
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return visible(cut(raw[1:len(raw)-1], limit)), nil
	}
	return visible(cut(in.unquote(raw), limit)), nil
}

// visible is a text with a blank for every character that cannot be printed: names, groups and
// errors end up in logs, in terminals and in metrics, where such a one would do something.
func visible(text []byte) []byte {
	for _, c := range text {
		if c < ' ' || c > '~' {
			return bytes.Map(func(r rune) rune {
				if unicode.IsPrint(r) {
					return r
				}
				return ' '
			}, text)
		}
	}
	return text
}

// unquote returns a JSON string without quotes and escapes.
func (in *reader) unquote(raw jsontext.Value) []byte {
	in.plain, _ = jsontext.AppendUnquote(in.plain[:0], raw) // the error tells what became U+FFFD
	return in.plain
}

// str takes a text to keep into s.
func (in *reader) str(s *string, limit int) error {
	text, err := in.text(limit)
	*s = string(text)
	return err
}

// word takes a text that other rows have as well into s.
func (in *reader) word(s *string) error {
	text, err := in.text(maxTextLen)
	if known, ok := in.words[string(text)]; ok {
		*s = known
		return err
	}
	*s = string(text)
	if len(in.words) < maxWords {
		in.words[*s] = *s
	}
	return err
}

// truth takes a value and reports whether it is true.
func (in *reader) truth() (bool, error) {
	kind := in.dec.PeekKind()
	return kind == 't', in.skip()
}

// some takes a value and reports whether it is anything but null.
func (in *reader) some() (bool, error) {
	kind := in.dec.PeekKind()
	return kind != 'n', in.skip()
}

// object takes a value; when it is an object, field is called for each name and takes
// the value that belongs to it.
func (in *reader) object(field func(name []byte) error) error {
	if in.dec.PeekKind() != '{' {
		return in.skip()
	}
	if err := in.expect('{'); err != nil {
		return err
	}
	for in.more('}') {
		name, err := in.name()
		if err != nil {
			return err
		}
		if err := field(name); err != nil {
			return err
		}
	}
	return in.expect('}')
}
