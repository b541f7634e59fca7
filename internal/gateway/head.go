package gateway

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// asSent returns r as Ironic will get it, so that the gateway decides on what Ironic reads. It drops the headers that
// r's Connection header removes on the way, and all that can be read in two ways: headers with an underscore, which
// WSGI cannot tell from those with a dash (Transfer_Encoding); trailers, which eventlet reads as the next request;
// changes of protocol, in which anything could hide. It also drops the headers that let net/http send a PUT twice when
// a connection breaks.
func asSent(r *http.Request) *http.Request {
	r = r.WithContext(r.Context())
	r.Header, r.Trailer = r.Header.Clone(), nil
	for name := range strings.SplitSeq(strings.Join(r.Header["Connection"], ","), ",") {
		if name = strings.TrimSpace(name); !strings.EqualFold(name, "Connection") { // the gateway still reads this one
			r.Header.Del(name)
		}
	}
	for name := range r.Header {
		if strings.Contains(name, "_") {
			delete(r.Header, name)
		}
	}
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key", "Upgrade"} {
		r.Header.Del(name)
	}
	return r
}

// credentials is a hash of what a client shows Ironic: its http_basic credentials, or its keystone token.
type credentials [sha256.Size]byte

func credentialsOf(h http.Header) credentials {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q", h.Values("Authorization"), h.Values("X-Auth-Token")))
}

// minorOf returns the n of the API version 1.n that the headers ask for; 0 if they name none, or do not agree.
func minorOf(h http.Header) int {
	text := strings.Join(h.Values("X-Openstack-Ironic-Api-Version"), ",")
	digits, ok := strings.CutPrefix(text, "1.")
	n, _ := strconv.Atoi(digits)
	other := strings.Join(h.Values("Openstack-Api-Version"), ",")
	if !ok || strconv.Itoa(n) != digits || other != "" && other != "baremetal "+text {
		return 0
	}
	return n
}

// uuidForm is the usual spelling of a UUID. Ironic takes no such text for the name of a node.
var uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)
