package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/internal/fakeironic"
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
		{"not refused any more", func(l *lab) { poll(l, 35*time.Second) }, ""},
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
		{"no poll", func(l *lab) { l.pass(11 * time.Second) }, ""},
		{"a poll that fails", func(l *lab) {
			l.wire.away.Store(true)
			l.pass(6 * time.Second)
			l.poll()
			l.pass(5 * time.Second)
			l.poll()
			l.wire.away.Store(false)
		}, ""},
		{"a write to it", func(l *lab) { l.do(named(request(http.MethodPatch, node(l, 1), patch))) }, ""},
		{"a write below it", func(l *lab) { l.do(named(request(http.MethodDelete, node(l, 1)+"/maintenance", ""))) }, ""},
		{"a write by name", func(l *lab) {
			l.do(named(request(http.MethodPatch, "/v1/nodes/ns-01~host-00002", patch)))
		}, ""},
		{"a write to another", func(l *lab) { l.do(named(request(http.MethodPatch, node(l, 2), patch))) }, "host"},
		{"a write to who knows what", func(l *lab) { l.do(named(request(http.MethodPost, "/v1/ports", `{}`))) }, ""},
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

// A write that is on its way while a read is answered makes its answer unusable, and so
// does one whose own answer is lost, for as long as it may still be carried out.
func TestGW18_WritesOnTheirWay(t *testing.T) {
	now, uuid := day, "75675ad6-1123-46fa-ad6b-ee54a72f1f1c"
	q := hostRead{uuid: uuid, document: true, key: readKey{uri: "/v1/nodes/" + uuid}}
	for _, to := range []string{uuid, strings.ToUpper(uuid), ""} {
		for _, sure := range []bool{true, false} {
			c := newReads()
			c.noteRefusal(now, uuid)
			c.polled(now, ironic.Look{Mark: ironic.Mark{At: now}, Newest: []ironic.Change{}, Covered: true})
			keep := func(t *ticket) { c.keep(now, t, 200, http.Header{}, []byte("{}"), nil) }
			usable := func() bool { return c.get(now, uuid, q.key) != nil }

			before := c.begin(now, q)
			end := c.write(to)
			keep(before)
			if during := c.begin(now, q); during != nil || usable() {
				t.Errorf("%q: a read during a write is kept", to)
			}
			end(now, sure)
			keep(before)
			if usable() {
				t.Errorf("%q: a read from before a write is kept", to)
			}
			if after := c.begin(now, q); sure {
				keep(after)
			} else if after != nil {
				t.Errorf("%q: a write without an answer is over at once", to)
			}
			if usable() != sure {
				t.Errorf("%q, answered %t: usable %t", to, sure, usable())
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

// Whatever happens, an answer from the cache is Ironic's own but for changes that no poll
// has seen and nobody made through the gateway; and it is never from before a write
// through the gateway.
func TestGW18_AnAnswerIsNeverOlderThanWhatIsKnown(t *testing.T) {
	hits := 0
	defer func() {
		if hits == 0 {
			t.Error("nothing was ever answered from the cache")
		}
	}()
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.SampledFrom([]int{4, 40}).Draw(t, "nodes")
		l := full(t, labOptions{start: day, fake: func(o *fakeironic.Options) { o.Fleet.Nodes = nodes }})
		defer l.close()
		// What a client may still be told of a path: its answers since the last moment at
		// which the throttle learnt of a change.
		told := map[string][]string{}
		answer := func(path string) string { return bodyOf(l.direct(read(path))) }
		learn := func() { // all that was before is known by now
			for path := range told {
				told[path] = nil
			}
		}
		note := func() {
			for n := 1; n < 3; n++ {
				for _, path := range readsOf(l.uuids[n]) {
					if now := answer(path); len(told[path]) == 0 || told[path][len(told[path])-1] != now {
						told[path] = append(told[path], now)
					}
				}
			}
		}
		l.refuse(1)
		l.refuse(2)
		l.poll()
		t.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) { note() },
			"try": func(t *rapid.T) { // as a host does that waits: its reads, then the PUT
				uuid := l.uuids[rapid.IntRange(1, 2).Draw(t, "node")]
				for _, path := range readsOf(uuid) {
					got := l.do(read(path))
					if got.Header().Get(cacheHeader) == "" {
						continue
					}
					if hits++; !slices.Contains(told[path], bodyOf(got)) {
						t.Fatalf("%s: %s\nis none of %q", path, bodyOf(got), told[path])
					}
				}
				l.do(named(putRequest(uuid, ironic.TargetActive)))
			},
			"write": func(t *rapid.T) {
				uuid := l.uuids[rapid.IntRange(1, 2).Draw(t, "node")]
				body := fmt.Sprintf(`[{"op": "add", "path": "/extra/k", "value": "%d"}]`, rapid.Int().Draw(t, "value"))
				l.do(named(request(http.MethodPatch, "/v1/nodes/"+uuid, body)))
				for _, path := range readsOf(uuid) {
					told[path] = nil
				}
			},
			"change": func(t *rapid.T) {
				uuid := l.uuids[rapid.IntRange(1, 2).Draw(t, "node")]
				state := rapid.SampledFrom([]ironic.State{ironic.Available, ironic.Manageable, ironic.Cleaning, ironic.DeployFailed}).Draw(t, "state")
				l.with(func(now time.Time, w *fakeironic.World) error { return w.SetState(now, uuid, state, false) })
			},
			"many": func(*rapid.T) { // more than a probe shows
				l.with(func(now time.Time, w *fakeironic.World) error {
					var errs []error
					for _, uuid := range l.uuids[3:] {
						errs = append(errs, w.SetState(now, uuid, ironic.Manageable, false))
					}
					return errors.Join(errs...)
				})
			},
			"time": func(t *rapid.T) {
				l.pass(time.Duration(rapid.IntRange(1, 4000).Draw(t, "ms")) * time.Millisecond)
			},
			"poll": func(*rapid.T) {
				l.poll()
				learn()
			},
		})
	})
}

func bodyOf(w *httptest.ResponseRecorder) string { return fmt.Sprint(w.Code, " ", w.Body) }
