package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// readsOf are what a waiting host asks of its node.
func readsOf(uuid string) []string {
	node := "/v1/nodes/" + uuid
	return []string{node, "/v1/ports?node_uuid=" + uuid, node + "/firmware", node + "/inventory", node + "/validate"}
}

// read is a read as a real BMO makes it.
func read(path string) *http.Request {
	return get(path, version, "1.89", "Openstack-Api-Version", "baremetal 1.89")
}

// full is a lab whose only slot is taken by the first node.
func full(t tester, o labOptions) *lab {
	t.Helper()
	edit := o.fake
	o.limit, o.fake = 1, func(o *fakeironic.Options) {
		fleet(4, 1000)(o)
		o.Fleet.VirtualMedia = 0 // exempt
		o.API.MaxMinor = 96
		if edit != nil {
			edit(o)
		}
	}
	l := newLab(t, o)
	l.settle()
	if got := l.do(named(putRequest(l.uuids[0], ironic.TargetActive))); got.Code != http.StatusAccepted {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	l.poll()
	return l
}

func named(r *http.Request) *http.Request {
	r.Header.Set(version, "1.81")
	return r
}

// refuse has the nth node's host refused.
func (l *lab) refuse(n int) {
	l.Helper()
	got := l.do(named(putRequest(l.uuids[n], ironic.TargetActive)))
	if got.Code != http.StatusConflict || got.Header().Get(reasonHeader) != string(api.ReasonFull) {
		l.Fatalf("%d %s", got.Code, got.Body)
	}
}

// from is the cache that a read is answered from.
func (l *lab) from(path string) string { return l.do(read(path)).Header().Get(cacheHeader) }

func TestGW18_ARefusedHostsReadsAreAnsweredAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := full(t, labOptions{})
		defer l.close()
		for _, path := range readsOf(l.uuids[1]) {
			l.same(func() *http.Request { return read(path) }, "")
			l.same(func() *http.Request { return read(path) }, "") // it does not wait yet
		}
		l.refuse(1)
		l.poll()
		for _, path := range readsOf(l.uuids[1]) {
			l.same(func() *http.Request { return read(path) }, "")
			l.same(func() *http.Request { return read(path) }, "host")
			l.same(func() *http.Request { return get(path, version, "1.88") }, "") // another question
			l.same(func() *http.Request { return get(path, version, "1.89", "Host", "other") }, "")
			if got := l.do(get(path, version, "1.89", "Openstack-Api-Version", "baremetal 1.89", "Cache-Control", "no-cache")).Header().Get(cacheHeader); got != "" {
				t.Errorf("%s: whoever wants no cache gets an answer from %q", path, got)
			}
		}
		for _, path := range readsOf(l.uuids[2]) { // another host, which does not wait
			l.do(read(path))
			l.same(func() *http.Request { return read(path) }, "")
		}
		l.pass(3 * time.Second)
		if got := l.do(read(readsOf(l.uuids[1])[0])).Header().Get("Age"); got != "3" {
			t.Errorf("age %q after 3 s", got)
		}
	})
}

// Each thing that speaks against an answer, alone.
func TestGW18_WhatEndsAnAnswer(t *testing.T) {
	node := func(l *lab, n int) string { return "/v1/nodes/" + l.uuids[n] }
	poll := func(l *lab, d time.Duration) {
		for range int(d / (5 * time.Second)) {
			l.pass(5 * time.Second)
			l.poll()
		}
	}
	patch := `[{"op": "replace", "path": "/extra", "value": {"a": "b"}}]`
	for _, row := range []struct {
		name string
		then func(l *lab)
		want string
	}{
		{"nothing", func(*lab) {}, "host"},
		{"not refused any more", func(l *lab) { poll(l, waitFor+5*time.Second) }, ""},
		{"refused all the time", func(l *lab) {
			for range 14 {
				poll(l, 10*time.Second)
				l.refuse(1)
				l.do(get("/v1/nodes/" + l.uuids[2])) // the client is let in
			}
		}, "host"},
		{"too old", func(l *lab) {
			for range 16 {
				poll(l, 10*time.Second)
				l.refuse(1)
				l.do(get("/v1/nodes/" + l.uuids[2]))
			}
		}, ""},
		{"no poll for a while", func(l *lab) { l.pass(observedMaxAge) }, "host"},
		{"no poll", func(l *lab) { l.pass(observedMaxAge + time.Second) }, ""},
		{"polls that fail", func(l *lab) {
			l.wire.away.Store(true)
			poll(l, observedMaxAge+5*time.Second)
			l.wire.away.Store(false)
		}, ""},
		{"Ironic was away", func(l *lab) {
			l.wire.away.Store(true)
			l.do(get("/v1/nodes/" + l.uuids[2]))
			l.wire.away.Store(false)
		}, ""},
		{"a write to it", func(l *lab) { l.do(named(newRequest(http.MethodPatch, node(l, 1), patch))) }, ""},
		{"a write below it", func(l *lab) { l.do(named(newRequest(http.MethodDelete, node(l, 1)+"/maintenance", ""))) }, ""},
		{"a write by name", func(l *lab) {
			l.do(named(newRequest(http.MethodPatch, "/v1/nodes/ns-01~host-00002", patch)))
		}, ""},
		{"a write to another", func(l *lab) { l.do(named(newRequest(http.MethodPatch, node(l, 2), patch))) }, "host"},
		{"a port for it", func(l *lab) { l.do(named(newPort(l.uuids[1]))) }, ""},
		{"a port for another", func(l *lab) { l.do(named(newPort(l.uuids[2]))) }, "host"},
		{"a port for who knows whom", func(l *lab) { l.do(named(newRequest(http.MethodPost, "/v1/ports", `{}`))) }, ""},
		{"a new node", func(l *lab) { l.do(named(newRequest(http.MethodPost, "/v1/nodes", `{"driver": "fake-hardware"}`))) }, "host"},
		{"a write to who knows what", func(l *lab) { l.do(named(newRequest(http.MethodPatch, "/v1/ports/"+l.uuids[2], `[]`))) }, ""},
		{"a write in another spelling", func(l *lab) { l.do(named(newRequest(http.MethodPatch, "/v1//nodes/"+l.uuids[1], patch))) }, ""},
		{"a lookup", func(l *lab) { l.do(get("/v1/lookup?node_uuid=" + l.uuids[1])) }, ""},
		{"a read that is none", func(l *lab) { l.do(get(node(l, 1) + "?_method=DELETE")) }, ""},
		{"a refused PUT", func(l *lab) { l.refuse(1) }, "host"},
		{"a change, seen by a poll", func(l *lab) {
			l.pass(time.Second)
			l.with(func(now time.Time, w *fakeironic.World) error {
				return w.SetState(now, l.uuids[1], ironic.Manageable, false)
			})
			l.poll()
		}, ""},
		{"at work, seen by a poll", func(l *lab) {
			l.pass(time.Second)
			l.with(func(now time.Time, w *fakeironic.World) error {
				return w.SetState(now, l.uuids[1], ironic.CleanWait, false)
			})
			l.poll()
		}, ""},
		{"another's change", func(l *lab) {
			l.with(func(now time.Time, w *fakeironic.World) error {
				return w.SetState(now, l.uuids[2], ironic.Manageable, false)
			})
			l.poll()
		}, "host"},
		{"the client is not let in lately", func(l *lab) {
			poll(l, accessMaxAge+5*time.Second)
		}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := full(t, labOptions{})
				defer l.close()
				l.refuse(1)
				l.poll()
				paths := readsOf(l.uuids[1])
				for _, path := range paths {
					l.do(read(path))
				}
				row.then(l)
				for _, path := range paths {
					if got := l.from(path); got != row.want {
						t.Errorf("%s is answered from %q, want %q", path, got, row.want)
					}
					if row.want == "" {
						break // the first one lets the client in again
					}
				}
			})
		})
	}
}

// newPort makes a port for a node.
func newPort(uuid string) *http.Request {
	return newRequest(http.MethodPost, "/v1/ports", fmt.Sprintf(`{"node_uuid": %q, "address": "02:00:00:00:00:01"}`, uuid))
}

func bodyOf(w *httptest.ResponseRecorder) string { return fmt.Sprint(w.Code, " ", w.Body) }
