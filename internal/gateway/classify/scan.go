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
	from := &flat{in: bufio.NewReaderSize(r, scanBuffer)}
	in := json.NewDecoder(from)
	token, err := in.Token()
	for members := 0; err == nil && (members > 0 || token == json.Delim('{')); members++ {
		if token, err = in.Token(); err != nil || token == json.Delim('}') {
			break
		}
		key, _ := token.(string)
		if token, err = in.Token(); err != nil || members == maxMembers {
			break
		}
		if !strings.EqualFold(key, "target") {
			continue
		}
		if text, ok := token.(string); ok {
			c.add(text)
		} else {
			c.unsure = true
		}
	}
	whole := err == nil && token == json.Delim('}')
	if _, err = in.Token(); !whole || !errors.Is(err, io.EOF) { // or something follows
		c.unsure = true
	}
	return from.failed
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
	const escape = len(`\u0000`)
	top := f.depth <= 1
	if f.quoted {
		f.long++
		switch {
		case f.escaped:
			f.escaped = false
		case b == '\\':
			if f.escaped = true; f.long > maxText-escape { // it would be cut off within
				f.long = max(f.long, maxText+1)
			}
		case b == '"':
			f.quoted = false
			return b, top
		}
		return b, top && f.long <= maxText
	}
	again := f.zero
	f.zero = false
	switch b {
	case ' ', '\t', '\r', '\n':
		return 0, false
	case '"':
		f.quoted, f.long = true, 0
	case ',', ':':
	case '{', '[':
		if f.depth++; f.depth == 2 {
			return '0', true
		}
		return b, f.depth < 2
	case '}', ']':
		f.depth--
		return b, f.depth < 1
	default: // of a number, or a word
		f.zero = true
		return '0', top && !again
	}
	return b, top
}
