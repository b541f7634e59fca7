package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/inventory"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// cacheHeader says that the gateway made an answer from its list of all nodes.
const cacheHeader = "X-Ironic-Throttle-Cache"

// capacityFields are the fields that BMO's capacity check asks for.
const capacityFields = "uuid,name,provision_state,boot_interface"

// minorSteady is the first minor API version in which Ironic shows every provision state as it is.
const minorSteady = 39

// list answers BMO's capacity check, and nothing else, from the list of all nodes. After a false, Ironic has to answer.
func (g *Gateway) list(w http.ResponseWriter, r *http.Request) bool {
	q, ok := readCapacity(r)
	if !ok || g.o.Nodes == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(r.Context(), listPatience)
	defer cancel()
	var page func(io.Writer) int
	var nodes inventory.View
	f, err := g.formFor(ctx, r, q.kind)
	if err == nil {
		nodes, err = g.o.Nodes.Get(ctx)
	}
	if err == nil {
		page = f.page(nodes, q)
	}
	if page == nil {
		g.count.listMisses.Add(1)
		return false
	}
	g.count.listHits.Add(1)
	h := w.Header()
	maps.Copy(h, f.header)
	h.Set("Content-Length", strconv.Itoa(page(io.Discard)))
	h.Set("Age", strconv.Itoa(max(0, int(g.o.Now().Sub(nodes.Listed)/time.Second))))
	h.Set(cacheHeader, "nodes")
	page(w)
	return true
}

// capacityQuery is a request for the capacity list.
type capacityQuery struct {
	limit  int    // rows; 0: the client set no limit
	marker string // UUID of the node after which the page begins, "" = from the start
	kind   clientKind
}

// clientKind is all of a request, as Ironic would see it, on which the form of a capacity list depends.
type clientKind struct {
	who   credentials
	host  string // the Host header, from which Ironic builds its links
	tls   bool   // the client came over TLS, which the links may show
	minor int    // API version 1.minor
}

// readCapacity reads a request for the capacity list. ok is true only if the request can mean nothing else: its query
// has only the fields and what Ironic itself writes into next, and no header could change the answer.
func readCapacity(r *http.Request) (q capacityQuery, ok bool) {
	minor := minorOf(r.Header)
	if minor < minorSteady || r.Method != http.MethodGet || r.URL.EscapedPath() != "/v1/nodes" || !plainRead(r) {
		return q, false
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || query.Get("fields") != capacityFields {
		return q, false
	}
	q.kind = clientKind{who: credentialsOf(r.Header), host: r.Host, tls: r.TLS != nil, minor: minor}
	for name, values := range query {
		value := values[0]
		switch name {
		case "limit":
			q.limit, _ = strconv.Atoi(value)
			ok = q.limit > 0 && strconv.Itoa(q.limit) == value
		case "marker":
			q.marker, ok = value, value != ""
		default:
			ok = name == "fields" || name == "sort_key" && value == "id" || name == "sort_dir" && value == "asc"
		}
		if !ok || len(values) > 1 {
			return q, false
		}
	}
	return q, true
}

// plainHeaders do not change the answer, or are part of clientKind. Any other may change it, as Cache-Control does.
var plainHeaders = map[string]bool{
	"Accept-Encoding": true, "Accept-Language": true, "User-Agent": true, "Authorization": true, "Traceparent": true,
	"Tracestate": true, "X-Openstack-Ironic-Api-Version": true, "Openstack-Api-Version": true,
}

// plainRead reports whether a GET has no body and no other headers. Accept and Connection may have usual values.
func plainRead(r *http.Request) bool {
	for name, values := range r.Header {
		value := strings.ToLower(values[0])
		ok := plainHeaders[name] ||
			name == "Accept" && (value == "*/*" || value == "application/json") ||
			name == "Connection" && (value == "keep-alive" || value == "close")
		if !ok || len(values) > 1 {
			return false
		}
	}
	return r.ContentLength == 0 && len(r.TransferEncoding) == 0 && r.Host != ""
}

// form is how Ironic writes the capacity list for a clientKind, as an answer of Ironic itself has shown.
type form struct {
	base   string // of links: scheme and host, or what Ironic puts instead; "": there was no node
	header http.Header
}

// formFor returns the form for kind. If it does not know it, it asks Ironic for a list of one node with the credentials
// of r. After an error, Ironic has to answer r itself.
func (g *Gateway) formFor(ctx context.Context, r *http.Request, kind clientKind) (form, error) {
	now := time.Now()
	if f, ok := g.forms.get(now, kind); ok {
		return f, nil
	}
	var list struct {
		Nodes []struct {
			UUID  string
			Links []struct{ Href string }
		}
	}
	a, err := g.ask(ctx, r, "/v1/nodes", "?fields="+capacityFields+"&limit=1")
	if err != nil || a.status != http.StatusOK || json.Unmarshal(a.body, &list) != nil {
		return form{}, errors.Join(err, errors.New("Ironic gave no list"))
	}
	f := form{header: a.header}
	maps.DeleteFunc(f.header, func(name string, _ []string) bool {
		return name != "Content-Type" && !strings.HasPrefix(name, "X-Openstack-Ironic-Api-")
	})
	if len(list.Nodes) > 0 && len(list.Nodes[0].Links) > 0 {
		f.base = strings.TrimSuffix(list.Nodes[0].Links[0].Href, "/v1/nodes/"+list.Nodes[0].UUID)
	}
	if len(f.base) > maxWords || strconv.QuoteToASCII(f.base) != `"`+f.base+`"` { // the client made up a Host
		return form{}, errors.New("its links are no plain text, or too long for each node to have two")
	}
	g.access.put(now, kind.who, struct{}{})
	g.forms.put(now, kind, f)
	return f, nil
}

// page returns a function that writes the wanted part of the list as Ironic would, and returns its length. It writes
// row by row, so a slow client takes little memory. page returns nil if only Ironic knows the answer.
func (f form) page(nodes inventory.View, q capacityQuery) func(io.Writer) int {
	from, to, limit := 0, nodes.Len(), q.limit
	if q.marker != "" {
		i, ok := nodes.Find(q.marker)
		if !ok || nodes.At(i).UUID != q.marker { // Ironic knows the node, or answers with its own 404
			return nil
		}
		from = i + 1
	}
	if most := nodes.PageLimit(); most > 0 && (limit == 0 || limit > most) {
		limit = most
	}
	// Ironic says that more follows whenever a page is full.
	more := limit > 0 && to-from >= limit
	if more {
		to = from + limit
	}
	if f.base == "" && to > from {
		return nil
	}
	states := make([]ironic.State, to-from) // polls may change them while the page is written
	for i := range states {
		states[i] = nodes.At(from + i).State
	}
	const row = `%s{"uuid": "%s", "name": %s, "provision_state": %s, "boot_interface": %s, "links": [` +
		`{"href": "%[6]s/v1/nodes/%[2]s", "rel": "self"}, {"href": "%[6]s/nodes/%[2]s", "rel": "bookmark"}]}`
	return func(to io.Writer) (length int) {
		write := func(format string, args ...any) {
			n, _ := fmt.Fprintf(to, format, args...)
			length += n
		}
		between := ""
		write(`{"nodes": [`)
		for i, state := range states {
			n := nodes.At(from + i)
			write(row, between, n.UUID, orNull(n.Name), orNull(string(state)), orNull(n.BootInterface), f.base)
			between = ", "
		}
		if write("]"); more {
			const next = `, "next": "%s/v1/nodes?sort_key=id&sort_dir=asc&fields=%s&limit=%d&marker=%s"`
			write(next, f.base, capacityFields, limit, nodes.At(from+len(states)-1).UUID)
		}
		write("}")
		return length
	}
}

// orNull returns text as JSON, null for "". Ironic takes no name that needs the escapes of JSON.
func orNull(text string) string {
	if text == "" {
		return "null"
	}
	return strconv.Quote(text)
}
