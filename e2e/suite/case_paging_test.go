package suite

import (
	"net/url"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

var pagingCases = []testCase{
	{"NextOfAFullPage", nextOfAFullPage},
	{"NextDropsFilters", nextDropsFilters},
	{"LinksFollowHost", linksFollowHost},
}

// pageMax is the longest page of an Ironic that nobody has configured.
const pageMax = 1000

func escape(s string) string { return url.QueryEscape(s) }

// nextOfAFullPage holds that next is there when a page is full, whether or not
// anything follows, and never else.
func nextOfAFullPage(x *tester) {
	for _, suffix := range []string{"a", "b"} {
		x.setState(x.create(suffix).UUID, ironic.UnrescueFailed)
	}
	const filter = "provision_state=unrescue+failed&fields=uuid&limit="
	one, next := x.list(filter + "1")
	x.same("rows of 1", len(one), 1)
	x.wantNext(next, x.URL, url.Values{"fields": {"uuid"}, "limit": {"1"}, "marker": {one[0]["uuid"].(string)}})

	two, next := x.list(filter + "2")
	x.same("rows of 2", len(two), 2)
	last := two[1]["uuid"].(string)
	x.wantNext(next, x.URL, url.Values{"fields": {"uuid"}, "limit": {"2"}, "marker": {last}})

	three, next := x.list(filter + "3")
	x.same("rows of 3", len(three), 2)
	x.same("next of a short page", next, "")

	rest, next := x.list(filter + "2&marker=" + last)
	x.same("after the last", len(rest), 0)
	x.same("next of an empty page", next, "")
	rest, _ = x.list(filter + "2&marker=" + one[0]["uuid"].(string))
	x.same("after the first", len(rest), 1)
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
	x.setState(x.create("a").UUID, ironic.RescueFailed)
	other := x.create("b")
	x.setState(x.create("c").UUID, ironic.RescueFailed)
	first, next := x.list("provision_state=rescue+failed&limit=1&fields=uuid,provision_state&sort_key=provision_updated_at&sort_dir=asc")
	x.wantNext(next, x.URL, url.Values{
		"fields": {"uuid,provision_state"}, "limit": {"1"}, "marker": {first[0]["uuid"].(string)},
		"sort_key": {"provision_updated_at"}, "sort_dir": {"asc"},
	})
	first, next = x.list("provision_state=rescue+failed&driver=fake-hardware&limit=1&fields=uuid")
	x.wantNext(next, x.URL, url.Values{
		"fields": {"uuid"}, "limit": {"1"}, "marker": {first[0]["uuid"].(string)},
	})
	u, _ := url.Parse(next)
	page, _ := x.list(u.RawQuery)
	x.same("the page that next leads to", page[0]["uuid"], any(other.UUID))
	// Without fields, the default ones are in it.
	first, next = x.list("limit=1")
	x.wantNext(next, x.URL, url.Values{
		"fields": {"instance_uuid,maintenance,power_state,provision_state,uuid,name"}, "limit": {"1"}, "marker": {first[0]["uuid"].(string)},
	})
}

// linksFollowHost holds that absolute links are built from the Host header: a
// proxy that passes it on need not rewrite them.
func linksFollowHost(x *tester) {
	n := x.create("a")
	u, err := url.Parse(x.URL)
	if err != nil {
		x.Fatal(err)
	}
	// The gateway on loopback answers to this machine's own names only.
	const name = "localhost:1234"
	base := u.Scheme + "://" + name
	nodes, next := x.list("limit=1&fields=uuid", host(name))
	uuid := nodes[0]["uuid"].(string)
	x.same("links", nodes[0]["links"], any(x.links(base, uuid)))
	x.wantNext(next, base, url.Values{"fields": {"uuid"}, "limit": {"1"}, "marker": {uuid}})
	a := x.put(n.UUID, `{"target":"manage"}`, host(name), header("X-Forwarded-Host", "other.example")).want(202)
	a.wantHeader("Location", base+"/v1/nodes/"+n.UUID+"/states")
	x.awaitState(n.UUID, ironic.Manageable)
}
