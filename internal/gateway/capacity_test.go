package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

const capacityPath = "/v1/nodes?fields=uuid%2Cname%2Cprovision_state%2Cboot_interface"

var day = time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)

// fleet is an Ironic with so many nodes, and pages of so many.
func fleet(nodes, page int) func(*fakeironic.Options) {
	return func(o *fakeironic.Options) {
		o.Fleet.Nodes, o.Fleet.Unnamed, o.Fleet.VirtualMedia = nodes, 0.3, 0.3
		o.API.MaxLimit = page
	}
}

// The cached answer is Ironic's own, to the byte, for every page that Ironic itself can
// name, and for every client.
func TestGW11_TheListIsIronicsOwn(t *testing.T) {
	for _, page := range []int{3, 7, 8, 1000} {
		l := newLab(t, labOptions{start: day, fake: fleet(7, page)})
		l.poll()
		for _, limit := range []string{"", "&limit=1", "&limit=2", "&limit=3", "&limit=6", "&limit=7", "&limit=8", "&limit=1001", "&limit=999999999"} {
			for _, marker := range []string{"", l.uuids[0], l.uuids[4], l.uuids[6]} {
				path := capacityPath + limit
				if marker != "" {
					path += "&marker=" + marker
				}
				l.same(func() *http.Request { return get(path) }, "nodes")
			}
		}
		for _, version := range []string{"1.39", "1.46", "1.81"} {
			for _, host := range []string{"gw", "gw:6390", "10.0.0.1:80", "[::1]:6390", "Gateway.example"} {
				l.same(func() *http.Request {
					return get(capacityPath, "X-Openstack-Ironic-Api-Version", version, "Openstack-Api-Version", "baremetal "+version, "Host", host)
				}, "nodes")
			}
		}
		l.close()
	}
}

// Whoever follows next gets every node once, from the cache.
func TestGW11_NextLeadsThroughTheWholeList(t *testing.T) {
	l := newLab(t, labOptions{start: day, fake: fleet(11, 4)})
	defer l.close()
	l.poll()
	path, rows := capacityPath, 0
	for path != "" {
		answer := l.do(get(path))
		if answer.Header().Get(cacheHeader) != "nodes" || answer.Header().Get("Age") != "0" {
			t.Fatalf("%s: %v", path, answer.Header())
		}
		nodes, next := nodesOf(t, answer.Body.Bytes())
		rows += nodes
		path = ""
		if next != "" {
			path = mustURL(t, next).RequestURI()
		}
	}
	if rows != 11 {
		t.Errorf("%d nodes", rows)
	}
}

// Whatever says more, or something else, is Ironic's to answer.
func TestGW11_OtherRequestsPassThrough(t *testing.T) {
	l := newLab(t, labOptions{start: day, fake: fleet(3, 1000)})
	defer l.close()
	l.poll()
	for _, path := range []string{
		"/v1/nodes", "/v1/nodes?", "/v1/nodes/detail", "/v1/nodes?limit=2", "/v1/nodes?fields=uuid",
		"/v1/nodes?fields=name,uuid,provision_state,boot_interface",
		"/v1/nodes?fields=uuid,name,provision_state,boot_interface,driver",
		"/v1/nodes/?fields=uuid,name,provision_state,boot_interface", "/nodes?fields=uuid,name,provision_state,boot_interface",
		"/v1/nodes.json?fields=uuid,name,provision_state,boot_interface", "/v1//nodes?fields=uuid,name,provision_state,boot_interface",
		"/v1/%6eodes?fields=uuid,name,provision_state,boot_interface",
		capacityPath + "&limit=0", capacityPath + "&limit=-1", capacityPath + "&limit=x", capacityPath + "&limit=01",
		capacityPath + "&limit=", capacityPath + "&limit=1&limit=2", capacityPath + "&limit=+2",
		capacityPath + "&" + capacityPath[len("/v1/nodes?"):], capacityPath + "&sort_key=name", capacityPath + "&sort_key=", capacityPath + "&sort_dir=desc",
		capacityPath + "&provision_state=active", capacityPath + "&driver=ipmi", capacityPath + "&owner=x", capacityPath + "&maintenance=True",
		capacityPath + "&associated=True", capacityPath + "&detail=False", capacityPath + "&retired=False", capacityPath + "&_method=GET",
		capacityPath + "&marker=", capacityPath + "&marker=metal3~x", capacityPath + "&marker=00000000-0000-0000-0000-000000000000", capacityPath + "#x",
	} {
		l.same(func() *http.Request { return get(path) }, "")
	}
	for _, header := range [][2]string{
		{version, ""}, {version, "1.38"}, {version, "1.82"}, {version, "latest"}, {version, "1.081"}, {version, "2.81"}, {version, " 1.81x"},
		{"Openstack-Api-Version", "baremetal 1.80"}, {"Openstack-Api-Version", "compute 2.1"}, {"Openstack-Api-Version", "baremetal latest"},
		{"X-Auth-Token", "t"}, {"X-Roles", "reader"}, {"X-Forwarded-Host", "other"}, {"Forwarded", "host=other"}, {"Cache-Control", "no-cache"},
		{"Accept", "text/html"}, {"Range", "bytes=0-1"}, {"If-None-Match", "x"},
	} {
		got := l.do(get(capacityPath, header[0], header[1]))
		if got.Header().Get(cacheHeader) != "" {
			t.Errorf("%v is answered from the cache", header)
		}
	}
	for _, method := range []string{http.MethodHead, http.MethodPost, http.MethodOptions, "get"} {
		r := get(capacityPath)
		r.Method = method
		if got := l.do(r); got.Header().Get(cacheHeader) != "" {
			t.Errorf("%s is answered from the cache", method)
		}
	}
	body := newRequest(http.MethodGet, capacityPath, "{}")
	body.Header.Set(version, "1.81")
	if got := l.do(body); got.Header().Get(cacheHeader) != "" {
		t.Error("a GET with a body is answered from the cache")
	}
}

// States are those of the last poll, membership that of the list; a change of both is
// seen when they are.
func TestGW11_StatesComeFromPolls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// A probe shows all nodes that may have changed. Of a site where more change
		// between two polls, nodes that do not work wait for the next list.
		l := newLab(t, labOptions{start: day, fake: fleet(rapid.IntRange(1, 12).Draw(t, "nodes"), rapid.IntRange(12, 13).Draw(t, "page"))})
		defer l.close()
		l.poll()
		l.do(get(capacityPath))
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			for range rapid.IntRange(0, 5).Draw(t, "changes") {
				uuid := rapid.SampledFrom(l.uuids).Draw(t, "node")
				state := rapid.SampledFrom([]ironic.State{ironic.Available, ironic.Manageable, ironic.Active, ironic.Deploying, ironic.CleanWait, ironic.DeployFailed}).Draw(t, "state")
				l.with(func(now time.Time, w *fakeironic.World) error { return w.SetState(now, uuid, state, false) })
			}
			l.pass(time.Duration(rapid.IntRange(1, 20).Draw(t, "seconds")) * time.Second)
			l.poll()
			path := capacityPath
			if rapid.Bool().Draw(t, "limited") {
				path += fmt.Sprintf("&limit=%d", rapid.IntRange(1, 15).Draw(t, "limit"))
			}
			if rapid.Bool().Draw(t, "marked") {
				path += "&marker=" + rapid.SampledFrom(l.uuids).Draw(t, "marker")
			}
			l.same(func() *http.Request { return get(path) }, "nodes")
		}
	})
}

// A list is believed for LIST_MAX_AGE and not longer, its age is told.
func TestGW11_AgeAndMembership(t *testing.T) {
	l := newLab(t, labOptions{start: day, fake: fleet(3, 1000)})
	defer l.close()
	l.poll()
	l.do(get(capacityPath))
	l.with(func(now time.Time, w *fakeironic.World) error {
		_, err := w.CreateNode(now, fakeironic.NodeSpec{Name: "metal3~new", State: ironic.Available})
		return err
	})
	for second := range 90 {
		if l.pass(time.Second); second%5 == 0 {
			l.poll()
		}
		got := l.do(get(capacityPath))
		nodes, _ := nodesOf(t, got.Body.Bytes())
		var age int
		if _, err := fmt.Sscan(got.Header().Get("Age"), &age); err != nil || age > 60 || nodes == 3 && age < second || second > 61 && nodes != 4 {
			t.Fatalf("second %d: age %q, %d nodes", second, got.Header().Get("Age"), nodes)
		}
	}
}

// An empty Ironic has an empty list, of the same form.
func TestGW11_NoNodes(t *testing.T) {
	l := newLab(t, labOptions{start: day, fake: fleet(0, 1000)})
	defer l.close()
	l.poll()
	l.same(func() *http.Request { return get(capacityPath) }, "nodes")
}

// A view that is too old for a yes is no reason to send a crowd to an Ironic that is slow:
// the list is as old as LIST_MAX_AGE allows whatever the polls do, and says so.
func TestGW11_TheListIsThereWhileTheViewIsTooOld(t *testing.T) {
	l := newLab(t, labOptions{start: day, fake: fleet(3, 1000)})
	defer l.close()
	l.poll()
	l.same(func() *http.Request { return get(capacityPath) }, "nodes")
	l.pass(59 * time.Second)
	if l.controller.View(l.now()).Fresh {
		t.Fatal("the view is young: nothing is shown")
	}
	l.same(func() *http.Request { return get(capacityPath) }, "nodes")
	if got := l.gate.Stats(); got.ListHits != 2 || got.Passed != 0 {
		t.Errorf("%+v", got)
	}
}

// Whom Ironic does not let in gets Ironic's own 401, once a minute whoever it is.
func TestGW11_OnlyWhomIronicLetsIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, labOptions{fake: func(o *fakeironic.Options) {
			fleet(3, 1000)(o)
			o.API.Username, o.API.Password = "admin", "secret"
		}})
		defer l.close()
		ask := func(password string) *http.Request {
			r := get(capacityPath)
			if password != "" {
				r.SetBasicAuth("admin", password)
			}
			return r
		}
		for _, password := range []string{"", "wrong"} {
			l.same(func() *http.Request { return ask(password) }, "")
		}
		// The throttle has no credentials of its own here, so it has no list.
		l.same(func() *http.Request { return ask("secret") }, "")
		if got := l.gate.Stats(); got.ListMisses != 3 || got.ListHits != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// What was let in is asked again after a minute, by one row and not by the whole list.
func TestGW11_AKnockAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, labOptions{fake: fleet(3, 1000)})
		defer l.close()
		l.poll()
		l.wire.count()
		for range 10 * 60 {
			if l.do(get(capacityPath)); l.now().Unix()%5 == 0 {
				l.poll()
			}
			l.pass(time.Second)
		}
		if n := l.wire.counts("fields=" + capacityFields + "&limit=1"); n < 9 || n > 10 {
			t.Errorf("%d knocks in ten minutes, want one a minute", n)
		}
		if n := l.wire.counts("fields=" + capacityFields + ",conductor_group"); n > 2*11 { // two pages, the second one empty
			t.Errorf("%d pages in ten minutes, want a list a minute", n)
		}
		if got := l.gate.Stats(); got.ListHits != 600 || got.Passed != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// nodesOf counts the nodes of a list, and returns its link to the next page.
func nodesOf(t tester, body []byte) (nodes int, next string) {
	var list struct {
		Nodes []json.RawMessage `json:"nodes"`
		Next  string            `json:"next"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		t.Errorf("%v: %s", err, body)
	}
	return len(list.Nodes), list.Next
}

// A Connection header that names others takes them off on the way: what is answered, and to whom, goes by the request that
// Ironic gets, and such a one is never answered from memory.
func TestGW11_WhatConnectionTakesAwayIsSeenByNobody(t *testing.T) {
	for _, name := range []string{version, "Openstack-Api-Version", "Authorization", "accept", "User-Agent", "X-Unknown"} {
		l := newLab(t, labOptions{start: day, fake: fleet(3, 1000)})
		l.poll()
		ask := func(header ...string) *http.Request {
			r := get(capacityPath, append([]string{"Openstack-Api-Version", "baremetal 1.81"}, header...)...)
			r.SetBasicAuth("admin", "secret")
			return r
		}
		taken, without := ask(), ask()
		taken.Header["Connection"] = []string{"close, " + name, "Keep-Alive"}
		without.Header.Del(name)
		for range 2 {
			got := l.do(taken.Clone(t.Context()))
			if got.Header().Get(cacheHeader) != "" {
				t.Errorf("%s: answered from memory", name)
			}
			l.alike(taken, got, l.direct(without.Clone(t.Context())))
		}
		l.same(func() *http.Request { return ask() }, "nodes") // what the next one gets is its own
		l.close()
	}
	basic := func(o *fakeironic.Options) { o.API.Username, o.API.Password = "admin", "secret" }
	play(t, options{limit: 1, nodes: 1, fake: basic}, func(s *stage) {
		r := putRequest(s.uuids[0], ironic.TargetActive)
		r.SetBasicAuth("admin", "secret")
		r.Header.Set("Connection", "Authorization")
		s.do(r).want(http.StatusUnauthorized)
		s.occupied(0)
	})
}
