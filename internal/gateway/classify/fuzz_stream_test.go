package classify_test

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
)

// message is a request as eventlet's WSGI server cuts it out of a connection.
type message struct {
	method, target string // target: as in the request line
	header         [][2]string
	body           []byte
	announced      int  // bytes of the body, by Content-Length
	short          bool // the connection ended before, or it may be refused for its many fields
	chunked        bool
}

// values are those of the fields with that name; a CGI variable makes no difference
// between _ and -.
func (m message) values(name string) (values []string) {
	want := variable(name)
	for _, field := range m.header {
		if variable(field[0]) == want {
			values = append(values, field[1])
		}
	}
	return values
}

func variable(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }

// exactly is values, but of the name with hyphens only.
func (m message) exactly(name string) (values []string) {
	for _, field := range m.header {
		if strings.EqualFold(field[0], name) {
			values = append(values, field[1])
		}
	}
	return values
}

// messagesOf reads what stands in a connection as eventlet/wsgi.py and Python's
// http/server.py do, to the place where they close it.
func messagesOf(stream []byte) []message {
	var all []message
	for {
		m, rest, ok := headOf(stream)
		if !ok {
			return all
		}
		stream = m.take(rest)
		all = append(all, m)
		if stream == nil || closes(m) {
			return all
		}
	}
}

func closes(m message) bool {
	connection := m.exactly("Connection")
	return len(connection) > 0 && strings.EqualFold(connection[0], "close")
}

// fieldLine is email.feedparser.headerRE, but for lines of the envelope.
var fieldLine = regexp.MustCompile(`^[\041-\071\073-\176]*:`)

var versionText = regexp.MustCompile(`^HTTP/[01]\.\d+$`)

func headOf(stream []byte) (m message, rest []byte, ok bool) {
	line, rest, found := bytes.Cut(stream, []byte("\n"))
	if !found || len(line) >= 8191 {
		return m, nil, false
	}
	words := pythonFields(string(line))
	switch {
	case len(words) == 2 && words[0] == "GET": // HTTP/0.9
		m.header = append(m.header, [2]string{"Connection", "close"})
	case len(words) != 3 || !versionText.MatchString(words[2]):
		return m, nil, false
	case words[2] != "HTTP/1.1":
		m.header = append(m.header, [2]string{"Connection", "close"})
	}
	m.method, m.target = words[0], words[1]
	for over := false; ; {
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		rest = after
		text := strings.TrimRight(string(line), "\r")
		switch {
		case text == "":
			m.short = len(m.header) > 99 // http.client._MAXHEADERS
			return m, rest, true         // or the connection is over
		case over:
		case (text[0] == ' ' || text[0] == '\t') && len(m.header) > 0:
			m.header[len(m.header)-1][1] += "\n" + text
		case fieldLine.MatchString(text):
			name, value, _ := strings.Cut(text, ":")
			m.header = append(m.header, [2]string{name, strings.TrimLeft(value, " \t")})
		default:
			over = true // for email.parser the body begins here
		}
	}
}

// pythonFields is str.split on Latin-1.
func pythonFields(s string) []string {
	var words []string
	word := []byte(nil)
	for _, b := range []byte(s) {
		switch {
		case b == ' ', b >= 0x09 && b <= 0x0d, b >= 0x1c && b <= 0x1f, b == 0x85, b == 0xa0:
			if word != nil {
				words = append(words, string(word))
			}
			word = nil
		default:
			word = append(word, b)
		}
	}
	if word != nil {
		words = append(words, string(word))
	}
	return words
}

// take reads the body and returns what comes after it; nil: the connection is of no
// more use.
func (m *message) take(rest []byte) []byte {
	if strings.EqualFold(strings.Join(m.values("Transfer-Encoding"), ","), "chunked") {
		m.chunked = true
		return m.takeChunks(rest)
	}
	lengths := m.exactly("Content-Length")
	if len(lengths) == 0 {
		return rest
	}
	n, err := strconv.Atoi(strings.TrimSpace(lengths[0]))
	if err != nil || n < 0 {
		m.method = "" // 400
		return nil
	}
	m.announced = n
	if n > len(rest) {
		m.short, m.body = true, rest
		return nil
	}
	m.body = rest[:n]
	return rest[n:]
}

func (m *message) takeChunks(rest []byte) []byte {
	for {
		line, after, found := bytes.Cut(rest, []byte("\n"))
		if !found {
			return nil
		}
		size, _, _ := strings.Cut(string(line), ";")
		n, err := strconv.ParseUint(strings.TrimSpace(size), 16, 31)
		if err != nil || int(n) > len(after) {
			return nil
		}
		m.body = append(m.body, after[:n]...)
		rest = after[n:]
		_, after, found = bytes.Cut(rest, []byte("\n")) // also after the last: one line of trailers is all it reads
		if !found {
			return nil
		}
		if rest = after; n == 0 {
			return rest
		}
	}
}
