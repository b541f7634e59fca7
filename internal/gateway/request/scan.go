package request

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// scanObject finds the values of a key at the top of a JSON object of any length,
// in little memory: a config drive before it may have 64 MiB (GW-8). Every one
// counts, wherever it stands, for of double keys some readers take the first and
// Ironic the last.
//
// It need not refuse what is no JSON, for Ironic does. But of every text that Ironic
// reads as an object it finds all values; what it cannot follow is unsure. An error
// is one of reading.
func scanObject(r io.Reader, key string, c *candidates) error {
	s := scanner{in: bufio.NewReaderSize(r, scanBuffer), key: []byte(key), found: c}
	err := s.object()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, errNotJSON):
		c.unsure = true
		return nil
	}
	return err
}

// scanner walks over JSON byte by byte. Outside of strings it only counts brackets.
type scanner struct {
	in    *bufio.Reader
	key   []byte // in any case of letters
	found *candidates
	buf   []byte // of text
}

var errNotJSON = errors.New("not a JSON object")

// object walks over { "key": value, … } at the top.
func (s *scanner) object() error {
	b, err := s.next()
	if err != nil {
		return err
	}
	if b != '{' {
		return errNotJSON
	}
	if b, err = s.next(); err != nil {
		return err
	}
	for members := 0; b != '}'; members++ {
		if b != '"' || members == maxMembers {
			return errNotJSON
		}
		if b, err = s.member(); err != nil {
			return err
		}
		if b != ',' {
			continue
		}
		if b, err = s.next(); err != nil {
			return err
		}
	}
	if _, err = s.next(); !errors.Is(err, io.EOF) {
		return errors.Join(errNotJSON, err) // something follows
	}
	return nil
}

// member walks over a key, of which the quote was read, and its value. It returns
// the byte after it, a comma or the end of the object.
func (s *scanner) member() (byte, error) {
	key, err := s.text()
	if err != nil {
		return 0, err
	}
	wanted := bytes.EqualFold(key, s.key)
	b, err := s.next()
	if err != nil {
		return 0, err
	}
	if b != ':' {
		return 0, errNotJSON
	}
	if b, err = s.next(); err != nil {
		return 0, err
	}
	if b == '"' && wanted {
		value, err := s.text()
		if err != nil {
			return 0, err
		}
		s.found.add(string(value))
		return s.end()
	}
	if wanted {
		s.found.unsure = true // it is no string
	}
	return s.skip(b)
}

// end returns the byte after a value.
func (s *scanner) end() (byte, error) {
	b, err := s.next()
	if err == nil && b != ',' && b != '}' {
		err = errNotJSON
	}
	return b, err
}

// skip walks over a value that begins with b, and returns the byte after it.
func (s *scanner) skip(b byte) (byte, error) {
	depth := 0
	for {
		switch b {
		case '"':
			if err := s.walk(nil); err != nil {
				return 0, err
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 && b == '}' {
				return b, nil // after a number or a word
			}
			depth--
		case ',':
			if depth == 0 {
				return b, nil
			}
		}
		if depth < 0 {
			return 0, errNotJSON
		}
		var err error
		if b, err = s.next(); err != nil {
			return 0, err
		}
	}
}

// text returns a string, of which the quote was read; one that is too long for any
// key or target that matters is returned as something that is none. It is good until
// the next call.
func (s *scanner) text() ([]byte, error) {
	s.buf = append(s.buf[:0], '"')
	if err := s.walk(&s.buf); err != nil {
		return nil, err
	}
	if len(s.buf) > maxText {
		return []byte("(long)"), nil
	}
	if bytes.IndexByte(s.buf, '\\') < 0 {
		return s.buf[1 : len(s.buf)-1], nil
	}
	var text string
	if json.Unmarshal(s.buf, &text) != nil {
		return nil, errNotJSON
	}
	return []byte(text), nil
}

// walk goes to the end of a string and keeps its head, where keep is not nil.
func (s *scanner) walk(keep *[]byte) error {
	for escaped := false; ; {
		if _, err := s.in.Peek(1); err != nil {
			return err
		}
		chunk, _ := s.in.Peek(s.in.Buffered())
		used, closed := 0, false
		for _, b := range chunk {
			used++
			switch {
			case escaped:
				escaped = false
			case b == '\\':
				escaped = true
			case b == '"':
				closed = true
			}
			if closed {
				break
			}
		}
		if keep != nil && len(*keep) <= maxText {
			*keep = append(*keep, chunk[:min(used, maxText)]...)
		}
		if _, err := s.in.Discard(used); err != nil || closed {
			return err
		}
	}
}

// next returns the next byte that is no white space.
func (s *scanner) next() (byte, error) {
	for {
		b, err := s.in.ReadByte()
		if err != nil {
			return 0, err
		}
		switch b {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return b, nil
	}
}
