package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// hostRead is a read that a waiting host repeats.
type hostRead struct {
	uuid     string // of its node, "" for one that is no node's
	document bool   // it asks for the node's own document
	key      readKey
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
	if r.Method != http.MethodGet || r.URL.Opaque != "" || mayOverrideMethod(r) || !plainRead(r, true) {
		return hostRead{}, false
	}
	q := hostRead{key: readKey{
		uri: r.URL.EscapedPath() + "?" + r.URL.RawQuery, host: r.Host,
		version: r.Header.Get("X-Openstack-Ironic-Api-Version"), micro: r.Header.Get("Openstack-Api-Version"),
		accept: r.Header.Get("Accept"), encoding: r.Header.Get("Accept-Encoding"), language: r.Header.Get("Accept-Language"),
		who: credentialsOf(r.Header),
	}}
	path := r.URL.EscapedPath()
	if commonReads[path] {
		return q, r.URL.RawQuery == ""
	}
	if path == "/v1/ports" {
		values, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil || len(values["node_uuid"]) != 1 {
			return hostRead{}, false
		}
		q.uuid = values["node_uuid"][0]
		return q, uuidForm.MatchString(q.uuid)
	}
	rest, ok := strings.CutPrefix(path, "/v1/nodes/")
	uuid, part, more := strings.Cut(rest, "/")
	if !ok || more && !repeatedParts[part] {
		return hostRead{}, false
	}
	q.uuid, q.document = uuid, !more
	return q, uuidForm.MatchString(uuid)
}

type ticketKey struct{}

// answersRead answers what a refused host has asked before. Otherwise it returns the
// request as it is to be passed through: marked, where its answer is to be kept.
func (g *Gateway) answersRead(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	if g.reads == nil {
		return r, false
	}
	q, ok := readOfHost(r)
	if !ok {
		return r, false
	}
	now := g.now()
	// Else this very read tells whether Ironic still lets it in. What is no node's tells by its own age.
	if q.uuid == "" || g.access.has(time.Now(), q.key.who) {
		if a := g.reads.get(now, q.uuid, q.key); a != nil {
			g.count.readHits.Add(1)
			a.give(w, now)
			return r, true
		}
	}
	t := g.reads.begin(now, q)
	if t == nil {
		return r, false
	}
	g.count.readMisses.Add(1)
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
	h.Set(cacheHeader, "host")
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) //nolint:gosec // Ironic's own answer, with its content type
}

// keepRead sees to it that an answer is kept that was asked for with a ticket, when it
// has come whole.
func (g *Gateway) keepRead(resp *http.Response) {
	t, ok := resp.Request.Context().Value(ticketKey{}).(*ticket)
	if !ok || !letsIn(resp.StatusCode) || t.uuid == "" && resp.StatusCode != http.StatusOK || resp.ContentLength > readMaxBody || len(resp.Trailer) > 0 || !forEverybody(resp.Header) {
		return
	}
	header := resp.Header.Clone()
	resp.Body = &kept{ReadCloser: resp.Body, want: resp.ContentLength, whole: func(body []byte) {
		told, ok := t.told(resp.StatusCode, body)
		if ok {
			g.reads.keep(g.now(), t, resp.StatusCode, header, body, told)
		}
	}}
}

// keyHeaders are the headers of a request that are in its key.
var keyHeaders = map[string]bool{
	"Accept": true, "Accept-Encoding": true, "Accept-Language": true, "Authorization": true, "X-Auth-Token": true,
	"X-Openstack-Ironic-Api-Version": true, "Openstack-Api-Version": true,
}

// forEverybody reports whether the head of an answer leaves it free to be given to whoever
// asks with the same key. Something between us and Ironic may have added to it.
func forEverybody(h http.Header) bool {
	if len(h["Content-Encoding"]) > 0 || len(h["Set-Cookie"]) > 0 {
		return false
	}
	for word := range words(h["Cache-Control"]) {
		word, _, _ = strings.Cut(word, "=") // private="…"
		switch strings.ToLower(strings.TrimSpace(word)) {
		case "no-store", "no-cache", "private":
			return false
		}
	}
	for name := range words(h["Vary"]) {
		if !keyHeaders[http.CanonicalHeaderKey(name)] {
			return false
		}
	}
	return true
}

// words are the parts between commas of all values of a header.
func words(values []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for word := range strings.SplitSeq(strings.Join(values, ","), ",") {
			if word = strings.TrimSpace(word); word != "" && !yield(word) {
				return
			}
		}
	}
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

// kept is a body that is kept while it is read.
type kept struct {
	io.ReadCloser
	want  int64 // its length, -1 if unknown
	text  []byte
	whole func([]byte) // called once at the end of one that is not too long
}

// Read implements io.Reader.
func (k *kept) Read(p []byte) (int, error) {
	n, err := k.ReadCloser.Read(p)
	if k.whole == nil {
		return n, err
	}
	k.text = append(k.text, p[:n]...)
	switch {
	case len(k.text) > readMaxBody, err != nil && !errors.Is(err, io.EOF):
		k.whole, k.text = nil, nil
	case err != nil:
		if k.want < 0 || int64(len(k.text)) == k.want {
			k.whole(k.text)
		}
		k.whole, k.text = nil, nil
	}
	return n, err
}
