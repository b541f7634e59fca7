package classify_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// How Python reads texts.

// unquote is urllib.parse.unquote in Latin-1, and WebOb's: what is no escape stays.
func unquote(s string) string {
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if b, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(b))
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}

// pairsOf reads a query or a form. WebOb parts a query at semicolons too, and so did
// Python's forms until 2021.
func pairsOf(text string) (pairs [][2]string) {
	for pair := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == '&' || c == ';' }) {
		key, value, _ := strings.Cut(strings.ReplaceAll(pair, "+", " "), "=")
		pairs = append(pairs, [2]string{unquote(key), unquote(value)})
	}
	return pairs
}

// charsetOf is WebOb's CHARSET_RE and detect_charset: it finds a charset anywhere.
var charsetOf = regexp.MustCompile(`(?i);\s*charset=([^;]*)`)

// jsonPairs reads the members of an object (webob/request.py: json_body, by
// simplejson). A body that is no JSON object is ignored, as if it were not there.
// Not known: the text may say something else to Ironic.
func jsonPairs(kind string, body []byte) (pairs [][2]string, known bool) {
	charset := "utf-8"
	if found := charsetOf.FindStringSubmatch(kind); found != nil {
		charset = strings.ToLower(strings.TrimSpace(strings.Trim(found[1], `"`)))
	}
	anything := [][2]string{{unknowable, unknowable}}
	switch charset {
	case "utf-8", "utf8", "utf_8":
	case "ascii", "us-ascii":
		if bytes.ContainsFunc(body, func(c rune) bool { return c >= utf8.RuneSelf }) {
			return nil, false
		}
	case "utf-16", "utf-16le":
		body = fromUTF16(body)
	default:
		if len(body) == 0 {
			return nil, true
		}
		return anything, false
	}
	if !utf8.Valid(body) {
		return nil, false
	}
	body = bytes.TrimPrefix(bytes.TrimPrefix(body, []byte("\ufeff")), []byte("\u00ef\u00bb\u00bf"))
	if known = json.Valid(body); !known {
		body = withoutWords(body)
	}
	in := json.NewDecoder(bytes.NewReader(body))
	if start, err := in.Token(); err != nil || start != json.Delim('{') || !json.Valid(body) {
		return nil, len(body) == 0
	}
	for in.More() {
		key, err := in.Token()
		if err != nil {
			return anything, false
		}
		var value any
		if in.Decode(&value) != nil {
			return anything, false
		}
		text, isText := value.(string)
		if !isText {
			text = unknowable
		}
		pairs = append(pairs, [2]string{key.(string), text})
	}
	return pairs, known
}

// withoutWords replaces NaN and Infinity, which Python reads, where no string is.
func withoutWords(text []byte) []byte {
	strings := regexp.MustCompile(`"(\\.|[^"\\])*"|-?(NaN|Infinity)`)
	return strings.ReplaceAllFunc(text, func(found []byte) []byte {
		if found[0] == '"' {
			return found
		}
		return []byte("null")
	})
}

func fromUTF16(body []byte) []byte {
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case bytes.HasPrefix(body, []byte{0xff, 0xfe}):
		body = body[2:]
	case bytes.HasPrefix(body, []byte{0xfe, 0xff}):
		body, order = body[2:], binary.BigEndian
	}
	if len(body)%2 != 0 {
		return []byte{0xff} // Python refuses it
	}
	units := make([]uint16, len(body)/2)
	for i := range units {
		units[i] = order.Uint16(body[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}
