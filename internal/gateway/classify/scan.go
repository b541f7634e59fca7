package classify

import (
	"bufio"
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
	in := &flat{in: bufio.NewReaderSize(r, scanBuffer)}
	if walk(json.NewDecoder(in), c) != nil {
		c.unsure = true
	}
	return in.failed
}

var errNotObject = errors.New("not one JSON object")

// walk reads a flat object to its end.
func walk(in *json.Decoder, c *candidates) error {
	if begin, err := in.Token(); err != nil || begin != json.Delim('{') {
		return errNotObject
	}
	for members := 0; ; members++ {
		key, err := in.Token()
		if err != nil {
			return err
		}
		if key == json.Delim('}') {
			break
		}
		value, err := in.Token()
		if err != nil {
			return err
		}
		if members == maxMembers {
			return errNotObject
		}
		if name, _ := key.(string); strings.EqualFold(name, "target") {
			text, ok := value.(string)
			c.unsure = c.unsure || !ok
			if ok {
				c.add(text)
			}
		}
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return errNotObject // something follows
	}
	return nil
}

// flat passes a JSON object on without what takes room in it: of a string there is no more than its head, which is too
// long for any key or target that matters, and 0 stands for every value that is no string, however deep it is.
type flat struct {
	in     *bufio.Reader
	failed error // of reading

	depth   int  // of brackets
	quoted  bool // within a string
	escaped bool // behind a backslash in it
	long    int  // bytes of it
	zero    bool // within what 0 stands for
}

// Read implements io.Reader.
func (f *flat) Read(p []byte) (int, error) {
	for {
		if _, err := f.in.Peek(1); err != nil {
			if !errors.Is(err, io.EOF) {
				f.failed = err
			}
			return 0, err
		}
		n, _ := f.in.Read(p) // what Peek has found
		kept := 0
		for _, b := range p[:n] {
			if b, ok := f.pass(b); ok {
				p[kept] = b
				kept++
			}
		}
		if kept > 0 {
			return kept, nil
		}
	}
}

// pass takes one byte, and returns what becomes of it.
func (f *flat) pass(b byte) (byte, bool) {
	if f.quoted {
		return b, f.inString(b) && f.depth <= 1
	}
	switch b {
	case ' ', '\t', '\r', '\n':
		f.zero = false
		return 0, false
	case '"':
		f.quoted, f.long, f.zero = true, 0, false
	case ',', ':':
		f.zero = false
	case '{', '[':
		f.zero = false
		if f.depth++; f.depth == 2 {
			return '0', true
		}
	case '}', ']':
		f.zero = false
		f.depth--
		return b, f.depth < 1
	default: // of a number, or a word
		again := f.zero
		f.zero = true
		return '0', f.depth <= 1 && !again
	}
	return b, f.depth <= 1
}

// inString takes one byte of a string, and reports whether it belongs to what is passed on.
func (f *flat) inString(b byte) bool {
	const escape = len(`\u0000`)
	f.long++
	switch {
	case f.escaped:
		f.escaped = false
	case b == '\\':
		f.escaped = true
		if f.long > maxText-escape { // it would be cut off within
			f.long = max(f.long, maxText+1)
		}
	case b == '"':
		f.quoted = false
		return true
	}
	return f.long <= maxText
}
