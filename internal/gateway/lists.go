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

// cacheHeader tells that an answer is from the list of all nodes.
const cacheHeader = "X-Ironic-Throttle-Cache"

// capacityFields are what BMO's capacity check asks of every node.
const capacityFields = "uuid,name,provision_state,boot_interface"

// minorSteady is the API version from which on Ironic tells the states of nodes as they are.
const minorSteady = 39

// list answers BMO's capacity check, and that alone, from the list of all nodes; false where Ironic is to answer.
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

// plainHeaders say nothing that would make an answer another one than the next client's who asks the same, or are part
// of clientKind. Any that is not known here may mean something, as Cache-Control does.
var plainHeaders = map[string]bool{
	"Accept-Encoding": true, "Accept-Language": true, "User-Agent": true, "Authorization": true, "Traceparent": true,
	"Tracestate": true, "X-Openstack-Ironic-Api-Version": true, "Openstack-Api-Version": true,
}

// plainRead reports whether the head of a GET says nothing else than those. A Connection header may take others away.
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

// form is how this Ironic writes the capacity list for a kind of client, learned from an answer of its own.
type form struct {
	base   string // of links: scheme and host, or what Ironic puts instead; "": there was no node
	header http.Header
}

// formFor asks Ironic for a list of one node as the client of r, unless that is known. Where Ironic does not let it in,
// the client's own request gets the answer.
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
		return form{}, errors.Join(err, errors.New("not let in"))
	}
	f := form{header: a.header}
	maps.DeleteFunc(f.header, func(name string, _ []string) bool {
		return name != "Content-Type" && !strings.HasPrefix(name, "X-Openstack-Ironic-Api-")
	})
	if len(list.Nodes) > 0 && len(list.Nodes[0].Links) > 0 {
		f.base = strings.TrimSuffix(list.Nodes[0].Links[0].Href, "/v1/nodes/"+list.Nodes[0].UUID)
	}
	if len(f.base) > maxWords || strconv.QuoteToASCII(f.base) != `"`+f.base+`"` { // the client made up a Host
		return form{}, errors.New("its links are no plain text, or long: each node has two")
	}
	g.access.put(now, kind.who, struct{}{})
	g.forms.put(now, kind, f)
	return f, nil
}

// page writes the part of the list that is asked for as Ironic would, row by row: who reads slowly takes little memory. It
// is nil where that cannot be told.
func (f form) page(nodes inventory.View, q capacityQuery) func(io.Writer) int {
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
	states := make([]ironic.State, to-from) // polls go on while it is written
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

// orNull is a text as JSON. It stands for itself there: Ironic takes no others for names.
func orNull(text string) string {
	if text == "" {
		return "null"
	}
	return strconv.Quote(text)
}
