package hosts

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// modelKeys are few, so that histories meet themselves.
var modelKeys = []key{{"a", "one"}, {"a", "two"}, {"b", "one"}, {"b", "two"}, {"b", "three"}}

// follower keeps hosts by what Changed tells alone.
type follower struct {
	mu    sync.Mutex
	hosts map[key]Host
	fault string
}

func (f *follower) changed(old, now *Host) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var k key
	switch {
	case old == nil && now == nil, old != nil && now != nil && (*old == *now || old.UID != now.UID || old.Name != now.Name):
		f.fault = fmt.Sprintf("told of %v and %v", old, now)
		return
	case now != nil:
		k = key{now.Namespace, now.Name}
	default:
		k = key{old.Namespace, old.Name}
	}
	if had, ok := f.hosts[k]; ok != (old != nil) || ok && had != *old {
		f.fault = fmt.Sprintf("told that %+v was, but it was %+v", old, had)
	}
	if delete(f.hosts, k); now != nil {
		f.hosts[k] = *now
	}
}

// TestRandomHistories: after any history of hosts that come, change and go, of watches that
// break, versions that are forgotten and servers that fail, the directory is what the
// cluster has, by name and by node, and so is what Changed told.
func TestRandomHistories(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) { randomHistory(t, rt) }) // a *testing.T's Deadline panics in a bubble
	})
}

func randomHistory(t *testing.T, rt *rapid.T) {
	c := newCluster(t)
	c.pageCap = rapid.IntRange(1, 4).Draw(rt, "page")
	namespaces := rapid.SampledFrom([][]string{nil, {"a"}, {"b", "a"}}).Draw(rt, "namespaces")
	f := &follower{hosts: map[key]Host{}}
	dir, end := start(t, c, namespaces, f.changed)
	defer end()
	truth := map[key]Host{}
	for range rapid.IntRange(1, 25).Draw(rt, "steps") {
		switch step := rapid.IntRange(0, 11).Draw(rt, "step"); step {
		case 0:
			k := rapid.SampledFrom(modelKeys).Draw(rt, "removed")
			c.remove(k)
			delete(truth, k)
		case 1:
			c.hangUp()
		case 2:
			c.forget()
		case 3:
			c.breaks(nil)
		case 4:
			c.breaks(rapid.SampledFrom([]func(*http.Request) http.HandlerFunc{
				always(drops), lists(writes(`{}`)), watches(writes(`{"type":"ADDED"`)), watches(writes(`{"type":1}`)),
			}).Draw(rt, "fault"))
		case 5, 6:
			<-time.After(time.Duration(rapid.IntRange(0, 90).Draw(rt, "seconds")) * time.Second)
		default:
			k := rapid.SampledFrom(modelKeys).Draw(rt, "put")
			h := Host{
				Namespace: k.namespace, Name: k.name, State: "available", UID: rapid.SampledFrom([]string{"u1", "u2"}).Draw(rt, "uid"),
				NodeUUID:   rapid.SampledFrom([]string{"", nodeOne, nodeTwo}).Draw(rt, "node"),
				ErrorCount: rapid.IntRange(0, 2).Draw(rt, "errors"), ErrorType: rapid.SampledFrom([]string{"", "x", "y"}).Draw(rt, "type"),
			}
			c.put(k, hostJSON(k, h.UID, strings.ToUpper(h.NodeUUID), fmt.Sprintf(`,"errorCount":%d,"errorType":%q`, h.ErrorCount, h.ErrorType)))
			truth[k] = h
		}
		if rapid.Bool().Draw(rt, "wait") {
			synctest.Wait()
		}
	}
	c.breaks(nil)
	for range 2 { // twice: a watch may be given up for its silence at the end of the first
		<-time.After(2 * time.Minute) // the longest pause between two lists
		c.send(bookmark)              // each API server sends one a minute
		synctest.Wait()
	}
	if len(namespaces) == 1 {
		maps.DeleteFunc(truth, func(k key, _ Host) bool { return k.namespace != namespaces[0] })
	}
	compare(rt, dir, f, truth)
}

func compare(rt *rapid.T, dir *Directory, f *follower, truth map[key]Host) {
	kinds, nodes := map[string]int{}, map[string][]Host{nodeOne: nil, nodeTwo: nil}
	for _, k := range modelKeys {
		got, ok := dir.ByName(k.namespace, k.name)
		want, there := truth[k]
		want.Spec, want.Bare = got.Spec, ok
		if ok != there || got != want {
			rt.Errorf("%v: %+v, %v, want %+v, %v", k, got, ok, want, there)
		}
		if there && want.ErrorType != "" {
			kinds[want.ErrorType]++
		}
		nodes[want.NodeUUID] = append(nodes[want.NodeUUID], got)
	}
	for _, node := range []string{nodeOne, nodeTwo} {
		got, ok := dir.ByNode(node)
		claimed := map[string]bool{}
		for _, h := range nodes[node] {
			claimed[h.Namespace] = true
		}
		if ok != (len(claimed) == 1) || ok && !slices.Contains(nodes[node], got) {
			rt.Errorf("node %s: %+v, %v, want one of %+v", node, got, ok, nodes[node])
		}
	}
	if s := dir.Status(); !s.Synced || s.Hosts != len(truth) || s.LastError != "" || !maps.Equal(s.Errors, kinds) {
		rt.Errorf("%+v, want %d hosts with %v", s, len(truth), kinds)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault != "" {
		rt.Error(f.fault)
	}
	if len(f.hosts) != len(truth) {
		rt.Errorf("told of %d hosts, want %d", len(f.hosts), len(truth))
	}
	for k, h := range f.hosts {
		if got, _ := dir.ByName(k.namespace, k.name); got != h {
			rt.Errorf("told of %+v, the directory has %+v", h, got)
		}
	}
}
