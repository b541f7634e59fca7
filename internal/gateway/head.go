package gateway

import (
	"net/http"
	"strconv"
	"strings"
)

// readHeaders are the headers that a read may bear to be answered from a cache: those on
// which Ironic's answer depends in a way that we know, and those on which it does not.
// Any other may mean something (Cache-Control does), so such a request passes through.
var readHeaders = map[string]bool{
	"Accept": true, "Accept-Encoding": true, "Accept-Language": true, "Connection": true, "User-Agent": true,
	"Authorization": true, "X-Openstack-Ironic-Api-Version": true, "Openstack-Api-Version": true,
	"Traceparent": true, "Tracestate": true,
}

// plainRead reports whether the head of a GET says nothing that would make its answer
// another one than the next client's who asks the same.
func plainRead(r *http.Request, token bool) bool {
	if r.ContentLength != 0 || len(r.TransferEncoding) > 0 || len(r.Trailer) > 0 || r.Host == "" || !plainText(r.Host) {
		return false
	}
	for name, values := range r.Header {
		if !readHeaders[name] && !(token && name == credentialHeaders[1]) || len(values) > 1 {
			return false
		}
	}
	switch r.Header.Get("Accept") {
	case "", "*/*", jsonType:
		return true
	}
	return false
}

// versionOf is the n of the API version 1.n that both headers of a request agree on;
// false where they leave it open, or to Ironic.
func versionOf(h http.Header) (int, bool) {
	text := h.Get("X-Openstack-Ironic-Api-Version")
	if other := h.Get("Openstack-Api-Version"); other != "" && other != "baremetal "+text {
		return 0, false
	}
	digits, ok := strings.CutPrefix(text, "1.")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && strconv.Itoa(n) == digits
}
