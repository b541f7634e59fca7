//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// oddity is a request that no client writes.
type oddity struct {
	name, raw string // $HOST stands for the address
	// own is the status of the gateway where it is not Ironic's, and why. A gateway
	// that is an HTTP server of its own need not pass on what is no HTTP, and must
	// not pass on what the next one may read in another way.
	own int
	why string
}

// plainGET is a request for the version document with a head of one's own.
func plainGET(head string) string {
	return "GET /v1 HTTP/1.1\r\nHost: $HOST\r\n" + apiVersion + head + "\r\n"
}

const malformed = "RFC 9112: not a valid message"

var oddities = []oddity{
	{name: "line feeds only", raw: "GET /v1 HTTP/1.1\nHost: $HOST\n\n"},
	{name: "empty line before", raw: "\r\n" + plainGET(""), own: http.StatusBadRequest, why: "RFC 9112 2.2 only asks for tolerance"},
	{name: "HTTP/1.0", raw: "GET /v1 HTTP/1.0\r\nHost: $HOST\r\n\r\n"},
	{name: "HTTP/1.0 that wants to stay", raw: "GET /v1 HTTP/1.0\r\nHost: $HOST\r\nConnection: keep-alive\r\n\r\n"},
	{name: "absolute URL", raw: "GET http://$HOST/v1 HTTP/1.1\r\nHost: $HOST\r\n\r\n", own: http.StatusOK, why: "RFC 9112 3.2.2: a server must accept it; Ironic does not"},
	{name: "no slash", raw: "GET v1 HTTP/1.1\r\nHost: $HOST\r\n\r\n", own: http.StatusBadRequest, why: malformed},
	{name: "URL of another kind", raw: "GET x:v1 HTTP/1.1\r\nHost: $HOST\r\n\r\n", own: http.StatusBadRequest, why: malformed},
	{name: "per cent", raw: "GET /v1/drivers%zz HTTP/1.1\r\nHost: $HOST\r\n\r\n", own: http.StatusBadRequest, why: malformed},
	{name: "blank in the URL", raw: "GET /v1/x y HTTP/1.1\r\nHost: $HOST\r\n\r\n", own: http.StatusBadRequest, why: malformed},
	{name: "tabs", raw: "GET\t/v1\tHTTP/1.1\r\nHost: $HOST\r\n\r\n", own: http.StatusBadRequest, why: malformed},
	{name: "method of other letters", raw: "G(T /v1 HTTP/1.1\r\nHost: $HOST\r\n\r\n", own: http.StatusBadRequest, why: malformed},
	{name: "newer HTTP", raw: "GET /v1 HTTP/2.0\r\nHost: $HOST\r\n\r\n", own: http.StatusHTTPVersionNotSupported, why: "RFC 9110 15.6.6"},
	{name: "small letters", raw: "GET /v1 http/1.1\r\nHost: $HOST\r\n\r\n", own: http.StatusBadRequest, why: malformed},
	{name: "no host", raw: "GET /v1 HTTP/1.1\r\n\r\n", own: http.StatusBadRequest, why: "RFC 9112 3.2"},
	{name: "two hosts", raw: plainGET("Host: example.org\r\n"), own: http.StatusBadRequest, why: "RFC 9112 3.2"},
	{name: "expects nonsense", raw: plainGET("Expect: nonsense\r\n"), own: http.StatusExpectationFailed, why: "RFC 9110 10.1.1 allows it"},
	{name: "unknown coding", raw: plainGET("Transfer-Encoding: gzip, chunked\r\n") + "0\r\n\r\n", own: http.StatusNotImplemented, why: "RFC 9112 6.1"},
	{name: "two lengths", raw: plainGET("Content-Length: 0\r\nContent-Length: 1\r\n"), own: http.StatusBadRequest, why: "RFC 9112 6.3"},
	{name: "length with a sign", raw: plainGET("Content-Length: +0\r\n"), own: http.StatusBadRequest, why: "RFC 9112 6.3"},
	{name: "negative length", raw: plainGET("Content-Length: -1\r\n"), own: http.StatusBadRequest, why: "RFC 9112 6.3; Ironic's has no body"},
	{name: "blank before the colon", raw: plainGET("X-A : b\r\n"), own: http.StatusBadRequest, why: "RFC 9112 5.1"},
	{name: "no colon", raw: plainGET("nonsense\r\n"), own: http.StatusBadRequest, why: malformed},
	{name: "NUL in the head", raw: plainGET("X-A: \x00\r\n"), own: http.StatusBadRequest, why: malformed},
	{name: "folded", raw: plainGET("X-A: b\r\n c\r\n")},
	{name: "Latin-1 in the head", raw: plainGET("X-A: \xe9\r\n")},
	{name: "long URL", raw: "GET /v1?" + strings.Repeat("a", 9000) + " HTTP/1.1\r\nHost: $HOST\r\n\r\n"},
	{name: "long line in the head", raw: plainGET("X-A: " + strings.Repeat("a", 9000) + "\r\n")},
	{name: "many lines in the head", raw: plainGET(strings.Repeat("X-A: "+strings.Repeat("a", 100)+"\r\n", 80))},
	{name: "too many lines in the head", raw: plainGET(strings.Repeat("X-A: "+strings.Repeat("a", 100)+"\r\n", 300)), own: http.StatusRequestHeaderFieldsTooLarge, why: "Ironic's own answer, but for its words beside 431"},
	{name: "name of no node", raw: "PUT /v1/nodes/no%20such/states/provision/active HTTP/1.1\r\nHost: $HOST\r\n" + apiVersion + "\r\n", own: http.StatusBadRequest, why: "GW-7: the gate must know whose node it is"},
	{name: "large head", raw: plainGET(strings.Repeat("X-A: "+strings.Repeat("a", 1000)+"\r\n", 100)), own: http.StatusRequestHeaderFieldsTooLarge, why: "RFC 6585 5; Ironic says 400"},
	{name: "CONNECT", raw: "CONNECT $HOST HTTP/1.1\r\nHost: $HOST\r\n\r\n", own: http.StatusBadRequest, why: "no tunnels"},
	{name: "upgrade", raw: plainGET("Connection: Upgrade\r\nUpgrade: websocket\r\n")},
	{name: "trailers", raw: "GET /v1 HTTP/1.1\r\nHost: $HOST\r\nTransfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n1\r\nx\r\n0\r\nX-A: b\r\n\r\n"},
	{name: "one request after the other", raw: strings.Repeat(plainGET(""), 2)},
}

// odd compares what the two ways say to requests that no client writes.
func (s *sameness) odd(t *testing.T) {
	for _, o := range oddities {
		answer := func(from *side) response {
			defer from.hangUp()
			got := from.send(http.MethodGet, strings.ReplaceAll(o.raw, "$HOST", hostOf(from.url)))
			if o.name == "one request after the other" {
				got.Error = "" // the second answer is there already
			}
			return got
		}
		direct, through := answer(s.direct), answer(s.through)
		if o.own == 0 {
			s.compare(t, o.name, direct, through)
			continue
		}
		if !strings.HasPrefix(through.Status, fmt.Sprint(o.own)) {
			t.Errorf("%s: the gateway says %q, want %d (%s)", o.name, through.Status+through.Error, o.own, o.why)
		}
		if direct.Status == through.Status && direct.Body == through.Body {
			t.Errorf("%s: Ironic says the same, %s: no difference to allow for", o.name, direct.Status)
		}
		if testing.Verbose() {
			t.Logf("%-30s Ironic: %-40.40s gateway: %s", o.name, direct.Status+direct.Error, through.Status)
		}
	}
}
