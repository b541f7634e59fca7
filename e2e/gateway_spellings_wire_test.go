//go:build e2e

package e2e

import (
	"fmt"
	"strings"
)

// apiVersion is the line that every request to Ironic needs.
const apiVersion = "X-OpenStack-Ironic-API-Version: 1.82\r\n"

// putInPath needs no body.
const putInPath = putNode + "/inspect"

// bare is a request whose first line is written out; the head is as short as can be.
func bare(name, first string) spelling {
	return spelling{name: name, write: verbatim(first + "\r\nHost: $HOST\r\n" + apiVersion + "Connection: close\r\n\r\n")}
}

// lineSpellings are first lines that no client writes.
var lineSpellings = []spelling{
	bare("absolute URL", "PUT http://$HOST/v1/nodes/$ID/states/provision/inspect HTTP/1.1"),
	bare("absolute URL of another host", "PUT http://example.org/v1/nodes/$ID/states/provision/inspect HTTP/1.1"),
	bare("absolute URL, TLS", "PUT https://$HOST/v1/nodes/$ID/states/provision/inspect HTTP/1.1"),
	bare("URL without a host", "PUT http:/v1/nodes/$ID/states/provision/inspect HTTP/1.1"),
	bare("URL of another kind", "PUT x:/v1/nodes/$ID/states/provision/inspect HTTP/1.1"),
	bare("opaque URL", "PUT x:v1/nodes/$ID/states/provision/inspect HTTP/1.1"),
	bare("no slash", "PUT v1/nodes/$ID/states/provision/inspect HTTP/1.1"),
	bare("anything before the slash", "PUT xx/v1/nodes/$ID/states/provision/inspect HTTP/1.1"),
	bare("star", "PUT */v1/nodes/$ID/states/provision/inspect HTTP/1.1"),
	bare("two blanks", "PUT  /v1/nodes/$ID/states/provision/inspect  HTTP/1.1"),
	bare("tabs", "PUT\t/v1/nodes/$ID/states/provision/inspect\tHTTP/1.1"),
	bare("blanks of Latin-1", "PUT\xa0/v1/nodes/$ID/states/provision/inspect\x85HTTP/1.1"),
	bare("blank before", " PUT /v1/nodes/$ID/states/provision/inspect HTTP/1.1"),
	bare("form feed", "PUT /v1/nodes/$ID/states/provision/inspect\x0cHTTP/1.1"),
	bare("HTTP/1.0", "PUT /v1/nodes/$ID/states/provision/inspect HTTP/1.0"),
	bare("HTTP/1.2", "PUT /v1/nodes/$ID/states/provision/inspect HTTP/1.2"),
	bare("HTTP/2.0", "PUT /v1/nodes/$ID/states/provision/inspect HTTP/2.0"),
	bare("HTTP/01.01", "PUT /v1/nodes/$ID/states/provision/inspect HTTP/01.01"),
	bare("http/1.1", "PUT /v1/nodes/$ID/states/provision/inspect http/1.1"),
	bare("no version", "PUT /v1/nodes/$ID/states/provision/inspect"),
	bare("CONNECT", "CONNECT $HOST HTTP/1.1\r\n\r\nPUT /v1/nodes/$ID/states/provision/inspect HTTP/1.1"),
	bare("empty lines before", "\r\n\r\nPUT /v1/nodes/$ID/states/provision/inspect HTTP/1.1"),
	bare("raw UTF-8 in the query", putInPath+"?\xc3\xa9 HTTP/1.1"),
	{name: "no host", write: verbatim(putInPath + " HTTP/1.1\r\n" + apiVersion + "Connection: close\r\n\r\n")},
	{name: "two hosts", write: verbatim(putInPath + " HTTP/1.1\r\nHost: $HOST\r\nHost: example.org\r\n" + apiVersion + "Connection: close\r\n\r\n")},
	{name: "line feeds only", write: verbatim(putInPath + " HTTP/1.1\nHost: $HOST\n" + strings.TrimSpace(apiVersion) + "\nConnection: close\n\n")},
	{name: "carriage returns only", write: verbatim(putInPath + " HTTP/1.1\rHost: $HOST\r" + strings.TrimSpace(apiVersion) + "\rConnection: close\r\r")},
}

// headed is a canonical request with more lines in its head.
func headed(name string, more ...string) spelling {
	return spelling{name: name, write: request(putNode, asJSON, inspect, more...)}
}

// headSpellings are told by a head that somebody on the way might believe.
var headSpellings = []spelling{
	headed("original URL", "X-Original-URL: /v1", "X-Rewrite-URL: /v1"),
	headed("forwarded", "X-Forwarded-Prefix: /x", "X-Forwarded-Host: example.org", "Forwarded: for=127.0.0.1;host=example.org"),
	headed("script name", "Script-Name: /x", "Path-Info: /v1", "Request-Method: GET"),
	headed("method override", "X-HTTP-Method-Override: GET", "X-HTTP-Method: GET"),
	headed("who asks", "X-Ironic-Throttle-Reason: granted", "X-Real-IP: 127.0.0.1", "X-Forwarded-For: 127.0.0.1"),
	headed("upgrade to HTTP/2", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"),
	headed("upgrade to anything", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="),
	headed("hop by hop", "Connection: content-length, host, transfer-encoding, authorization, expect"),
	headed("expect", "Expect: 100-continue"),
	headed("expect two", "Expect: 100-continue, x"),
	headed("expect nonsense", "Expect: nonsense"),
	headed("folded", "X-A: b\r\n c"),
	headed("blank before the colon", "X-A : b"),
	headed("no colon", "nonsense"),
	headed("NUL", "X-A: \x00"),
	headed("old version", "X-OpenStack-Ironic-API-Version: 1.1"),
	headed("version with underscores", "X_OpenStack_Ironic_API_Version: 1.1"),
	headed("long head", "X-A: "+strings.Repeat("a", 8000)),
	headed("longer head", "X-A: "+strings.Repeat("a", 30000)),
	headed("trailers", "Trailer: X-A", "TE: trailers"),
}

// sized is a canonical request whose head tells its length in its own way.
func sized(name, head, body string) spelling {
	return spelling{name: name, write: verbatim(putNode + " HTTP/1.1\r\nHost: $HOST\r\n" + apiVersion +
		"Connection: close\r\nContent-Type: application/json\r\n" + head + "\r\n\r\n" + body)}
}

const chunkedInspect = "14\r\n" + inspect + "\r\n0\r\n\r\n"

// lengthSpellings are of two minds about where the body ends.
var lengthSpellings = []spelling{
	sized("chunks", "Transfer-Encoding: chunked", chunkedInspect),
	sized("chunks of a byte", "Transfer-Encoding: chunked", chunksOfAByte(inspect)),
	sized("chunks with extensions", "Transfer-Encoding: chunked", "14;x=\"\r\n"+inspect+"\r\n0;y\r\n\r\n"),
	sized("chunks and a length", "Content-Length: 20\r\nTransfer-Encoding: chunked", chunkedInspect),
	sized("chunks and another length", "Transfer-Encoding: chunked\r\nContent-Length: 5", chunkedInspect),
	sized("chunks with trailers", "Trailer: Content-Type\r\nTransfer-Encoding: chunked", "14\r\n"+inspect+"\r\n0\r\nContent-Type: text/plain\r\n\r\n"),
	sized("chunks of another kind", "Content-Length: 20\r\nTransfer-Encoding: xchunked", inspect),
	sized("chunks, identity", "Content-Length: 20\r\nTransfer-Encoding: identity", inspect),
	sized("chunks, list", "Content-Length: 20\r\nTransfer-Encoding: identity, chunked", inspect),
	sized("chunks, told twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", chunkedInspect),
	sized("chunks, twice in one line", "Transfer-Encoding: chunked, chunked", chunkedInspect),
	sized("chunks, blank before the colon", "Content-Length: 20\r\nTransfer-Encoding : chunked", inspect),
	sized("chunks, tab", "Content-Length: 20\r\nTransfer-Encoding:\tchunked", inspect),
	sized("chunks, underscore", "Content-Length: 20\r\nTransfer_Encoding: chunked", inspect),
	sized("chunks, underscore, in chunks", "Content-Length: 31\r\nTransfer_Encoding: chunked", chunkedInspect),
	sized("the same length twice", "Content-Length: 20\r\nContent-Length: 20", inspect),
	sized("two lengths", "Content-Length: 20\r\nContent-Length: 5", inspect),
	sized("length in a list", "Content-Length: 20, 20", inspect),
	sized("length with a sign", "Content-Length: +20", inspect),
	sized("length of Python", "Content-Length: 2_0", inspect),
	sized("length with zeros", "Content-Length: 0020", inspect),
	sized("length with a blank", "Content-Length:  20 ", inspect),
	sized("negative length", "Content-Length: -1", inspect),
	sized("length too short", "Content-Length: 18", `{"target":"abort"}`+inspect),
	sized("no length", "X-A: b", inspect),
	{name: "length too long", half: true, write: sized("", "Content-Length: 1000", inspect).write},
}

func chunksOfAByte(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, "1\r\n%c\r\n", c)
	}
	return b.String() + "0\r\n\r\n"
}

// behind hides a whole request behind another one, in what its head makes of n, the
// number of bytes hidden, and the words before them.
func behind(name, first, head, words string) spelling {
	smuggled := strings.Contains(strings.ToLower(head), "transfer_encoding")
	return spelling{name: name, smuggled: smuggled, write: func(t to) string {
		hidden := t.fill(words) + request(putNode, asJSON, inspect)(t)
		more := strings.ReplaceAll(head, "$N", fmt.Sprint(len(hidden)))
		return t.fill(first) + " HTTP/1.1\r\nHost: " + t.host + "\r\n" + apiVersion + more + "\r\n\r\n" + hidden
	}}
}

const abortNode = `{"target":"abort"}`

// hiddenSpellings send the request as a part of another one that nobody gates.
var hiddenSpellings = []spelling{
	behind("after a GET", "GET /v1", "X-A: b", ""),
	behind("after a PUT that starts nothing", putNode, "Content-Type: application/json\r\nContent-Length: 18", abortNode),
	behind("after chunks", "POST /v1/nodes", "Transfer-Encoding: chunked", "2\r\n{}\r\n0\r\n\r\n"),
	behind("in the body of a GET", "GET /v1/drivers", "Content-Length: $N", ""),
	behind("in the body of a HEAD", "HEAD /v1/drivers", "Content-Length: $N", ""),
	behind("in the body of a DELETE", "DELETE /v1/nodes/nobody", "Content-Length: $N", ""),
	behind("in a body that is waited for", "GET /v1/drivers", "Expect: 100-continue\r\nContent-Length: $N", ""),
	behind("in a body of an old client", "GET /v1/drivers", "Connection: keep-alive\r\nContent-Length: $N", ""),
	behind("in a body with an upgrade", "GET /v1/drivers", "Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: $N", ""),
	behind("in a body, length hidden", "GET /v1/drivers", "Connection: content-length\r\nContent-Length: $N", ""),
	behind("in a body, underscore chunks", "GET /v1/drivers", "Transfer_Encoding: chunked\r\nContent-Length: $N", "0\r\n\r\n"),
	behind("in a body, capital underscore chunks", "POST /v1/nodes", "TRANSFER_ENCODING: Chunked\r\nContent-Length: $N", "0\r\n\r\n"),
	behind("in a body, two underscore chunks", "GET /v1/drivers", "Transfer_Encoding: chunked\r\nTransfer_Encoding: \r\nContent-Length: $N", "0\r\n\r\n"),
	behind("in a body, underscore length", "GET /v1/drivers", "Content_Length: 0\r\nContent-Length: $N", ""),
	behind("in a free PUT, underscore chunks", putNode, "Content-Type: application/x-www-form-urlencoded\r\nTransfer_Encoding: chunked\r\nContent-Length: $N", "0;target=abort&\r\n\r\n"),
	{name: "in trailers", write: func(t to) string {
		return t.fill("GET /v1/drivers HTTP/1.1\r\nHost: $HOST\r\n" + apiVersion + "Transfer-Encoding: chunked\r\nTrailer: A, Provision, Put, X-Openstack-Ironic-Api-Version\r\n\r\n" +
			"1\r\nx\r\n0\r\nA: b\r\nProvision: /v1/nodes/$ID/states?target=inspect HTTP/1.1\r\nPut: /v1/nodes/$ID/states/provision/inspect?_method=put HTTP/1.1\r\n" + apiVersion + "\r\n")
	}},
	{name: "in a chunk", write: func(t to) string {
		hidden := request(putNode, asJSON, inspect)(t)
		return fmt.Sprintf("GET /v1/drivers HTTP/1.1\r\nHost: %s\r\n%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", t.host, apiVersion, len(hidden), hidden)
	}},
	{name: "in a chunk, underscore too", write: func(t to) string {
		hidden := request(putNode, asJSON, inspect)(t)
		return fmt.Sprintf("GET /v1/drivers HTTP/1.1\r\nHost: %s\r\n%sTransfer-Encoding: chunked\r\nTransfer_Encoding: identity\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", t.host, apiVersion, len(hidden), hidden)
	}},
}
