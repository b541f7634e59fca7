package hosts_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"
	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	nodeOne = "11111111-aaaa-4bbb-8ccc-0123456789ab"
	nodeTwo = "22222222-aaaa-4bbb-8ccc-0123456789ab"
)

// stage is a directory of a cluster, in a bubble.
type stage struct {
	*testing.T
	*cluster
	*hosts.Directory

	told map[string]hosts.Host // what Changed has told, by namespace/name
	tale string                // the same as a text
	log  strings.Builder
}

// start runs a directory until the test ends.
func start(t *testing.T, c *cluster, namespaces ...string) *stage {
	t.Helper()
	s := &stage{T: t, cluster: c, told: map[string]hosts.Host{}}
	var err error
	s.Directory, err = hosts.New(hosts.Options{
		Config:     &rest.Config{Host: "http://kube", Transport: c},
		Namespaces: namespaces, Changed: s.changed, Log: slog.New(slog.NewTextHandler(&s.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Directory.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended; <-time.After(time.Second) })
	synctest.Wait()
	return s
}

func (s *stage) changed(old, now *hosts.Host) {
	sign, of, was := "~", now, hosts.Host{}
	switch {
	case old == nil:
		sign = "+"
	case now == nil:
		sign, of, was = "-", old, *old
	default:
		was = *old
	}
	key := of.Namespace + "/" + of.Name
	s.tale += sign + key + " "
	if s.told[key] != was || old != nil && now != nil && *old == *now {
		s.Errorf("told that %+v was, and before that %+v", was, s.told[key])
	}
	if delete(s.told, key); now != nil {
		s.told[key] = *now
		if got, ok := s.ByName(now.Namespace, now.Name); !ok || got != *now {
			s.Errorf("told of %+v, the directory shows %+v", *now, got)
		}
	}
}

func (s *stage) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// seenWithin is how soon after its return what an API server has is seen.
const seenWithin = 15 * time.Second

// What is wrong is said once, what is known stays, and all is well within 15 s of the server's return. A watch goes on
// where it was: a list of 20,000 hosts is 300 MB.
func TestNothingIsForgotten(t *testing.T) {
	const many = 250 // in three pages
	where := func(parameter string, f fault) fault {
		return func(r *http.Request) (*http.Response, error) {
			if r.URL.Query().Has(parameter) {
				return f(r)
			}
			return nil, nil
		}
	}
	for name, row := range map[string]struct {
		says   string
		fault  fault
		forget bool // versions so far: a list is needed
	}{
		"no rights":              {"no: Forbidden", refuse(403, "Forbidden"), false},
		"no right to list":       {"no: Forbidden", refuse(403, "Forbidden"), true},
		"no right to watch":      {"no: Forbidden", where("watch", refuse(403, "Forbidden")), true},
		"unknown credentials":    {"no: Unauthorized", refuse(401, "Unauthorized"), false},
		"no CRD":                 {"could not find the requested resource", say(404, "404 page not found"), true},
		"down":                   {"no: ServiceUnavailable", refuse(503, "ServiceUnavailable"), false},
		"connections dropped":    {"connection refused", drop, false},
		"HTML":                   {"invalid character '<'", say(200, "<html>welcome</html>"), true},
		"another list":           {`an answer of kind \"PodList\"`, say(200, `{"kind":"PodList","metadata":{}}`), true},
		"an answer without end":  {"too large", endless, true},
		"pages that are too old": {"no: Expired", where("continue", refuse(410, "Expired")), true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &cluster{}
				for i := range many {
					c.tell("ADDED", fmt.Sprintf("metal3/host-%03d", i), "u", "", "")
				}
				s := start(t, c)
				s.tale = ""
				lists := 0
				s.breaks(func(r *http.Request) (*http.Response, error) {
					if !isWatch(r) {
						lists++
					}
					return row.fault(r)
				}, true, row.forget)
				s.pass(time.Minute)
				st := s.Status()
				if !st.Synced || st.Hosts != many || st.LastError == "" || time.Since(*st.BrokenSince) < 50*time.Second || s.Knows("metal3") {
					t.Errorf("%+v", st)
				}
				s.tell("DELETED", "metal3/host-000", "u", "", "")
				s.breaks(nil, false, false)
				s.pass(seenWithin)
				s.tell("MODIFIED", "metal3/host-001", "u", "", `,"errorCount":1`)
				s.pass(time.Second)
				if st := s.Status(); !st.Synced || st.Hosts != many-1 || st.LastError != "" || st.BrokenSince != nil || !s.Knows("metal3") {
					t.Errorf("%+v", st)
				}
				if s.tale != "-metal3/host-000 ~metal3/host-001 " || (lists > 0) != row.forget {
					t.Errorf("%d lists, told %q", lists, s.tale)
				}
				if l := s.log.String(); strings.Count(l, "\n") != 3 || strings.Count(l, "WARN") != 1 || !strings.Contains(l, row.says) {
					t.Errorf("log: %s", l)
				}
			})
		})
	}
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
	namespaces := rapid.SampledFrom([][]string{nil, {"a"}, {"b", "a"}}).Draw(rt, "namespaces")
	s := start(t, &cluster{}, namespaces...)
	truth := map[string]hosts.Host{}
	for range rapid.IntRange(1, 25).Draw(rt, "steps") {
		key := rapid.SampledFrom(modelKeys).Draw(rt, "host")
		switch step := rapid.IntRange(0, 9).Draw(rt, "step"); step {
		case 0:
			s.tell("DELETED", key, "", "", "")
			delete(truth, key)
		case 1, 2:
			f := rapid.SampledFrom([]fault{nil, nil, drop, refuse(403, "Forbidden"), say(200, `{`)}).Draw(rt, "fault")
			s.breaks(f, rapid.Bool().Draw(rt, "hang up"), rapid.Bool().Draw(rt, "forget"))
		case 3, 4, 5:
			s.pass(time.Duration(rapid.IntRange(0, 90).Draw(rt, "seconds")) * time.Second)
		default:
			namespace, name, _ := strings.Cut(key, "/")
			h := hosts.Host{
				Namespace: namespace, Name: name, UID: rapid.SampledFrom([]string{"u1", "u2"}).Draw(rt, "uid"), Bare: true,
				NodeUUID:   rapid.SampledFrom([]string{"", nodeOne, nodeTwo}).Draw(rt, "node"),
				ErrorCount: rapid.IntRange(0, 2).Draw(rt, "errors"), ErrorType: rapid.SampledFrom([]string{"", "x", "y"}).Draw(rt, "type"),
			}
			s.tell("MODIFIED", key, h.UID, strings.ToUpper(h.NodeUUID), fmt.Sprintf(`,"errorCount":%d,"errorType":%q`, h.ErrorCount, h.ErrorType))
			truth[key] = h
		}
	}
	s.breaks(nil, false, false)
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
		want.Spec = got.Spec
		if ok != there || got != want || s.told[key] != got {
			rt.Errorf("%s: %+v, %v, told of %+v, want %+v, %v", key, got, ok, s.told[key], want, there)
		}
		if want.ErrorType != "" {
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
