package fakeironic

import (
	"encoding/json"
	"fmt"
	"unicode/utf16"
)

// member is a name with its value: nil, a string, a bool, an int, JSON text, an object or a list.
type member struct {
	name  string
	value any
}

// object is a JSON object whose members keep their order.
type object []member

// list is a JSON array.
type list []any

// text returns s, or null for "".
func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// appendJSON writes a value as Python's json.dumps does: blanks after commas and colons, only ASCII, and no escapes for
// HTML.
func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case string:
		return appendString(b, v)
	case json.RawMessage:
		return append(b, v...)
	case object:
		b = append(b, '{')
		for i, m := range v {
			b = append(appendString(comma(b, i), m.name), ": "...)
			b = appendJSON(b, m.value)
		}
		return append(b, '}')
	case list:
		b = append(b, '[')
		for i, e := range v {
			b = appendJSON(comma(b, i), e)
		}
		return append(b, ']')
	}
	return fmt.Append(b, v)
}

func comma(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ", "...)
	}
	return b
}

func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r >= ' ' && r <= 0x7f:
			b = append(b, byte(r))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return append(b, '"')
}
