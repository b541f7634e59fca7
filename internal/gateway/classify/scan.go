package classify

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// scanObject finds every value of "target" at the top of a JSON object of any length, in little memory: a config drive
// before it may have 64 MiB. Each value counts, because some readers take the first of two equal keys, and Ironic the
// last.
//
// In every text that Ironic reads as an object, it finds all values, or makes c unsure. It need not refuse what is no
// JSON, because Ironic does. It returns only errors of r.
func scanObject(r io.Reader, c *candidates) error {
	text, err := io.ReadAll(io.LimitReader(&shorter{in: bufio.NewReaderSize(r, scanBuffer)}, maxScan+1))
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	token, err := decoder.Token()
	whole := err == nil && token == json.Delim('{') && len(text) <= maxScan
	for whole && decoder.More() {
		var value json.RawMessage
		if token, err = decoder.Token(); err == nil {
			err = decoder.Decode(&value)
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
	token, err = decoder.Token()
	whole = whole && err == nil && token == json.Delim('}')
	if _, err = decoder.Token(); !whole || !errors.Is(err, io.EOF) { // something follows the object
		c.unsure = true
	}
	return nil
}

// shorter passes JSON on without white space, and with long strings cut. A cut string is still too long for any key or
// target that matters.
type shorter struct {
	in      *bufio.Reader
	quoted  bool // within a string
	escaped bool // after a backslash in it
	long    int  // bytes of the string so far, with its first quote
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
			if s.escaped = true; s.long > maxText-escape { // the cut would split the escape
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
