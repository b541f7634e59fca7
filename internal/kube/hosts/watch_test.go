package hosts

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	one   = key{"metal3", "one"}
	two   = key{"metal3", "two"}
	other = key{"prod", "one"}
)

const (
	nodeOne  = "11111111-aaaa-4bbb-8ccc-0123456789ab"
	nodeTwo  = "22222222-aaaa-4bbb-8ccc-0123456789ab"
	bookmark = `{"type":"BOOKMARK","object":{"kind":"BareMetalHost","apiVersion":"metal3.io/v1alpha1","metadata":{"resourceVersion":"VERSION","creationTimestamp":null},"spec":{"online":false},"status":{}}}`
	listed   = "INFO \"BareMetalHosts are listed\""
	cannot   = "WARN \"BareMetalHosts cannot be watched"
	again    = "INFO \"BareMetalHosts are watched again\""
)

func two3(c *cluster) {
	c.put(one, hostJSON(one, "u1", nodeOne, ""))
	c.put(two, hostJSON(two, "u2", nodeTwo, `,"errorType":"provisioning error","errorCount":3`))
	c.put(other, hostJSON(other, "u3", "", ""))
}

func TestListedAndWatched(t *testing.T) {
	play(t, nil, two3, func(s *stage) {
		s.is(true, 3, "")
		s.says(listed)
		if got := s.told(); got != "+metal3/one +metal3/two +prod/one" {
			t.Errorf("told %q", got)
		}
		if h, ok := s.dir.ByNode(strings.ToUpper(nodeTwo)); !ok || h.Name != "two" || h.ErrorCount != 3 || h.ErrorType != "provisioning error" {
			t.Errorf("by node: %+v, %v", h, ok)
		}
		if st := s.dir.Status(); len(st.Errors) != 1 || st.Errors["provisioning error"] != 1 {
			t.Errorf("errors %v", st.Errors)
		}
		s.cluster.put(two, hostJSON(two, "u2", nodeTwo, ""))
		s.cluster.put(one, hostJSON(one, "u1", nodeOne, `,"poweredOn":true`)) // nothing that we keep
		s.cluster.remove(other)
		if got := s.told(); got != "~metal3/two -prod/one" {
			t.Errorf("told %q", got)
		}
		if _, ok := s.dir.ByName("prod", "one"); ok || len(s.dir.Status().Errors) != 0 {
			t.Errorf("a host that went is there; errors %v", s.dir.Status().Errors)
		}
		s.says()
	})
}

// TestBO17_MadeAnew: an object of another UID is another host, also where both events were
// missed.
func TestBO17_MadeAnew(t *testing.T) {
	play(t, nil, two3, func(s *stage) {
		s.told()
		s.cluster.put(one, hostJSON(one, "u9", nodeOne, ""))
		if got := s.told(); got != "-metal3/one +metal3/one" {
			t.Errorf("told %q", got)
		}
	})
}

func TestNamespaces(t *testing.T) {
	play(t, []string{"prod", "metal3", "prod"}, two3, func(s *stage) {
		s.cluster.put(key{"else", "where"}, hostJSON(key{"else", "where"}, "u", "", ""))
		s.is(true, 3, "")
		if n := len(s.cluster.queries()); n != 4 {
			t.Errorf("%d requests, want a list and a watch of each of two namespaces: %q", n, s.cluster.queries())
		}
		// One that breaks does not take the other's hosts away, nor its list.
		s.cluster.breaks(func(r *http.Request) http.HandlerFunc {
			if strings.Contains(r.URL.Path, "/prod/") {
				return refuse(http.StatusForbidden, metav1.StatusReasonForbidden)
			}
			return nil
		})
		s.cluster.forget()
		s.cluster.remove(one)
		s.cluster.hangUp()
		s.pass(10 * time.Second)
		s.is(true, 2, "namespace prod: because of a test: Forbidden")
		s.says(listed, listed, cannot)
	})
}

func TestNamespacesAreChecked(t *testing.T) {
	for _, name := range []string{"", "a/b", "..", "UPPER", strings.Repeat("x", 64)} {
		if _, err := New(Options{Config: newConfig("http://kube"), Namespaces: []string{name}}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", name)) {
			t.Errorf("namespace %q: %v", name, err)
		}
	}
	if _, err := New(Options{}); err == nil || !strings.Contains(err.Error(), "Config") {
		t.Errorf("without Config: %v", err)
	}
}

// TestPages: many hosts come in pages, and a second list tells of nothing but changes.
func TestPages(t *testing.T) {
	fill := func(c *cluster) {
		c.pageCap = 7
		for i := range 100 {
			k := key{"metal3", fmt.Sprintf("host-%02d", i)}
			c.put(k, hostJSON(k, "u", "", ""))
		}
	}
	play(t, nil, fill, func(s *stage) {
		s.is(true, 100, "")
		if n := len(s.cluster.queries()); n != 15+1 {
			t.Errorf("%d requests, want 15 pages and a watch", n)
		}
		s.told()
		s.cluster.forget() // first: the next watch begins at once
		s.cluster.hangUp()
		s.cluster.remove(key{"metal3", "host-50"})
		s.cluster.put(one, hostJSON(one, "u1", nodeOne, ""))
		s.pass(10 * time.Second)
		if got := s.told(); got != "+metal3/one -metal3/host-50" {
			t.Errorf("told %q", got)
		}
		s.says(listed)
	})
}

// TestWatchGoesOn: a watch that ends by itself, or whose connection breaks, goes on where
// it was, without a list.
func TestWatchGoesOn(t *testing.T) {
	play(t, nil, two3, func(s *stage) {
		s.noList()
		s.cluster.put(one, hostJSON(one, "u1", nodeOne, `,"errorCount":1`))
		s.pass(11 * time.Minute) // the end that we asked for
		s.cluster.put(one, hostJSON(one, "u1", nodeOne, `,"errorCount":2`))
		s.cluster.hangUp()
		s.cluster.put(one, hostJSON(one, "u1", nodeOne, `,"errorCount":3`))
		s.pass(2 * time.Second)
		if h, _ := s.dir.ByName("metal3", "one"); h.ErrorCount != 3 {
			t.Errorf("%+v", h)
		}
		s.is(true, 3, "")
		s.says(listed)
	})
}

// noList makes a list after the first an error of the test.
func (s *stage) noList() {
	s.cluster.breaks(func(r *http.Request) http.HandlerFunc {
		if !isWatch(r) {
			s.Errorf("a list where the watch could go on: %s", r.URL)
		}
		return nil
	})
}

// TestBookmarks: a quiet watch can go on from the last bookmark, although all versions
// before it were forgotten.
func TestBookmarks(t *testing.T) {
	play(t, nil, two3, func(s *stage) {
		s.noList()
		s.cluster.forget()
		s.cluster.send(bookmark)
		synctest.Wait()
		s.cluster.hangUp()
		s.pass(5 * time.Second)
		s.is(true, 3, "")
		s.says(listed)
	})
}
