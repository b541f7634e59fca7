package suite

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// listCases hold what lists show, ours and BMO's; those that make a thousand nodes come last.
var listCases = []testCase{
	{"ListFields", listFields},
	{"FieldsInTheOrderAsked", fieldsInTheOrderAsked},
	{"ListRefused", listRefused},
	{"FilterByState", filterByState},
	{"FilterByParent", filterByParent},
	{"NextOfAFullPage", nextOfAFullPage},
	{"NextDropsFilters", nextDropsFilters},
	{"LinksFollowHost", linksFollowHost},
	{"FullListByID", fullListByID},
}

// capacityFields are what BMO asks before each decision of its own.
const capacityFields = "uuid,name,provision_state,boot_interface"

func listFields(x *tester) {
	n := x.create("a")
	x.setAgent(n.UUID, ironic.Enroll, true)
	internal := x.look(n.UUID).Internal
	if agent, ok := internal["agent_url"].(string); !ok || agent == "" {
		x.Fatalf("no agent_url: %v", internal)
	}
	for fields, want := range map[string]map[string]any{
		capacityFields: {"name": n.Name, "provision_state": "enroll", "boot_interface": "fake"},
		"uuid,driver_internal_info,target_provision_state": {
			"driver_internal_info": internal, "target_provision_state": nil,
		},
		"uuid,conductor_group,maintenance,fault,last_error,instance_uuid,reservation": {
			"conductor_group": "", "maintenance": false, "fault": nil, "last_error": nil, "instance_uuid": nil, "reservation": nil,
		},
	} {
		want["uuid"], want["links"] = n.UUID, x.links(x.URL, n.UUID)
		nodes, _ := x.list("fields=" + fields)
		x.same("list with fields="+fields, find(nodes, n.UUID), want)
		x.same("node with fields="+fields, x.get("/v1/nodes/"+n.UUID+"?fields="+fields).want(http.StatusOK).object(), want)
	}
}

var memberName = regexp.MustCompile(`"(\w+)" ?:`)

// fieldsInTheOrderAsked holds that rows are written with the UUID first, then what was asked for in that order, each once, and
// the links last.
func fieldsInTheOrderAsked(x *tester) {
	x.create("a")
	for fields, want := range map[string]string{
		capacityFields:                             "uuid name provision_state boot_interface links",
		url.QueryEscape(capacityFields):            "uuid name provision_state boot_interface links",
		"boot_interface,provision_state,name,uuid": "uuid boot_interface provision_state name links",
		"name,name,boot_interface":                 "name boot_interface links",
	} {
		var page struct{ Nodes []json.RawMessage }
		x.get("/v1/nodes?limit=1&fields=" + fields).want(http.StatusOK).into(&page)
		row, _, _ := strings.Cut(string(page.Nodes[0]), `: [`) // the links, which are last
		var got []string
		for _, m := range memberName.FindAllStringSubmatch(row+":", -1) {
			got = append(got, m[1])
		}
		x.same("fields="+fields, strings.Join(got, " "), want)
	}
}

func listRefused(x *tester) {
	for query, text := range map[string]string{
		"fields=uuid,updated_at":             "Field updated_at is not a valid field.",
		"limit=0":                            "Limit must be positive",
		"sort_key=nope":                      `The sort_key value "nope" is an invalid field for sorting`,
		"nope=1":                             "Unexpected arguments: nope",
		"provision_state=flying":             `Provision state "flying" is not valid`,
		"provision_state=deploying,cleaning": `Provision state "deploying,cleaning" is not valid`,
	} {
		x.get("/v1/nodes?"+query).wantFault(http.StatusBadRequest, "Client", text)
	}
	x.get("/v1/nodes?limit=2&fields=uuid&marker="+nobody).wantFault(http.StatusNotFound, "Client", "Node "+nobody+" could not be found.")
}

func filterByState(x *tester) {
	a, b := x.create("a"), x.create("b")
	x.setAgent(b.UUID, ironic.AdoptFailed, false)
	for state, want := range map[string][2]bool{"enroll": {true, false}, "adopt%20failed": {false, true}, "adopt+failed": {false, true}} {
		nodes, _ := x.list("provision_state=" + state + "&fields=uuid,provision_state")
		x.same("filter "+state, [2]bool{find(nodes, a.UUID) != nil, find(nodes, b.UUID) != nil}, want)
		for _, n := range nodes {
			if s := n["provision_state"]; (s == "enroll") != (state == "enroll") {
				x.Errorf("filter %s: a node in %v", state, s)
			}
		}
	}
	// The service and hold states came with later versions.
	for _, state := range ironic.PollOrder(true, true) {
		answer := x.get("/v1/nodes?provision_state=" + url.QueryEscape(string(state)))
		if x.target.MaxMinor < state.Since() {
			answer.wantFault(http.StatusBadRequest, "Client", fmt.Sprintf("Provision state %q is not valid", state))
		} else {
			answer.want(http.StatusOK)
		}
	}
}

// Ironic knows withChildren from the minor version firstChildren on.
const withChildren, firstChildren = "include_children=True", 83

// filterByParent holds that lists leave nodes with a parent out, unless somebody asks for them.
func filterByParent(x *tester) {
	const children = withChildren + "&fields=uuid"
	a := x.create("a")
	if x.target.MaxMinor < firstChildren {
		x.get("/v1/nodes?"+children).wantFault(http.StatusBadRequest, "Client", "Unexpected arguments: include_children")
		return
	}
	b := x.create("b", `"parent_node":"`+a.UUID+`"`)
	for query, want := range map[string][2]bool{"fields=uuid": {true, false}, children: {true, true}} {
		nodes, _ := x.list(query)
		x.same(query, [2]bool{find(nodes, a.UUID) != nil, find(nodes, b.UUID) != nil}, want)
	}
	x.get("/v1/nodes?"+children, version("1.82")).want(http.StatusNotAcceptable)
}

// pageMax is the longest page of an Ironic that nobody has configured.
const pageMax = 1000

// nextOfAFullPage holds that next is there when a page is full, whether or not anything follows, and never else.
func nextOfAFullPage(x *tester) {
	for _, suffix := range []string{"a", "b"} {
		x.setAgent(x.create(suffix).UUID, ironic.UnrescueFailed, false)
	}
	const filter = "provision_state=unrescue+failed&fields=uuid&limit="
	var last string
	for limit, rows := range map[string]int{"1": 1, "2": 2} {
		page, next := x.list(filter + limit)
		last = page[len(page)-1]["uuid"].(string)
		x.same("rows of "+limit, len(page), rows)
		x.wantNext(next, x.URL, url.Values{"fields": {"uuid"}, "limit": {limit}, "marker": {last}})
	}
	page, next := x.list(filter + "3")
	x.same("a short page", fmt.Sprint(len(page), next), "2")
	page, next = x.list(filter + "2&marker=" + page[1]["uuid"].(string))
	x.same("an empty page", fmt.Sprint(len(page), next), "0")
}

// wantNext compares a next link; sort_key and sort_dir are always in it.
func (x *tester) wantNext(next, base string, want url.Values) {
	x.Helper()
	u, err := url.Parse(next)
	if err != nil {
		x.Fatalf("next %q: %v", next, err)
	}
	if !want.Has("sort_key") {
		want.Set("sort_key", "id")
		want.Set("sort_dir", "asc")
	}
	x.same("next", u.Scheme+"://"+u.Host+u.Path, base+"/v1/nodes")
	x.same("query of next", u.Query(), want)
}

// nextDropsFilters holds the trap: who follows next sees nodes in any state.
func nextDropsFilters(x *tester) {
	x.setAgent(x.create("a").UUID, ironic.RescueFailed, false)
	other := x.create("b")
	x.setAgent(x.create("c").UUID, ironic.RescueFailed, false)
	first, next := x.list("provision_state=rescue+failed&limit=1&fields=uuid")
	x.wantNext(next, x.URL, url.Values{"fields": {"uuid"}, "limit": {"1"}, "marker": {first[0]["uuid"].(string)}})
	u, _ := url.Parse(next)
	page, _ := x.list(u.RawQuery)
	x.same("the page that next leads to", page[0]["uuid"], any(other.UUID))
}

// linksFollowHost holds that absolute links are built from the Host header: a proxy that passes it on need not rewrite them.
func linksFollowHost(x *tester) {
	n := x.create("a")
	u, err := url.Parse(x.URL)
	if err != nil {
		x.Fatal(err)
	}
	// The gateway on loopback answers to this machine's own names only.
	const name = "localhost:1234"
	base, host := u.Scheme+"://"+name, func(c *call) { c.host = name }
	nodes, next := x.list("limit=1&fields=uuid", host)
	uuid := nodes[0]["uuid"].(string)
	x.same("links", nodes[0]["links"], any(x.links(base, uuid)))
	x.wantNext(next, base, url.Values{"fields": {"uuid"}, "limit": {"1"}, "marker": {uuid}})
	a := x.put(n.UUID, `{"target":"manage"}`, host, header("X-Forwarded-Host", "other.example")).want(202)
	a.wantHeader("Location", base+"/v1/nodes/"+n.UUID+"/states")
	x.awaitState(n.UUID, ironic.Manageable)
}

// walk reads all pages of a list, each begun with the last UUID of the one before, until one has no next.
func (x *tester) walk(query string) (uuids []string, pages [][]map[string]any) {
	x.Helper()
	for marker := ""; ; {
		page, next := x.list(query + marker)
		pages = append(pages, page)
		for _, n := range page {
			uuids = append(uuids, n["uuid"].(string))
		}
		if next == "" {
			return uuids, pages
		}
		marker = "&marker=" + uuids[len(uuids)-1]
	}
}

// fullListByID holds that the list of all nodes has one order, that of their making, whatever happens to them; that a page is cut
// at max_limit and never before; and that our client's Catalog is that list, with the nodes that have a parent.
func fullListByID(x *tester) {
	old := x.create("old")
	if err := x.backdoor.AddNodes(x.Context(), "full~", pageMax+20, ironic.AdoptFailed); err != nil {
		x.Fatal(err)
	}
	young := x.create("young")
	query := "fields=" + capacityFields + ",conductor_group"
	if x.target.MaxMinor >= firstChildren {
		query += "&" + withChildren
	}
	uuids, pages := x.walk(query)
	for i, page := range pages {
		if more := i < len(pages)-1; more != (len(page) == pageMax) {
			x.Errorf("%d rows in page %d of %d", len(page), i, len(pages))
		}
	}
	if len(uuids) < pageMax+22 || uuids[len(uuids)-1] != young.UUID || !slices.Contains(uuids[:len(uuids)-pageMax-20], old.UUID) {
		x.Errorf("%d nodes, the last is %s; want it to be the youngest, and the old one before the many", len(uuids), uuids[len(uuids)-1])
	}
	old = x.to(old, ironic.Manageable)
	for _, more := range []string{"&limit=700", "&limit=5000", "&sort_key=id&sort_dir=asc"} {
		got, _ := x.walk(query + more)
		x.same("nodes with "+more, got, uuids)
	}
	want := []ironic.Entry{}
	for _, n := range slices.Concat(pages...) {
		name, _ := n["name"].(string)
		e := ironic.Entry{
			UUID: n["uuid"].(string), Name: name, State: ironic.State(n["provision_state"].(string)),
			BootInterface: n["boot_interface"].(string), ConductorGroup: n["conductor_group"].(string),
		}
		if e.UUID == old.UUID {
			e.State = old.State
		}
		want = append(want, e)
	}
	client := x.client()
	c, err := client.Catalog(x.Context())
	if err != nil {
		x.Fatal(err)
	}
	got := []ironic.Entry{}
	for i := range c.Len() {
		got = append(got, c.At(i))
	}
	x.same("nodes", got, want)
	x.same("page limit", c.PageLimit(), pageMax)
	x.same("requests", client.Stats().List.Requests, uint64(len(pages)))
}
