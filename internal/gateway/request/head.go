package request

import (
	"crypto/sha256"
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

// PlainRead reports whether the head of a GET says nothing that would make its answer
// another one than the next client's who asks the same.
func PlainRead(r *http.Request, token bool) bool {
	if r.ContentLength != 0 || len(r.TransferEncoding) > 0 || len(r.Trailer) > 0 || r.Host == "" || !PlainText(r.Host) || mayOverrideMethod(r) {
		return false
	}
	for name, values := range r.Header {
		if !readHeaders[name] && !(token && name == CredentialHeaders[1]) || len(values) > 1 {
			return false
		}
	}
	switch r.Header.Get("Accept") {
	case "", "*/*", jsonType:
		return true
	}
	return false
}

// Minor is the n of the API version 1.n that both headers of a request agree on;
// false where they leave it open, or to Ironic.
func Minor(h http.Header) (int, bool) {
	text := h.Get("X-Openstack-Ironic-Api-Version")
	if other := h.Get("Openstack-Api-Version"); other != "" && other != "baremetal "+text {
		return 0, false
	}
	digits, ok := strings.CutPrefix(text, "1.")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && strconv.Itoa(n) == digits
}

// PlainText reports whether a text stands for itself in everybody's JSON. Names of nodes,
// states and interfaces always do.
func PlainText(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Credentials is a hash of what a client shows to Ironic.
type Credentials [sha256.Size]byte

// CredentialHeaders are all that an Ironic may go by: http_basic and keystone.
// The second one is keystone's.
var CredentialHeaders = []string{"Authorization", "X-Auth-Token"}

// CredentialsOf reads those of a request; zero for none.
func CredentialsOf(h http.Header) Credentials {
	var text strings.Builder
	for _, name := range CredentialHeaders {
		for _, v := range h.Values(name) {
			text.WriteString(name + ":" + v + "\n")
		}
	}
	if text.Len() == 0 {
		return Credentials{}
	}
	return sha256.Sum256([]byte(text.String()))
}
