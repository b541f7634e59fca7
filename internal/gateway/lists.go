package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/inventory"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// cacheHeader tells that an answer is from the list of all nodes.
const cacheHeader = "X-Ironic-Throttle-Cache"

// capacityFields are what BMO's capacity check asks of every node.
const capacityFields = "uuid,name,provision_state,boot_interface"

// minorSteady is the API version from which on Ironic tells the states of nodes as they are.
const minorSteady = 39

// list answers BMO's capacity check from the list of all nodes; false where Ironic is to answer. No other answer is
// from memory.
func (g *Gateway) list(w http.ResponseWriter, r *http.Request) bool {
	q, ok := readCapacity(r)
	if !ok || g.o.Nodes == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(r.Context(), listPatience)
	defer cancel()
	var page []byte
	var nodes inventory.View
	f, ok := g.formFor(ctx, r, q.kind)
	if ok {
		var err error
		if nodes, err = g.o.Nodes.Get(ctx); err == nil {
			page = f.page(nodes, q)
		}
	}
	if page == nil {
		g.count.listMisses.Add(1)
		return false
	}
	h := w.Header()
	for name, values := range f.header {
		h[name] = values
	}
	h.Set("Content-Length", strconv.Itoa(len(page)))
	h.Set("Age", strconv.Itoa(max(0, int(g.o.Now().Sub(nodes.Listed)/time.Second))))
	h.Set(cacheHeader, "nodes")
	_, _ = w.Write(page)
	g.count.listHits.Add(1)
	return true
}

// capacityQuery is a capacity list that is asked for.
type capacityQuery struct {
	limit  int    // rows; 0: none was asked for
	marker string // UUID of the node after which the page begins, "" = from the start
	kind   clientKind
}

// clientKind is all of a request, as Ironic would see it, on which its answer to a capacity list depends.
type clientKind struct {
	who   credentials
	host  string // that they call us; Ironic builds its links from it
	tls   bool   // they reach us so, which may be told to Ironic
	minor int    // API version 1.minor
}

// readCapacity tells of a request whether it asks for the capacity list, in the one form in which it can be nothing
// else: besides the fields there is only what Ironic itself writes into next, and no header that could mean anything.
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
		switch {
		case len(values) > 1:
			return q, false
		case name == "limit":
			q.limit, err = strconv.Atoi(value)
			ok = err == nil && q.limit > 0 && strconv.Itoa(q.limit) == value
		case name == "marker":
			q.marker, ok = value, value != ""
		default:
			ok = name == "fields" || name == "sort_key" && value == "id" || name == "sort_dir" && value == "asc"
		}
		if !ok {
			return q, false
		}
	}
	return q, true
}

// plainRead reports whether the head of a GET says nothing that would make its answer another one than the next
// client's who asks the same. Any header that is not known here may mean something, as Cache-Control does; so may a
// Connection header that takes others away.
func plainRead(r *http.Request) bool {
	if r.ContentLength != 0 || len(r.TransferEncoding) > 0 || r.Host == "" {
		return false
	}
	for name, values := range r.Header {
		value := strings.ToLower(values[0])
		ok := false
		switch name {
		case "Accept-Encoding", "Accept-Language", "User-Agent", "Authorization", "Traceparent", "Tracestate",
			"X-Openstack-Ironic-Api-Version", "Openstack-Api-Version":
			ok = true
		case "Accept":
			ok = value == "*/*" || value == "application/json"
		case "Connection":
			ok = value == "keep-alive" || value == "close"
		}
		if !ok || len(values) > 1 {
			return false
		}
	}
	return true
}

// form is how this Ironic writes the capacity list for a kind of client, learned from an answer of its own.
type form struct {
	base   string // of links: scheme and host, or what Ironic puts instead; "": there was no node
	header http.Header
}

// formFor asks Ironic for a list of one node as the client of r, unless that is known; false where Ironic does not
// let it in. Then the client's own request gets the answer.
func (g *Gateway) formFor(ctx context.Context, r *http.Request, kind clientKind) (form, bool) {
	now := time.Now()
	if f, ok := g.forms.get(now, kind); ok {
		return f, true
	}
	a, err := g.ask(ctx, r, "/v1/nodes", "?fields="+capacityFields+"&limit=1")
	var list struct {
		Nodes []struct {
			UUID  string
			Links []struct{ Href string }
		}
	}
	if err != nil || a.status != http.StatusOK || json.Unmarshal(a.body, &list) != nil {
		return form{}, false
	}
	f := form{header: http.Header{}}
	for name, values := range a.header {
		if name == "Content-Type" || strings.HasPrefix(name, "X-Openstack-Ironic-Api-") {
			f.header[name] = values
		}
	}
	if len(list.Nodes) > 0 && len(list.Nodes[0].Links) > 0 {
		f.base = strings.TrimSuffix(list.Nodes[0].Links[0].Href, "/v1/nodes/"+list.Nodes[0].UUID)
	}
	g.access.put(now, kind.who, struct{}{})
	g.forms.put(now, kind, f)
	return f, true
}

// page is the part of the list that is asked for, as Ironic would write it; nil where that cannot be told.
func (f form) page(nodes inventory.View, q capacityQuery) []byte {
	from, to, limit := 0, nodes.Len(), q.limit
	if q.marker != "" {
		i, ok := nodes.Find(q.marker)
		if !ok || nodes.At(i).UUID != q.marker { // Ironic knows it, or has its own 404
			return nil
		}
		from = i + 1
	}
	if most := nodes.PageLimit(); most > 0 && (limit == 0 || limit > most) {
		limit = most
	}
	// Ironic says that more follows wherever it came to its limit.
	more := limit > 0 && to-from >= limit
	if more {
		to = from + limit
	}
	if f.base == "" && to > from {
		return nil
	}
	const perRow = 450
	b := append(make([]byte, 0, (to-from+1)*perRow), `{"nodes": [`...)
	for i := from; i < to; i++ {
		if i > from {
			b = append(b, ", "...)
		}
		b = f.row(b, nodes.At(i))
	}
	if b = append(b, ']'); more {
		const next = `, "next": "%s/v1/nodes?sort_key=id&sort_dir=asc&fields=%s&limit=%d&marker=%s"`
		b = fmt.Appendf(b, next, f.base, capacityFields, limit, nodes.At(to-1).UUID)
	}
	return append(b, '}')
}

// row appends one node. Its texts stand for themselves in JSON: Ironic takes no others for names.
func (f form) row(b []byte, n ironic.Entry) []byte {
	b = append(append(b, `{"uuid": "`...), n.UUID...)
	b = orNull(append(b, `", "name": `...), n.Name)
	b = orNull(append(b, `, "provision_state": `...), string(n.State))
	b = orNull(append(b, `, "boot_interface": `...), n.BootInterface)
	for _, part := range []string{
		`, "links": [{"href": "`, f.base, "/v1/nodes/", n.UUID, `", "rel": "self"}, {"href": "`,
		f.base, "/nodes/", n.UUID, `", "rel": "bookmark"}]}`,
	} {
		b = append(b, part...)
	}
	return b
}

func orNull(b []byte, text string) []byte {
	if text == "" {
		return append(b, "null"...)
	}
	return strconv.AppendQuote(b, text)
}
