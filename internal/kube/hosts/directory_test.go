package hosts_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
)

// retryMost is how soon after its return what an API server has is seen.
const retryMost = 15 * time.Second

const (
	nodeOne = "11111111-aaaa-4bbb-8ccc-0123456789ab"
	nodeTwo = "22222222-aaaa-4bbb-8ccc-0123456789ab"
	listed  = `level=INFO msg="BareMetalHosts are listed"`
	cannot  = `level=WARN msg="BareMetalHosts cannot be watched`
	again   = `level=INFO msg="BareMetalHosts are watched again"`
)

// three are hosts, beside some that are none: they must not keep the others from being seen.
func three(c *cluster) {
	c.raw("metal3/list", `[]`)
	c.raw("metal3/null", `null`)
	c.raw("metal3/nameless", `{"metadata":{"uid":"u"},"status":{"errorCount":"three"}}`)
	c.put("metal3/one", "u1", nodeOne, "")
	c.put("metal3/two", "u2", nodeTwo, `,"errorType":"provisioning error","errorCount":3`)
	c.put("prod/one", "u3", "", "")
}

// What is wrong is said once, what is known stays, and all is well within 15 s of the server's return.
func TestNothingIsForgotten(t *testing.T) {
	watches := func(a answer) fault {
		return func(r *http.Request) answer {
			if isWatch(r) {
				return a
			}
			return nil
		}
	}
	for _, row := range []struct {
		name, says string
		fault      fault
	}{
		{"no rights", "may not list and watch baremetalhosts.metal3.io there: because of a test: Forbidden", always(refuse(403, metav1.StatusReasonForbidden))},
		{"no right to watch", "may not list and watch", watches(refuse(403, metav1.StatusReasonForbidden))},
		{"unknown credentials", "credentials", always(refuse(401, metav1.StatusReasonUnauthorized))},
		{"no CRD", "CustomResourceDefinition is missing", always(refuse(404, metav1.StatusReasonNotFound))},
		{"no API server", "404 Not Found", always(say(404, "text/plain", "404 page not found"))},
		{"down", "as it should", always(refuse(503, metav1.StatusReasonServiceUnavailable))},
		{"busy", "as it should", always(refuse(429, metav1.StatusReasonTooManyRequests))},
		{"connections dropped", "connection refused", always(drop)},
		{"HTML", "text/html", always(say(200, "text/html", "<html>welcome</html>"))},
		{"nothing", "EOF", always(say(200, "application/json", ""))},
		{"another list", "failed to list BareMetalHosts: an answer of kind \"PodList\"", always(say(200, "application/json", `{"apiVersion":"v1","items":[],"kind":"PodList","metadata":{}}`))},
		{"a page without an end", "too large", always(endless)},
		{"a version that is too large", "as it should", always(refuse(504, metav1.StatusReasonTimeout))},
	} {
		t.Run(strings.ReplaceAll(row.name, " ", "_"), func(t *testing.T) {
			play(t, three, func(s *stage) {
				s.says(listed)
				s.news()
				s.breaks(row.fault)
				s.forget() // so that a list is needed
				s.hangUp()
				s.pass(time.Minute)
				s.is(true, 3, row.says)
				s.says(cannot)
				if s.Knows("metal3") {
					t.Error("a host that is not found is taken for gone")
				}
				s.remove("metal3/one")
				s.breaks(nil)
				s.pass(retryMost)
				s.put("metal3/two", "u2", nodeTwo, "")
				s.is(true, 2, "")
				s.says(again)
				if got := s.news(); got != "-metal3/one ~metal3/two" {
					t.Errorf("told %q", got)
				}
			})
		})
	}
}

// A watch that ends, or whose connection breaks, goes on where it was: a list of 20,000 hosts is 300 MB.
func TestAWatchGoesOnWithoutAList(t *testing.T) {
	play(t, three, func(s *stage) {
		var down atomic.Bool
		s.breaks(func(r *http.Request) answer {
			if !isWatch(r) {
				t.Errorf("a list where the watch can go on: %s", r.URL)
			}
			if down.Load() {
				return drop
			}
			return nil
		})
		s.pass(time.Hour)
		down.Store(true)
		s.hangUp()
		s.pass(time.Minute)
		s.is(true, 3, "connection refused")
		s.put("metal3/one", "u1", nodeOne, `,"errorCount":3`)
		down.Store(false)
		s.pass(retryMost)
		if h, _ := s.ByName("metal3", "one"); h.ErrorCount != 3 {
			t.Errorf("%+v", h)
		}
		s.says(listed, cannot, again)
	})
}

// Pages that become too old while they are read must not pass for a list on which many hosts are missing.
func TestAPageThatComesTooLateLosesNoHost(t *testing.T) {
	const all = 350
	many := func(c *cluster) {
		for i := range all {
			c.put(fmt.Sprintf("metal3/host-%03d", i), "u", "", "")
		}
	}
	play(t, many, func(s *stage) {
		s.is(true, all, "")
		s.news()
		for _, times := range []int{1, 5} {
			pages := 0
			s.breaks(func(r *http.Request) answer {
				if r.URL.Query().Has("continue") && pages < times {
					pages++
					s.forget()
				}
				if q := r.URL.Query(); q.Has("limit") && (q.Has("resourceVersion") || q.Get("limit") != "100") {
					s.Errorf("a list of everything in one answer: %s", r.URL)
				}
				return nil
			})
			s.forget()
			s.hangUp()
			s.pass(time.Minute)
			if got := s.news(); got != "" || pages != times {
				t.Errorf("after %d pages: told %q", pages, got)
			}
			s.is(true, all, "")
		}
		s.says(listed)
	})
}

// modelKeys are few, so that histories meet themselves.
var modelKeys = []string{"a/one", "a/two", "b/one", "b/two", "b/three"}

// After any history of hosts that come, change and go, of watches that break, versions that are forgotten and servers that
// fail, the directory is what the cluster has, by name and by node, and so is what Changed told.
func TestRandomHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(t *testing.T) { randomHistory(t, rt) })
	})
}

func randomHistory(t *testing.T, rt *rapid.T) {
	c := newCluster()
	namespaces := rapid.SampledFrom([][]string{nil, {"a"}, {"b", "a"}}).Draw(rt, "namespaces")
	s := start(t, c, namespaces)
	truth := map[string]hosts.Host{}
	for range rapid.IntRange(1, 25).Draw(rt, "steps") {
		switch step := rapid.IntRange(0, 11).Draw(rt, "step"); step {
		case 0:
			key := rapid.SampledFrom(modelKeys).Draw(rt, "removed")
			c.remove(key)
			delete(truth, key)
		case 1:
			c.hangUp()
		case 2:
			c.forget()
		case 3:
			c.breaks(nil)
		case 4:
			c.breaks(rapid.SampledFrom([]fault{always(drop), always(refuse(403, metav1.StatusReasonForbidden)), always(say(200, "application/json", `{`))}).Draw(rt, "fault"))
		case 5, 6:
			s.pass(time.Duration(rapid.IntRange(0, 90).Draw(rt, "seconds")) * time.Second)
		default:
			key := rapid.SampledFrom(modelKeys).Draw(rt, "put")
			namespace, name, _ := strings.Cut(key, "/")
			h := hosts.Host{
				Namespace: namespace, Name: name, State: "available", UID: rapid.SampledFrom([]string{"u1", "u2"}).Draw(rt, "uid"),
				NodeUUID:   rapid.SampledFrom([]string{"", nodeOne, nodeTwo}).Draw(rt, "node"),
				ErrorCount: rapid.IntRange(0, 2).Draw(rt, "errors"), ErrorType: rapid.SampledFrom([]string{"", "x", "y"}).Draw(rt, "type"),
			}
			c.put(key, h.UID, strings.ToUpper(h.NodeUUID), fmt.Sprintf(`,"errorCount":%d,"errorType":%q`, h.ErrorCount, h.ErrorType))
			truth[key] = h
		}
		if rapid.Bool().Draw(rt, "wait") {
			synctest.Wait()
		}
	}
	c.breaks(nil)
	s.pass(time.Minute)
	if len(namespaces) == 1 {
		maps.DeleteFunc(truth, func(_ string, h hosts.Host) bool { return h.Namespace != "a" })
	}
	s.isLike(rt, truth)
}

func (s *stage) isLike(rt *rapid.T, truth map[string]hosts.Host) {
	kinds, nodes := map[string]int{}, map[string][]hosts.Host{nodeOne: nil, nodeTwo: nil}
	for _, key := range modelKeys {
		namespace, name, _ := strings.Cut(key, "/")
		got, ok := s.ByName(namespace, name)
		want, there := truth[key]
		want.Spec, want.Bare = got.Spec, ok
		if ok != there || got != want || s.told[key] != got {
			rt.Errorf("%s: %+v, %v, told of %+v, want %+v, %v", key, got, ok, s.told[key], want, there)
		}
		if there && want.ErrorType != "" {
			kinds[want.ErrorType]++
		}
		nodes[want.NodeUUID] = append(nodes[want.NodeUUID], got)
	}
	for _, node := range []string{nodeOne, nodeTwo} {
		got, ok := s.ByNode(node)
		claimed := map[string]bool{}
		for _, h := range nodes[node] {
			claimed[h.Namespace] = true
		}
		if ok != (len(claimed) == 1) || ok && !slices.Contains(nodes[node], got) {
			rt.Errorf("node %s: %+v, %v, want one of %+v", node, got, ok, nodes[node])
		}
	}
	if st := s.Status(); !st.Synced || st.Hosts != len(truth) || st.LastError != "" || !maps.Equal(st.Errors, kinds) {
		rt.Errorf("%+v, want %d hosts with %v", st, len(truth), kinds)
	}
}
