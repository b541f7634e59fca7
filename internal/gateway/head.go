package gateway

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// asSent returns a request as Ironic gets it, so that whatever is read, decided or answered here is about that: without
// what its Connection header takes off on the way, and without what makes two readings of it. These are headers with an
// underscore, which WSGI cannot tell from those with a dash (Transfer_Encoding), trailers, which eventlet reads as the
// next request, changes of protocol, in which anything could hide, and the headers by which net/http sends a PUT twice
// when a connection breaks.
func asSent(r *http.Request) *http.Request {
	r = r.WithContext(r.Context())
	r.Header, r.Trailer = r.Header.Clone(), nil
	for name := range strings.SplitSeq(strings.Join(r.Header["Connection"], ","), ",") {
		if name = strings.TrimSpace(name); !strings.EqualFold(name, "Connection") { // that is still read
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

// credentials is a hash of what a client shows to Ironic: http_basic, or keystone's token.
type credentials [sha256.Size]byte

func credentialsOf(h http.Header) credentials {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q", h.Values("Authorization"), h.Values("X-Auth-Token")))
}

// minorOf is the n of the API version 1.n that both headers of a request agree on; 0 where they leave it open.
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

// uuidForm is the one spelling of a UUID that names a node for sure.
var uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)
