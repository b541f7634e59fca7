package cache

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/proxy"
	"github.com/ironic-throttle/ironic-throttle/internal/gateway/request"
)

// hostRead is a read that a waiting host repeats.
type hostRead struct {
	uuid     string // of its node, "" for one that is no node's
	document bool   // it asks for the node's own document
	who      request.Credentials
	key      string // on which its answer depends
}

// repeatedParts are what BMO reads of a node before each try (docs/dev/reference/bmo.md).
var repeatedParts = map[string]bool{"firmware": true, "inventory": true, "validate": true}

// commonReads are what BMO asks before each reconcile to know whether Ironic is there: its
// versions, and whether a conductor lives. Ironic itself takes a conductor for living up to a
// minute after its last sign.
var commonReads = map[string]bool{"/v1/": true, "/v1/drivers": true}

// readOfHost tells which node's read a request is, in the forms in which it can be
// nothing else. A name is none of them: it may be another node's by now, and what is
// written to that one goes by its UUID.
func readOfHost(r *http.Request) (hostRead, bool) {
	if r.Method != http.MethodGet || r.URL.Opaque != "" || !request.PlainRead(r, true) {
		return hostRead{}, false
	}
	var q hostRead
	ok := false
	switch path := r.URL.EscapedPath(); {
	case commonReads[path]:
		ok = r.URL.RawQuery == ""
	case path == "/v1/ports":
		values, err := url.ParseQuery(r.URL.RawQuery)
		if ok = err == nil && len(values["node_uuid"]) == 1; ok {
			q.uuid = values["node_uuid"][0]
			ok = request.IsUUID(q.uuid)
		}
	case strings.HasPrefix(path, "/v1/nodes/"):
		uuid, part, more := strings.Cut(strings.TrimPrefix(path, "/v1/nodes/"), "/")
		q.uuid, q.document = uuid, !more
		ok = request.IsUUID(uuid) && (!more || repeatedParts[part])
	}
	if ok {
		q.who = request.CredentialsOf(r.Header)
		q.key = keyOf(r, q.who)
	}
	return q, ok
}

// keyHeaders are the headers of a request on which its answer may depend.
var keyHeaders = []string{
	"Accept", "Accept-Encoding", "Accept-Language", "Authorization", "X-Auth-Token", "X-Openstack-Ironic-Api-Version", "Openstack-Api-Version",
}

// keyOf is all on which the answer to a read depends. Of credentials it has a hash.
func keyOf(r *http.Request, who request.Credentials) string {
	var key strings.Builder
	key.Write(who[:])
	key.WriteString(r.Host + "\n" + r.URL.EscapedPath() + "?" + r.URL.RawQuery)
	for _, name := range keyHeaders {
		if !slices.Contains(request.CredentialHeaders, name) {
			key.WriteString("\n" + r.Header.Get(name))
		}
	}
	return key.String()
}

// forEverybody reports whether the head of an answer leaves it free to be given to whoever
// asks with the same key. Something between us and Ironic may have added to it.
func forEverybody(h http.Header) bool {
	if len(h["Content-Encoding"]) > 0 || len(h["Set-Cookie"]) > 0 {
		return false
	}
	for _, word := range words(h["Cache-Control"]) {
		word, _, _ = strings.Cut(word, "=") // private="…"
		switch strings.ToLower(word) {
		case "no-store", "no-cache", "private":
			return false
		}
	}
	for _, name := range words(h["Vary"]) {
		if !slices.Contains(keyHeaders, http.CanonicalHeaderKey(name)) {
			return false
		}
	}
	return true
}

// words are the parts between commas of all values of a header.
func words(values []string) []string {
	return strings.FieldsFunc(strings.Join(values, ","), func(c rune) bool { return c == ',' || c == ' ' || c == '\t' })
}

// told is what a node's own document says, nil where it is another's; false for one of a
// node that we did not mean, or of one that Ironic is about to change.
func (t *ticket) told(status int, body []byte) (*shown, bool) {
	if !t.document || status != http.StatusOK {
		return nil, true
	}
	var n struct {
		UUID  string          `json:"uuid"`
		State json.RawMessage `json:"provision_state"`
		Stamp json.RawMessage `json:"provision_updated_at"`
		Power *string         `json:"target_power_state"`
		Lock  *string         `json:"reservation"` // of the conductor that works on it
	}
	if json.Unmarshal(body, &n) != nil || n.Power != nil || n.Lock != nil || n.UUID != "" && !strings.EqualFold(n.UUID, t.uuid) {
		return nil, false
	}
	if n.State == nil || n.Stamp == nil {
		return nil, true // only some of its fields were asked for
	}
	var told shown
	if json.Unmarshal(n.State, &told.state) != nil || json.Unmarshal(n.Stamp, &told.stamp) != nil {
		return nil, false
	}
	return &told, true // null is "", as the polls have it
}

type ticketKey struct{}

// Answer answers what a refused host has asked before. Otherwise it returns the
// request as it is to be passed through: marked, where its answer is to be kept.
func (c *Reads) Answer(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	q, ok := readOfHost(r)
	if !ok {
		return r, false
	}
	now := c.now()
	// Else this very read tells whether Ironic still lets it in. What is no node's tells by its own age.
	if q.uuid == "" || c.admitted(q.who) {
		if a := c.get(now, q.uuid, q.key); a != nil {
			c.hits.Add(1)
			a.give(w, now)
			return r, true
		}
	}
	t := c.begin(now, q)
	if t == nil {
		return r, false
	}
	c.misses.Add(1)
	return r.WithContext(context.WithValue(r.Context(), ticketKey{}, t)), false
}

// give answers with it once more.
func (a *readAnswer) give(w http.ResponseWriter, now time.Time) {
	h := w.Header()
	for name, values := range a.header {
		h[name] = values
	}
	h.Set("Content-Length", strconv.Itoa(len(a.body)))
	h.Set("Age", ageOf(now.Sub(a.begun)))
	h.Set(Header, "host")
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

// Seen keeps an answer that was asked for with a ticket, when it has come whole.
func (c *Reads) Seen(resp *http.Response) {
	t, ok := resp.Request.Context().Value(ticketKey{}).(*ticket)
	known := ok && (resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusNotFound && t.uuid != "")
	if !known || len(resp.Trailer) > 0 || !forEverybody(resp.Header) {
		return
	}
	header := resp.Header.Clone()
	proxy.WhenWhole(resp, func(body []byte) {
		if told, ok := t.told(resp.StatusCode, body); ok {
			c.keep(c.now(), t, resp.StatusCode, header, body, told)
		}
	})
}

// Watch is the way to Ironic that hears of the writes that go there.
func (c *Reads) Watch(next http.RoundTripper) http.RoundTripper { return watched{next, c} }

type watched struct {
	next http.RoundTripper
	*Reads
}

// RoundTrip implements http.RoundTripper.
func (u watched) RoundTrip(r *http.Request) (*http.Response, error) {
	end := func(time.Time, bool) {}
	if request.Writes(r) {
		end = u.write(request.Touched(r, u.prefix))
	}
	resp, err := u.next.RoundTrip(r)
	kept := errors.Is(err, proxy.ErrKept)
	end(u.now(), kept || errors.Is(err, syscall.ECONNREFUSED) || err == nil && request.Over(r, resp.StatusCode))
	if err != nil && !kept && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		u.lost()
	}
	return resp, err
}
