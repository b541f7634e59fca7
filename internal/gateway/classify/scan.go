package classify

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// scanObject finds the values of "target" at the top of a JSON object of any length, in little memory: a config drive
// before it may have 64 MiB. Every one counts, wherever it stands, for of double keys some readers take the first and
// Ironic the last.
//
// It need not refuse what is no JSON, for Ironic does. But of every text that Ironic reads as an object it finds all
// values; what it cannot follow is unsure. An error is one of reading.
func scanObject(r io.Reader, c *candidates) error {
	text, err := io.ReadAll(io.LimitReader(&shorter{in: bufio.NewReaderSize(r, scanBuffer)}, maxScan+1))
	if err != nil {
		return err
	}
	in := json.NewDecoder(bytes.NewReader(text))
	token, err := in.Token()
	whole := err == nil && token == json.Delim('{') && len(text) <= maxScan
	for whole && in.More() {
		var value json.RawMessage
		if token, err = in.Token(); err == nil {
			err = in.Decode(&value)
		}
		key, _ := token.(string)
		var target string
		switch {
		case err != nil:
			whole = false
		case !strings.EqualFold(key, "target"):
		case value[0] == '"' && json.Unmarshal(value, &target) == nil:
			c.add(target)
		default:
			c.unsure = true
		}
	}
	token, err = in.Token()
	whole = whole && err == nil && token == json.Delim('}')
	if _, err = in.Token(); !whole || !errors.Is(err, io.EOF) { // or something follows
		c.unsure = true
	}
	return nil
}

// shorter passes JSON on without what takes room in it: of a string there is no more than its head, which is too long for
// any key or target that matters.
type shorter struct {
	in      *bufio.Reader
	quoted  bool // within a string
	escaped bool // behind a backslash in it
	long    int  // bytes of it, with its first quote
}

// Read implements io.Reader.
func (s *shorter) Read(p []byte) (n int, err error) {
	const escape = len(`\u0000`)
	for n < len(p) {
		b, err := s.in.ReadByte()
		if err != nil {
			return n, err
		}
		s.long++
		switch {
		case !s.quoted && strings.IndexByte(" \t\r\n", b) >= 0:
			continue
		case !s.quoted:
			s.quoted, s.long = b == '"', 1
		case s.escaped:
			s.escaped = false
		case b == '"':
			s.quoted = false
		case b == '\\':
			if s.escaped = true; s.long > maxText-escape { // it would be cut off within
				s.long = max(s.long, maxText+2)
			}
		}
		if !s.quoted || s.long <= maxText+1 {
			p[n] = b
			n++
		}
	}
	return n, nil
}
