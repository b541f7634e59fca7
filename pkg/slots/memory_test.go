package slots

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// 100,000 hosts may wait: one field more is 100,000 fields. What only those need that
// hold a slot or are at work belongs to slot or job.
func TestAHostFillsThreeCacheLines(t *testing.T) {
	if size := reflect.TypeFor[host]().Size(); size > 192 {
		t.Errorf("a host takes %d bytes, want at most 192", size)
	}
}

// What is kept of an ask or an observation must not keep the request or the list alive from
// which it was cut.
func TestAHostKeepsNoRequestAlive(t *testing.T) {
	now := time.Now()
	l, err := New(DefaultConfig(), now)
	if err != nil {
		t.Fatal(err)
	}
	const hosts, body = 32, 1 << 20
	cut := func(text string) string { return (strings.Repeat("x", body) + text)[body:] }
	before := heap()
	for i := range hosts {
		v := l.Check(now, Ask{ID: ID{UUID: cut(fmt.Sprint("a", i)), Name: cut(fmt.Sprint("ns~a", i))}, Op: api.OpInspect, Group: cut("rack1")})
		l.Commit(now, v)
		n := ironic.Node{
			UUID: cut(fmt.Sprint("b", i)), Name: cut(fmt.Sprint("ns~b", i)), State: ironic.Deploying,
			ConductorGroup: cut("rack2"), Driver: cut("redfish"), Image: cut("image"), AgentHeartbeat: cut("beat"),
		}
		l.observe(l.mark(l.Begin(now)), n)
		n.State, n.ProvisionUpdatedAt = ironic.Active, cut("today")
		l.observe(l.mark(l.Begin(now)), n)
	}
	l.Endings()
	l.Notices()
	if grown := heap() - before; grown > hosts*body/8 {
		t.Errorf("%d hosts that were cut from texts of %d bytes keep %d bytes alive", 2*hosts, body, grown)
	}
	runtime.KeepAlive(l)
}

// An ask says nothing of driver and image: what Ironic said of them stays, while the
// ask's own word places the host.
func TestAnAskLeavesDriverAndImage(t *testing.T) {
	now := time.Now()
	l, err := New(DefaultConfig(), now)
	if err != nil {
		t.Fatal(err)
	}
	h := l.admit(ID{UUID: "u1"}, false)
	h.setHome(home{group: "rack1", driver: "redfish", image: "image"})
	l.Commit(now, l.Check(now, Ask{ID: ID{UUID: "u1"}, Op: api.OpInspect, Group: "rack2", VirtualMedia: true}))
	if got, want := h.home.Value(), (home{group: "rack2", virtual: true, driver: "redfish", image: "image"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
