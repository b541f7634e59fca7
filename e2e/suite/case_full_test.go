package suite

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// fullCases hold what the list of all nodes relies on, ours and BMO's. They leave many
// nodes behind.
var fullCases = []testCase{
	{"FieldsInTheOrderAsked", fieldsInTheOrderAsked},
	{"FullListByID", fullListByID},
	{"FullListOfOurClient", fullListOfOurClient},
}

// names returns the names of an object's members in their order.
func (x *tester) names(object json.RawMessage) []string {
	x.Helper()
	dec := json.NewDecoder(strings.NewReader(string(object)))
	if _, err := dec.Token(); err != nil {
		x.Fatal(err)
	}
	var all []string
	for dec.More() {
		name, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			x.Fatalf("%v: %s", err, object)
		}
		all = append(all, name.(string))
	}
	return all
}

// fieldsInTheOrderAsked holds that rows are written with the UUID first, then what was
// asked for in that order, each once, and the links last.
func fieldsInTheOrderAsked(x *tester) {
	x.create("a")
	for fields, want := range map[string][]string{
		"uuid,name,provision_state,boot_interface":            {"uuid", "name", "provision_state", "boot_interface", "links"},
		"boot_interface,provision_state,name,uuid":            {"uuid", "boot_interface", "provision_state", "name", "links"},
		"name,name,boot_interface":                            {"name", "boot_interface", "links"},
		"uuid,provision_state,provision_updated_at":           {"uuid", "provision_state", "provision_updated_at", "links"},
		"uuid%2Cname%2Cprovision_state%2Cboot_interface":      {"uuid", "name", "provision_state", "boot_interface", "links"},
		"uuid,name,provision_state,boot_interface&limit=1":    {"uuid", "name", "provision_state", "boot_interface", "links"},
		"uuid,conductor_group,boot_interface,provision_state": {"uuid", "conductor_group", "boot_interface", "provision_state", "links"},
	} {
		var page struct{ Nodes []json.RawMessage }
		x.get("/v1/nodes?fields=" + fields).want(http.StatusOK).into(&page)
		x.same("fields="+fields, x.names(page.Nodes[0]), want)
	}
}

const fullFields = "fields=uuid,name,provision_state,boot_interface"

// walk reads all pages of a list, each begun with the last UUID of the one before, until
// one has no next.
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

// fullListByID holds that the list of all nodes has one order, that of their making,
// whatever happens to them, and that a page is cut at max_limit and never before.
func fullListByID(x *tester) {
	old := x.create("old")
	if err := x.backdoor.AddNodes(x.Context(), "full~", pageMax+20, ironic.AdoptFailed); err != nil {
		x.Fatal(err)
	}
	young := x.create("young")
	want, pages := x.walk(fullFields)
	for i, page := range pages[:len(pages)-1] {
		x.same("rows of a page with next", len(page), pageMax)
		first, next := x.list(fullFields + "&limit=" + strconv.Itoa(pageMax) + markerBefore(pages, i))
		x.same("the same page with max_limit asked for", first, page)
		x.wantNext(next, x.URL, url.Values{
			"fields": {"uuid,name,provision_state,boot_interface"}, "limit": {strconv.Itoa(pageMax)}, "marker": {page[pageMax-1]["uuid"].(string)},
		})
	}
	if n := len(pages[len(pages)-1]); n >= pageMax {
		x.Errorf("%d rows in the last page", n)
	}
	if len(want) < pageMax+22 || want[len(want)-1] != young.UUID || !slices.Contains(want[:len(want)-pageMax-20], old.UUID) {
		x.Errorf("%d nodes, the last is %s; want it to be the youngest, and the old one before the many", len(want), want[len(want)-1])
	}
	x.to(old, ironic.Manageable)
	for _, query := range []string{"&limit=700", "&limit=5000", "&sort_key=id&sort_dir=asc", "&sort_key=id&sort_dir=asc&limit=900"} {
		got, _ := x.walk(fullFields + query)
		x.same("nodes with "+query, got, want)
	}
	got, _ := x.walk(fullFields + "&sort_key=id&sort_dir=desc")
	slices.Reverse(got)
	x.same("nodes from the other end", got, want)
}

// markerBefore is the marker with which page i begins.
func markerBefore(pages [][]map[string]any, i int) string {
	if i == 0 {
		return ""
	}
	before := pages[i-1]
	return "&marker=" + before[len(before)-1]["uuid"].(string)
}

// fullListOfOurClient holds that a Catalog is that list, with the nodes that have a parent.
func fullListOfOurClient(x *tester) {
	x.create("a")
	if err := x.backdoor.AddNodes(x.Context(), "catalog~", pageMax+5, ironic.AdoptFailed); err != nil {
		x.Fatal(err)
	}
	query := fullFields + ",conductor_group"
	if x.target.MaxMinor >= firstChildren {
		query += "&" + withChildren
	}
	_, pages := x.walk(query)
	want := []ironic.Entry{}
	for _, n := range slices.Concat(pages...) {
		name, _ := n["name"].(string)
		want = append(want, ironic.Entry{
			UUID: n["uuid"].(string), Name: name, State: ironic.State(n["provision_state"].(string)),
			BootInterface: n["boot_interface"].(string), ConductorGroup: n["conductor_group"].(string),
		})
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
	if i, ok := c.Find(want[pageMax].UUID); !ok || i != pageMax {
		x.Errorf("found at %d, %v; want %d", i, ok, pageMax)
	}
}
