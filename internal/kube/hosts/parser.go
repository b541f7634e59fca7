package hosts

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// parser reads JSON value by value and keeps only what is asked for. It is made to be used
// again; its errors are those of text that is no JSON.
type parser struct {
	dec   *jsontext.Decoder
	fault error // the first field of another type than it should have
}

// lenient is what encoding/json lets pass.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

func newParser() *parser { return &parser{dec: jsontext.NewDecoder(bytes.NewReader(nil), lenient...)} }

func (p *parser) start(raw []byte) {
	p.dec.Reset(bytes.NewReader(raw), lenient...)
	p.fault = nil
}

func (p *parser) skip() error { return p.dec.SkipValue() }

// wrong skips a value that is not what it must be. Null is as good as absent.
func (p *parser) wrong(field, must string) error {
	if kind := p.dec.PeekKind(); kind != 'n' && p.fault == nil {
		p.fault = fieldFault(field, must, kind)
	}
	return p.skip()
}

// object calls take for each name of an object; take must read the value. The name is
// valid until it does.
func (p *parser) object(field string, take func(name []byte) error) error {
	if p.dec.PeekKind() != '{' {
		return p.wrong(field, "an object")
	}
	return eachField(p.dec, take)
}

// eachField reads an object, where one must be.
func eachField(dec *jsontext.Decoder, take func(name []byte) error) error {
	if err := expect(dec, '{'); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadValue()
		if err != nil {
			return err
		}
		// No name that we know is written with escapes: each is a plain text.
		if err := take(bytes.Trim(name, `"`)); err != nil {
			return err
		}
	}
	return expect(dec, '}')
}

func (p *parser) text(field string) (string, error) {
	if p.dec.PeekKind() != '"' {
		return "", p.wrong(field, "a text")
	}
	token, err := p.dec.ReadToken()
	if err != nil {
		return "", err
	}
	return token.String(), nil
}

// expect takes one delimiter.
func expect(dec *jsontext.Decoder, want jsontext.Kind) error {
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() != want {
		return fmt.Errorf("%v where %v must be", token.Kind(), want)
	}
	return nil
}

// there reports whether a value is anything but null.
func (p *parser) there() (bool, error) {
	kind := p.dec.PeekKind()
	return kind != 'n', p.skip()
}

// canonical returns a value in the one form that all texts of the same meaning share, and
// nothing for null.
func (p *parser) canonical() ([]byte, error) {
	value, err := p.dec.ReadValue()
	if err != nil || value.Kind() == 'n' {
		return nil, err
	}
	value = value.Clone()
	if err := value.Canonicalize(lenient...); err != nil {
		return value, nil //nolint:nilerr // a name that comes twice: the text as it is tells changes as well
	}
	return value, nil
}
