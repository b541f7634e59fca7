package cache

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/request"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

var day = time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)

const maxBody = 256 << 10

// A write that is on its way while a read is answered makes its answer unusable, and so
// does one whose own answer is lost, for as long as it may still be carried out.
func TestGW18_WritesOnTheirWay(t *testing.T) {
	now, uuid := day, "75675ad6-1123-46fa-ad6b-ee54a72f1f1c"
	q := hostRead{uuid: uuid, document: true, key: "/v1/nodes/" + uuid}
	for _, to := range []request.Touch{{Node: uuid}, {Node: strings.ToUpper(uuid)}, {All: true}} {
		for _, sure := range []bool{true, false} {
			c := NewReads("", nil, nil)
			c.Refused(now, uuid)
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
			c.Refused(now, uuid)
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
	c, body := NewReads("", nil, nil), make([]byte, maxBody)
	uuid := func(i int) string { return fmt.Sprintf("%08x-0000-0000-0000-000000000000", i) }
	for i := range 3 * readMaxBytes / maxBody {
		now := day.Add(time.Duration(i) * time.Millisecond)
		c.Refused(now, uuid(i))
		q := hostRead{uuid: uuid(i), key: fmt.Sprint(i)}
		c.keep(now, c.begin(now, q), 200, nil, body, nil)
		if c.bytes > readMaxBytes {
			t.Fatalf("%d bytes", c.bytes)
		}
	}
	if c.bytes < readMaxBytes/2 {
		t.Errorf("only %d bytes are used", c.bytes)
	}
	c.Refused(day.Add(time.Hour), uuid(0))
	if len(c.waiters) != 1 || c.order.Len() != 0 || c.bytes != 0 {
		t.Errorf("%d waiters, %d answers, %d bytes are left", len(c.waiters), c.order.Len(), c.bytes)
	}
}

// Whoever writes to nodes that there are not takes no memory with it for long.
func TestGW18_WrittenNodesAreForgotten(t *testing.T) {
	uuid := func(i int) string { return fmt.Sprintf("%08x-0000-4000-8000-00000000000A", i) }
	c := NewReads("", nil, nil)
	for i := range 100 {
		c.write(request.Touch{Node: uuid(i)})(day, true)
	}
	if n := len(c.waiters); n != 0 {
		t.Errorf("%d nodes are remembered after writes that are over", n)
	}
	end := c.write(request.Touch{Node: uuid(0)})
	c.write(request.Touch{Node: uuid(0)})(day, true)
	c.Polled(day.Add(time.Hour), ironic.Observation{})
	if len(c.waiters) != 1 {
		t.Error("a write on its way is forgotten")
	}
	end(day.Add(time.Hour), true)

	now := day.Add(2 * time.Hour)
	for i := range 1000 { // of which nobody knows how they end
		now = now.Add(time.Second)
		c.write(request.Touch{Node: uuid(i)})(now, false)
		if n, most := len(c.waiters), int((readMaxAge+observedMaxAge)/time.Second)+2; n > most {
			t.Fatalf("%d nodes are remembered, want at most %d", n, most)
		}
	}
	c.Refused(now, uuid(0))
	c.keep(now, c.begin(now, hostRead{uuid: uuid(0)}), 200, nil, nil, nil)
	c.Polled(now.Add(readMaxAge+time.Second), ironic.Observation{})
	if len(c.waiters) != 0 || c.bytes != 0 {
		t.Errorf("%d nodes, %d bytes are left after the last poll", len(c.waiters), c.bytes)
	}
}

// The bound of the cache's memory means all of it.
func TestGW18_EverythingOfAnAnswerCounts(t *testing.T) {
	a := func() *readAnswer { return &readAnswer{header: http.Header{}} }
	least := a().size()
	text := string(bytes.Repeat([]byte("x"), 1000))
	for name, grow := range map[string]func(*readAnswer){
		"body":        func(a *readAnswer) { a.body = make([]byte, 0, 1000) },
		"key":         func(a *readAnswer) { a.key = text },
		"header":      func(a *readAnswer) { a.header["X"] = []string{"", text} },
		"header name": func(a *readAnswer) { a.header[text] = nil },
	} {
		b := a()
		if grow(b); b.size() < least+1000 {
			t.Errorf("%s: 1000 bytes more count as %d", name, b.size()-least)
		}
	}
	c, uuid := NewReads("", nil, nil), "75675ad6-1123-46fa-ad6b-ee54a72f1f1c"
	c.Refused(day, uuid)
	c.keep(day, c.begin(day, hostRead{uuid: uuid}), 200, nil, make([]byte, 10, maxBody), nil)
	if c.bytes > 2000 {
		t.Errorf("a body of 10 bytes takes %d", c.bytes)
	}
}
