package play

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// node is a node as Ironic shows it.
type node map[string]any

func (n node) text(key string) string { s, _ := n[key].(string); return s }

// ironic is an Ironic in memory. Its nodes change when a play says so, and when a PUT starts work; no work
// ends by itself.
type ironic struct {
	mu     sync.Mutex
	nodes  []node
	made   uint64 // nodes ever
	minor  int    // newest version of its API
	faults faults
	lists  map[string]uint64 // so often was each list asked for

	working, peak int // nodes in a busy state now, and at most since the last look
}

// faults are what a play has made go wrong.
type faults struct {
	down  bool
	slow  time.Duration // before each answer
	lists float64       // share of lists that are answered 500
	puts  int           // status of all PUTs, which then do nothing; 0: none
	lost  int           // status of all PUTs, which do what they shall; 0: none
}

func newIronic() *ironic { return &ironic{minor: 82, lists: map[string]uint64{}} }

// states are all provision states, and whether a node in them is at work.
var states = map[string]bool{
	"cleaning": true, "clean wait": true, "inspecting": true, "inspect wait": true, "deploying": true,
	"wait call-back": true, "rescuing": true, "rescue wait": true, "unrescuing": true, "deleting": true,
	"enroll": false, "verifying": false, "manageable": false, "available": false, "active": false, "error": false,
	"rescue":        false,
	"deploy failed": false, "clean failed": false, "inspect failed": false, "adopting": false, "adopt failed": false,
	"rescue failed": false, "unrescue failed": false, "deploy hold": false, "clean hold": false,
	"servicing": false, "service wait": false, "service failed": false, "service hold": false,
}

// targets are those of PUT states/provision, and the state that follows; "": the one before stays.
var targets = map[string]string{
	"active": "deploying", "deploy": "deploying", "rebuild": "deploying", "inspect": "inspecting", "provide": "cleaning",
	"clean": "cleaning", "deleted": "deleting", "undeploy": "deleting", "rescue": "rescuing", "unrescue": "unrescuing",
	"service": "servicing",
	"manage":  "manageable", "adopt": "", "abort": "", "unhold": "",
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000+00:00") }

// add makes a node that has been in its state for an hour, or, where it is at work, since it began.
func (x *ironic) add(name, state string, began time.Time) (node, error) {
	if slices.ContainsFunc(x.nodes, func(n node) bool { return n["name"] == name }) {
		return nil, fmt.Errorf("there is a node %s already", name)
	}
	x.made++
	n := node{
		"uuid": fmt.Sprintf("%08d-0000-4000-8000-000000000000", x.made), "name": name, "provision_state": "enroll",
		"target_provision_state": nil, "last_error": nil, "maintenance": false, "reservation": nil,
		"conductor_group": "", "driver": "redfish", "boot_interface": "ipxe", "power_state": "power on",
		"instance_info": map[string]any{}, "properties": map[string]any{}, "extra": map[string]any{},
		"driver_internal_info": map[string]any{}, "parent_node": nil, "instance_uuid": nil,
	}
	x.nodes = append(x.nodes, n)
	x.move(n, state)
	n["provision_updated_at"] = stamp(began)
	return n, nil
}

// move brings a node into a state.
func (x *ironic) move(n node, state string) {
	was := n.text("provision_state")
	if was == state {
		return
	}
	n["provision_state"], n["provision_updated_at"] = state, stamp(time.Now())
	x.count(states[state], states[was])
}

// count keeps the number of nodes at work.
func (x *ironic) count(works, worked bool) {
	x.working += map[bool]int{true: 1}[works] - map[bool]int{true: 1}[worked]
}

// look takes the nodes at work for the peak. It is called before time passes: what a play changes at one
// instant is one change.
func (x *ironic) look() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.peak = max(x.peak, x.working)
}

// remove takes a node away.
func (x *ironic) remove(n node) {
	x.count(false, states[n.text("provision_state")])
	i := slices.IndexFunc(x.nodes, func(o node) bool { return o["uuid"] == n["uuid"] })
	x.nodes = slices.Delete(x.nodes, i, i+1)
}

// find returns the node of a host, or nil: by UUID, by the name of the namespace, by the bare name, else
// by the name in whatever namespace.
func (x *ironic) find(ns, name string) node {
	name = strings.Replace(name, "/", "~", 1)
	var loose node
	for _, n := range x.nodes {
		switch is := n.text("name"); {
		case is == ns+"~"+name, n["uuid"] == name:
			return n
		case is == name:
			loose = n
		case loose == nil && strings.HasSuffix(is, "~"+name):
			loose = n
		}
	}
	return loose
}

// RoundTrip implements http.RoundTripper.
func (x *ironic) RoundTrip(r *http.Request) (*http.Response, error) {
	x.mu.Lock()
	f := x.faults
	x.mu.Unlock()
	if f.slow > 0 {
		select {
		case <-time.After(f.slow):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	if f.down {
		return nil, errRefused
	}
	w := httptest.NewRecorder()
	x.mu.Lock()
	x.serve(w, r)
	x.mu.Unlock()
	res := w.Result()
	res.Request = r
	return res, nil
}

var errRefused = errors.New("dial tcp 127.0.0.1:6385: connect: connection refused")

// serve answers as Ironic does, in whatever spelling of the path Ironic understands.
func (x *ironic) serve(w http.ResponseWriter, r *http.Request) {
	newest, minor := fmt.Sprintf("1.%d", x.minor), 1
	_, _ = fmt.Sscanf(r.Header.Get("X-OpenStack-Ironic-API-Version"), "1.%d", &minor) // else it is the oldest
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-OpenStack-Ironic-API-Version", fmt.Sprintf("1.%d", min(minor, x.minor)))
	w.Header().Set("X-OpenStack-Ironic-API-Minimum-Version", "1.1")
	w.Header().Set("X-OpenStack-Ironic-API-Maximum-Version", newest)
	path := strings.FieldsFunc(r.URL.Path, func(c rune) bool { return c == '/' })
	if len(path) > 0 && path[0] == "v1" {
		path = path[1:]
	}
	switch {
	case len(path) == 0:
		v := map[string]string{"id": "v1", "version": newest, "min_version": "1.1", "status": "CURRENT"}
		send(w, http.StatusOK, map[string]any{"id": "v1", "version": v, "default_version": v, "versions": []any{v}})
	case path[0] != "nodes":
		send(w, http.StatusOK, map[string]any{"ports": []any{}, "drivers": []any{}})
	case len(path) == 1:
		x.list(w, r, min(minor, x.minor))
	default:
		x.serveNode(w, r, path[1], path[2:])
	}
}

func send(w http.ResponseWriter, code int, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(code)
	_, _ = w.Write(append(text, '\n')) // to a recorder
}

// fault answers in the form of Ironic's errors.
func fault(w http.ResponseWriter, code int, text string) {
	inner, err := json.Marshal(map[string]any{"faultcode": "Client", "faultstring": text, "debuginfo": nil})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	send(w, code, map[string]string{"error_message": string(inner)})
}

func (x *ironic) serveNode(w http.ResponseWriter, r *http.Request, ident string, rest []string) {
	i := slices.IndexFunc(x.nodes, func(n node) bool { return n["uuid"] == ident || n["name"] == ident })
	switch {
	case i < 0:
		fault(w, http.StatusNotFound, "Node "+ident+" could not be found.")
	case len(rest) == 0 && r.Method == http.MethodGet:
		send(w, http.StatusOK, pick(x.nodes[i], r.URL.Query()))
	case len(rest) >= 2 && rest[0] == "states" && rest[1] == "provision" && r.Method == http.MethodPut:
		target := r.URL.Query().Get("target")
		if len(rest) > 2 {
			target = rest[2]
		}
		var body struct{ Target string }
		// A body in chunks is none, as in life.
		if r.ContentLength > 0 && json.NewDecoder(r.Body).Decode(&body) == nil && body.Target != "" {
			target = body.Target
		}
		x.put(w, x.nodes[i], target)
	default:
		send(w, http.StatusOK, map[string]any{})
	}
}

// put starts what target means, whatever the state before.
func (x *ironic) put(w http.ResponseWriter, n node, target string) {
	next, known := targets[target]
	switch {
	case x.faults.puts != 0:
		fault(w, x.faults.puts, "Resource temporarily unavailable, please retry.")
		return
	case !known:
		fault(w, http.StatusBadRequest, "The requested action \""+target+"\" can not be performed on node.")
		return
	}
	n["last_error"] = nil
	if next != "" {
		x.move(n, next)
	}
	if x.faults.lost != 0 {
		fault(w, x.faults.lost, "Resource temporarily unavailable, please retry.")
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// pick is a node with the fields that were asked for.
func pick(n node, q url.Values) node {
	if !q.Has("fields") {
		return n
	}
	out := node{}
	for f := range strings.SplitSeq(q.Get("fields"), ",") {
		out[f] = n[f]
	}
	return out
}

const maxLimit = 1000 // nodes of one page

func (x *ironic) list(w http.ResponseWriter, r *http.Request, minor int) {
	q := r.URL.Query()
	if x.locked(q) {
		fault(w, http.StatusInternalServerError, "(sqlite3.OperationalError) database is locked")
		return
	}
	nodes := x.chosen(q, minor)
	if m := q.Get("marker"); m != "" {
		i := slices.IndexFunc(nodes, func(n node) bool { return n["uuid"] == m })
		if i < 0 {
			fault(w, http.StatusNotFound, "Node "+m+" could not be found.")
			return
		}
		nodes = nodes[i+1:]
	}
	limit, _ := strconv.Atoi(q.Get("limit"))
	if limit <= 0 || limit > maxLimit {
		limit = maxLimit
	}
	page := []node{}
	for _, n := range nodes[:min(limit, len(nodes))] {
		page = append(page, pick(n, q))
	}
	out := map[string]any{"nodes": page}
	if len(page) == limit { // without the filters, as in life
		out["next"] = fmt.Sprintf("http://%s/v1/nodes?limit=%d&marker=%s", r.Host, limit, page[limit-1].text("uuid"))
	}
	send(w, http.StatusOK, out)
}

// locked decides whether a list fails. Each list has its own sequence: lists are asked for at once, and a
// play must not depend on which is first.
func (x *ironic) locked(q url.Values) bool {
	which := q.Encode()
	x.lists[which]++
	h := fnv.New64a()
	_, _ = h.Write([]byte(which))
	return x.faults.lists > 0 && rand.New(rand.NewPCG(h.Sum64(), x.lists[which])).Float64() < x.faults.lists
}

// chosen are the nodes that q asks for, in its order.
func (x *ironic) chosen(q url.Values, minor int) []node {
	children := minor >= 83 && (strings.EqualFold(q.Get("include_children"), "true") || q.Has("parent_node"))
	nodes := slices.DeleteFunc(slices.Clone(x.nodes), func(n node) bool {
		if n["parent_node"] != nil && !children {
			return true
		}
		for _, k := range []string{"provision_state", "instance_uuid", "conductor_group", "name", "parent_node", "driver"} {
			if q.Has(k) && n.text(k) != q.Get(k) {
				return true
			}
		}
		return false
	})
	if k := q.Get("sort_key"); k != "" && k != "id" {
		slices.SortStableFunc(nodes, func(a, b node) int { return strings.Compare(a.text(k), b.text(k)) })
	}
	if q.Get("sort_dir") == "desc" {
		slices.Reverse(nodes)
	}
	return nodes
}
