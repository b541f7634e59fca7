//go:build e2e

package e2e

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// step is one request, sent on both ways to the same Ironic. In it, @ stands for
// eight digits and !! for two that only this side uses, so that each side makes
// nodes of its own that are otherwise alike.
type step struct {
	line    string // method and path
	head    []string
	version string // of the API; "" = 1.82, "none" = no header
	body    string
	chunked bool
	await   string // no request: wait until this node rests, see rest
	rest    string // in this state
}

// do is an ordinary step.
func do(line string, options ...func(*step)) step {
	s := step{line: line}
	for _, o := range options {
		o(&s)
	}
	return s
}

// rests waits for the end of work on a node.
func rests(node, state string) step { return step{await: node, rest: state} }

func sending(body string) func(*step) { return func(s *step) { s.body = body } }

func inChunks(body string) func(*step) {
	return func(s *step) { s.body, s.chunked = body, true }
}

func with(headers ...string) func(*step) { return func(s *step) { s.head = headers } }

func at(version string) func(*step) { return func(s *step) { s.version = version } }

// side is one way to Ironic. Its connection stays open from one request to the
// next, as with a client.
type side struct {
	*testing.T
	name, url, mark string
	trust           *tls.Config // for TLS, else nil
	conn            net.Conn
	in              *bufio.Reader
}

func (s *side) dial() (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 30 * time.Second}
	if s.trust != nil {
		return tls.DialWithDialer(dialer, "tcp", hostOf(s.url), s.trust)
	}
	return dialer.Dial("tcp", hostOf(s.url))
}

func (s *side) fill(text string) string {
	return strings.NewReplacer("@", s.mark, "!!", s.mark[:2]).Replace(text)
}

// message is the request of a step as bytes.
func (s *side) message(st step) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s HTTP/1.1\r\n", s.fill(st.line))
	names := map[string]bool{}
	for _, line := range st.head {
		name, _, _ := strings.Cut(line, ":")
		names[http.CanonicalHeaderKey(name)] = true
		b.WriteString(s.fill(line) + "\r\n")
	}
	if !names["Host"] {
		b.WriteString("Host: " + hostOf(s.url) + "\r\n")
	}
	switch st.version {
	case "":
		b.WriteString(apiVersion)
	case "none":
	default:
		b.WriteString("X-OpenStack-Ironic-API-Version: " + st.version + "\r\n")
	}
	body := s.fill(st.body)
	if body != "" && !names["Content-Type"] {
		b.WriteString("Content-Type: application/json\r\n")
	}
	switch {
	case st.chunked:
		fmt.Fprintf(&b, "Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	case body != "":
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body), body)
	default:
		b.WriteString("\r\n")
	}
	return b.String()
}

// response is an answer without what may differ from one time to the next.
type response struct {
	Status string
	Header map[string][]string
	Body   string
	Error  string // no answer, or one that cannot be read
}

// hop are the headers that belong to one connection, or to the moment.
var hop = []string{"Connection", "Keep-Alive", "Transfer-Encoding", "Date"}

// moment is what Ironic's bodies tell of their time and place.
var moment = []struct {
	found *regexp.Regexp
	plain string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00)?`), "TIME"},
	{regexp.MustCompile(`object at 0x[0-9a-f]+`), "object at ADDRESS"},
	{regexp.MustCompile(`record for node \d+ could`), "record for node NUMBER could"},
}

var requestID = regexp.MustCompile(`^req-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// send sends bytes and reads the answer to them.
func (s *side) send(method, message string) response {
	const patience = 30 * time.Second
	if s.conn == nil {
		conn, err := s.dial()
		if err != nil {
			s.Fatal(err)
		}
		s.conn, s.in = conn, bufio.NewReader(conn)
	}
	_ = s.conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(s.conn, message); err != nil {
		s.hangUp()
		return response{Error: err.Error()}
	}
	resp, err := http.ReadResponse(s.in, &http.Request{Method: method})
	for err == nil && resp.StatusCode == http.StatusContinue {
		resp, err = http.ReadResponse(s.in, &http.Request{Method: method})
	}
	if err != nil {
		s.hangUp()
		return response{Error: err.Error()}
	}
	body, err := io.ReadAll(resp.Body)
	got := s.plain(resp, string(body))
	if err != nil {
		got.Error = err.Error()
	}
	if n := s.in.Buffered(); n > 0 {
		got.Error = fmt.Sprintf("%d bytes after the answer", n)
	}
	if resp.Close || got.Error != "" {
		s.hangUp()
	}
	return got
}

func (s *side) hangUp() {
	if s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
}

// general writes @ and HOST where a text has what only this side has, and hides what
// tells of its moment.
func (s *side) general(text string) string {
	text = strings.ReplaceAll(text, hostOf(s.url), "HOST")
	text = strings.ReplaceAll(text, "52:54:00:"+s.mark[:2], "52:54:00:!!")
	text = strings.ReplaceAll(text, s.mark, "@@@@@@@@")
	for _, r := range moment {
		text = r.found.ReplaceAllString(text, r.plain)
	}
	return text
}

// plain takes out what may differ.
func (s *side) plain(resp *http.Response, body string) response {
	header := map[string][]string{}
	for name, values := range resp.Header {
		if slices.Contains(hop, name) {
			continue
		}
		for _, v := range values {
			if name == "Openstack-Request-Id" && requestID.MatchString(v) {
				v = "req-ID"
			}
			header[name] = append(header[name], s.general(v))
		}
	}
	if resp.StatusCode == http.StatusNoContent {
		delete(header, "Content-Length") // Ironic sends one, which RFC 9110 8.6 forbids; Go's server does not
	}
	return response{Status: resp.Status, Header: header, Body: s.general(body)}
}

// sameness compares two ways to the same Ironic.
type sameness struct {
	*lab
	direct, through *side
}

func newSameness(l *lab, g *gateway) *sameness {
	s := &sameness{l, &side{T: l.T, name: "direct", url: l.ironic.URL, mark: "10101010"}, &side{T: l.T, name: "gateway", url: g.url, mark: "20202020"}}
	l.Cleanup(func() { s.direct.hangUp(); s.through.hangUp() })
	return s
}

// run sends steps one after the other on both ways.
func (s *sameness) run(name string, steps []step) {
	s.Run(name, func(t *testing.T) {
		for _, st := range steps {
			s.step(t, st)
		}
	})
}

func (s *sameness) step(t *testing.T, st step) {
	t.Helper()
	if st.await != "" {
		for _, side := range []*side{s.direct, s.through} {
			side.T = t
			side.awaitRest(s.lab, st)
		}
		return
	}
	method, _, _ := strings.Cut(st.line, " ")
	want := s.direct.send(method, s.direct.message(st))
	got := s.through.send(method, s.through.message(st))
	s.compare(t, st.line, want, got)
}

// compare demands equal answers, and that none leads round the gateway.
func (s *sameness) compare(t *testing.T, what string, want, got response) {
	t.Helper()
	what = what[:min(len(what), 200)]
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n(-direct +gateway):\n%.3000s", what, diff)
	}
	if strings.Contains(fmt.Sprint(got), hostOf(s.direct.url)) {
		t.Errorf("%s: the answer through the gateway names Ironic's own address:\n%.3000v", what, got)
	}
	if testing.Verbose() {
		t.Logf("%-70s %s %.80q", what, want.Status+want.Error, want.Body)
	}
}

// awaitRest waits until a node of this side is in a state and unlocked.
func (s *side) awaitRest(l *lab, st step) {
	s.Helper()
	node, last := s.fill(st.await), ""
	poll(s.T, node+" in "+st.rest, func() bool {
		row := l.query("SELECT provision_state, reservation IS NULL AND target_power_state IS NULL FROM nodes WHERE uuid = '" + node + "';")
		last = row[0]
		return last == st.rest+"|1"
	}, func() string { return last })
}
