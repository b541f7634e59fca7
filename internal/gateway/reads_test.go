package gateway

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
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
		{"a write to it", func(l *lab) { l.do(named(request(http.MethodPatch, node(l, 1), patch))) }, ""},
		{"a write below it", func(l *lab) { l.do(named(request(http.MethodDelete, node(l, 1)+"/maintenance", ""))) }, ""},
		{"a write by name", func(l *lab) {
			l.do(named(request(http.MethodPatch, "/v1/nodes/ns-01~host-00002", patch)))
		}, ""},
		{"a write to another", func(l *lab) { l.do(named(request(http.MethodPatch, node(l, 2), patch))) }, "host"},
		{"a port for it", func(l *lab) { l.do(named(newPort(l.uuids[1]))) }, ""},
		{"a port for another", func(l *lab) { l.do(named(newPort(l.uuids[2]))) }, "host"},
		{"a port for who knows whom", func(l *lab) { l.do(named(request(http.MethodPost, "/v1/ports", `{}`))) }, ""},
		{"a new node", func(l *lab) { l.do(named(request(http.MethodPost, "/v1/nodes", `{"driver": "fake-hardware"}`))) }, "host"},
		{"a write to who knows what", func(l *lab) { l.do(named(request(http.MethodPatch, "/v1/ports/"+l.uuids[2], `[]`))) }, ""},
		{"a write in another spelling", func(l *lab) { l.do(named(request(http.MethodPatch, "/v1//nodes/"+l.uuids[1], patch))) }, ""},
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
			for range 6 {
				poll(l, 10*time.Second)
				l.refuse(1)
			}
			l.gate.access.accept(time.Now().Add(-accessMaxAge-time.Second), credentials{})
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
	return request(http.MethodPost, "/v1/ports", fmt.Sprintf(`{"node_uuid": %q, "address": "02:00:00:00:00:01"}`, uuid))
}

// A write that is on its way while a read is answered makes its answer unusable, and so
// does one whose own answer is lost, for as long as it may still be carried out.
func TestGW18_WritesOnTheirWay(t *testing.T) {
	now, uuid := day, "75675ad6-1123-46fa-ad6b-ee54a72f1f1c"
	q := hostRead{uuid: uuid, document: true, key: readKey{uri: "/v1/nodes/" + uuid}}
	for _, to := range []touch{{node: uuid}, {node: strings.ToUpper(uuid)}, {all: true}} {
		for _, sure := range []bool{true, false} {
			c := newReads()
			c.noteRefusal(now, uuid)
			keep := func(t *ticket) {
				c.keep(now, t, 200, http.Header{}, []byte("{}"), &shown{state: ironic.Manageable})
			}
			usable := func() bool { return c.get(now, uuid, q.key) != nil }

			before := c.begin(now, q)
			end := c.write(to)
			keep(before)
			if during := c.begin(now, q); during != nil || usable() {
				t.Errorf("%v: a read during a write is kept", to)
			}
			end(now, sure)
			c.noteRefusal(now, uuid)
			keep(before)
			if usable() {
				t.Errorf("%v: a read from before a write is kept", to)
			}
			if after := c.begin(now, q); sure {
				keep(after)
			} else if after != nil {
				t.Errorf("%v: a write without an answer is over at once", to)
			}
			if usable() != sure {
				t.Errorf("%v, answered %t: usable %t", to, sure, usable())
			}
		}
	}
}

func TestGW18_RoomIsBounded(t *testing.T) {
	c, body := newReads(), make([]byte, readMaxBody)
	uuid := func(i int) string { return fmt.Sprintf("%08x-0000-0000-0000-000000000000", i) }
	for i := range 3 * readMaxBytes / readMaxBody {
		now := day.Add(time.Duration(i) * time.Millisecond)
		c.noteRefusal(now, uuid(i))
		q := hostRead{uuid: uuid(i), key: readKey{uri: fmt.Sprint(i)}}
		c.keep(now, c.begin(now, q), 200, nil, body, nil)
		if c.room() > readMaxBytes {
			t.Fatalf("%d bytes", c.room())
		}
	}
	if c.room() < readMaxBytes/2 {
		t.Errorf("only %d bytes are used", c.room())
	}
	c.noteRefusal(day.Add(time.Hour), uuid(0))
	if len(c.waiters) != 1 || c.order.Len() != 0 || c.room() != 0 {
		t.Errorf("%d waiters, %d answers, %d bytes are left", len(c.waiters), c.order.Len(), c.room())
	}
}

func bodyOf(w *httptest.ResponseRecorder) string { return fmt.Sprint(w.Code, " ", w.Body) }
