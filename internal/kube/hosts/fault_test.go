package hosts

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// lists lets h answer every list.
func lists(h http.HandlerFunc) func(*http.Request) http.HandlerFunc {
	return func(r *http.Request) http.HandlerFunc {
		if isWatch(r) {
			return nil
		}
		return h
	}
}

// watches lets h answer every watch.
func watches(h http.HandlerFunc) func(*http.Request) http.HandlerFunc {
	return func(r *http.Request) http.HandlerFunc {
		if isWatch(r) {
			return h
		}
		return nil
	}
}

func writes(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }
}

func hangs(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func drops(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

const pageEnd = `],"kind":"BareMetalHostList","metadata":{"continue":"","resourceVersion":"7"}}`

// TestNothingIsForgotten: whatever the server does, hosts that are known stay, it is said
// once and in words of that trouble, and all is well when the server is.
func TestNothingIsForgotten(t *testing.T) {
	rows := []struct {
		name  string
		fault func(*http.Request) http.HandlerFunc
		says  string
	}{
		{"no rights", always(refuse(http.StatusForbidden, metav1.StatusReasonForbidden)), "may not list and watch"},
		{"no rights to watch", watches(refuse(http.StatusForbidden, metav1.StatusReasonForbidden)), "may not list and watch"},
		{"unknown credentials", always(refuse(http.StatusUnauthorized, metav1.StatusReasonUnauthorized)), "credentials"},
		{"no CRD", always(refuse(http.StatusNotFound, metav1.StatusReasonNotFound)), "CustomResourceDefinition"},
		{"404 of no API server", always(http.NotFound), "metal3.io/v1alpha1: their CustomResourceDefinition is missing, or does not have this version"},
		{"down", always(refuse(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)), "as it should"},
		{"connections dropped", always(drops), "as it should"},
		{"lists hang", lists(hangs), "as it should"},
		{"watches hang", watches(hangs), "did not begin within"},
		{"endless error", always(endlessError), "as it should"},
		{"a version that is too large", watches(refuse(http.StatusGatewayTimeout, metav1.StatusReasonTimeout)), "as it should"},
		{"every list expires", lists(refuse(http.StatusGone, metav1.StatusReasonExpired)), "as it should"},
		{"every watch expires", watches(refuse(http.StatusGone, metav1.StatusReasonExpired)), "as it should"},
		{"every watch expires at once", watches(writes(`{"type":"ERROR","object":{"kind":"Status","reason":"Expired","code":410}}`)), "as it should"},
		{"no list", lists(writes(`{}`)), "no list of BareMetalHosts"},
		{"another list", lists(writes(`{"items":[],"kind":"PodList","metadata":{"resourceVersion":"7"}}`)), "no list of BareMetalHosts"},
		{"a list without items", lists(writes(`{"kind":"BareMetalHostList","metadata":{"resourceVersion":"7"}}`)), "no list of BareMetalHosts"},
		{"a list of no version", lists(writes(`{"items":[],"kind":"BareMetalHostList","metadata":{}}`)), "no list of BareMetalHosts"},
		{"a version that is a number", lists(writes(`{"items":[],"kind":"BareMetalHostList","metadata":{"resourceVersion":7}}`)), "ListMeta.resourceVersion"},
		{"items that are none", lists(writes(`{"items":{"a":1` + pageEnd)), "where"},
		{"a list that goes on", lists(writes(`{"items":[` + pageEnd + `{`)), "something follows"},
		{"half a list", lists(writes(`{"items":[`)), "unexpected EOF"},
		{"HTML", always(writes(`<html>welcome</html>`)), "invalid"},
		{"nothing", always(writes(``)), "EOF"},
		{"pages in a circle", lists(writes(strings.Replace(`{"items":[`+pageEnd, `"continue":""`, `"continue":"again"`, 1))), "refers to itself"},
		{"an object without an end", lists(endlessObject), "4 MiB"},
		{"garbage in a watch", watches(writes(`{"type":"ADDED","object":{]}`)), "invalid"},
		{"an unknown event", watches(writes(`{"type":"RENAMED","object":{}}`)), "unknown type"},
		{"an event without an object", watches(writes(`{"type":"ADDED"}`)), "without an object"},
		{"an event that is a text", watches(writes(`"ADDED"`)), "cannot unmarshal"},
		{"an error in a watch", watches(writes(`{"type":"ERROR","object":{"kind":"Status","code":500,"message":"oh no"}}`)), "oh no"},
		{"an error without a status", watches(writes(`{"type":"ERROR","object":7}`)), "error event"},
	}
	for _, row := range rows {
		t.Run(strings.ReplaceAll(row.name, " ", "_"), func(t *testing.T) {
			play(t, nil, two3, func(s *stage) {
				s.says(listed)
				s.told()
				s.cluster.breaks(row.fault)
				s.cluster.forget() // so that a list is needed
				s.cluster.hangUp()
				s.pass(5 * time.Minute)
				s.is(true, 3, anyFault)
				lines := s.log.take()
				if len(lines) != 1 || !strings.Contains(lines[0], "level=WARN") || !strings.Contains(lines[0], row.says) {
					t.Errorf("the log says\n%s, want one warning with %q", strings.Join(lines, ""), row.says)
				}
				if got := s.told(); got != "" {
					t.Errorf("told %q", got)
				}
				s.cluster.remove(one)
				s.cluster.breaks(nil)
				s.pass(2 * time.Minute)
				s.cluster.put(two, hostJSON(two, "u2", nodeTwo, ""))
				s.is(true, 2, "")
				s.says(again)
				if got := s.told(); got != "-metal3/one ~metal3/two" && got != "~metal3/two -metal3/one" {
					t.Errorf("told %q", got)
				}
			})
		})
	}
}

func endlessError(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusInternalServerError)
	for line := []byte(strings.Repeat("x", 1<<19)); r.Context().Err() == nil; {
		if _, err := w.Write(line); err != nil {
			return
		}
	}
}

func endlessObject(w http.ResponseWriter, r *http.Request) {
	io.WriteString(w, `{"items":[{"metadata":{"name":"`)
	for line := []byte(strings.Repeat("x", 1<<19)); r.Context().Err() == nil; {
		if _, err := w.Write(line); err != nil {
			return
		}
	}
}

// TestBegunInTrouble: a directory that finds no cluster begins when there is one, and says
// when the trouble becomes another.
func TestBegunInTrouble(t *testing.T) {
	down := func(c *cluster) {
		two3(c)
		c.breaks(always(drops))
	}
	play(t, nil, down, func(s *stage) {
		s.pass(10 * time.Minute)
		s.is(false, 0, "EOF")
		s.says(cannot)
		s.cluster.breaks(always(refuse(http.StatusNotFound, metav1.StatusReasonNotFound)))
		s.pass(10 * time.Minute)
		s.is(false, 0, "NotFound")
		s.says(cannot)
		s.cluster.breaks(nil)
		s.pass(time.Minute)
		s.is(true, 3, "")
		s.says(listed, again)
	})
}

// TestListedButNotWatched: with a list and no watch, the hosts are known, as they were.
func TestListedButNotWatched(t *testing.T) {
	noWatch := func(c *cluster) {
		two3(c)
		c.breaks(watches(refuse(http.StatusForbidden, metav1.StatusReasonForbidden)))
	}
	play(t, nil, noWatch, func(s *stage) {
		s.is(true, 3, "Forbidden")
		s.cluster.remove(one)
		s.pass(2 * time.Minute)
		s.is(true, 2, "Forbidden") // it is listed again and again, with pauses
		s.says(listed, cannot)
	})
}

// TestATokenExpires: the pages of a list that became too old are begun anew at once, and
// what went in between is found.
func TestATokenExpires(t *testing.T) {
	pages := 0
	play(t, nil, func(c *cluster) {
		two3(c)
		c.pageCap = 1
		c.breaks(func(r *http.Request) http.HandlerFunc {
			if pages++; pages == 3 {
				c.remove(one)
				c.forget()
			}
			return nil
		})
	}, func(s *stage) {
		s.is(true, 2, "")
		s.says(listed)
		if got := s.told(); got != "+metal3/one +metal3/two +prod/one -metal3/one" {
			t.Errorf("told %q", got)
		}
	})
}

// TestAWatchExpires: a watch that may not go on where it was is no trouble, in either form
// in which it is told.
func TestAWatchExpires(t *testing.T) {
	for _, answer := range []http.HandlerFunc{
		refuse(http.StatusGone, metav1.StatusReasonExpired),
		writes(`{"type":"ERROR","object":{"kind":"Status","reason":"Expired","code":410}}`),
	} {
		play(t, nil, two3, func(s *stage) {
			refused := false
			s.cluster.breaks(func(r *http.Request) http.HandlerFunc {
				if isWatch(r) && !refused {
					refused = true
					return answer
				}
				return nil
			})
			s.cluster.hangUp()
			s.cluster.remove(one)
			s.pass(5 * time.Second)
			s.is(true, 2, "")
			s.says(listed)
			if !refused {
				t.Error("no watch was refused")
			}
		})
	}
}

// TestLargeObjects: each may be large, and all of them together larger.
func TestLargeObjects(t *testing.T) {
	large := func(k key) string {
		return hostJSON(k, "u", "", `,"errorMessage":"`+strings.Repeat("x", maxObject/3)+`"`)
	}
	put := func(c *cluster, namespace string) {
		for i := range 4 {
			k := key{namespace, fmt.Sprint("host-", i)}
			c.put(k, large(k))
		}
	}
	play(t, nil, func(c *cluster) { put(c, "listed") }, func(s *stage) {
		s.is(true, 4, "")
		put(s.cluster, "watched")
		s.is(true, 8, "")
		s.says(listed)
	})
}

// TestBusyServer: a server that is busy is asked again when it says so, page by page.
func TestBusyServer(t *testing.T) {
	n := 0
	play(t, nil, func(c *cluster) {
		two3(c)
		c.pageCap = 1
		c.breaks(lists(func(w http.ResponseWriter, r *http.Request) {
			if n++; n%2 == 1 {
				w.Header().Set("Retry-After", "2")
				refuse(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)(w, r)
				return
			}
			c.serveList(w, r, "")
		}))
	}, func(s *stage) {
		s.pass(10 * time.Second)
		s.is(true, 3, "")
		s.says(listed)
	})
}

// TestBusyForWatches: a server that is too busy for a watch is not made to list as well,
// and what happened meanwhile is told.
func TestBusyForWatches(t *testing.T) {
	play(t, nil, two3, func(s *stage) {
		before, _ := s.asked()
		s.cluster.breaks(watches(refuse(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)))
		s.cluster.hangUp()
		s.cluster.remove(one)
		s.pass(5 * time.Minute)
		s.is(true, 3, "TooManyRequests")
		s.cluster.breaks(nil)
		s.pass(time.Minute)
		s.is(true, 2, "")
		s.says(listed, cannot, again)
		if lists, watches := s.asked(); lists != before || watches > 25 {
			t.Errorf("%d lists more, %d watches in 5 minutes", lists-before, watches)
		}
	})
}

// TestOddObjects: one that is not as it should be does not stop the others, and is told
// once.
func TestOddObjects(t *testing.T) {
	odd := func(c *cluster) {
		c.put(key{"metal3", "count"}, hostJSON(key{"metal3", "count"}, "u", "", `,"errorCount":"three","provisioningFailCount":2`))
		c.put(key{"metal3", "list"}, `[]`)
		c.put(key{"metal3", "nameless"}, `{"metadata":{"uid":"u"}}`)
		c.put(key{"metal3", "null"}, `null`)
		two3(c)
	}
	play(t, nil, odd, func(s *stage) {
		s.is(true, 4, "")
		if h, ok := s.dir.ByName("metal3", "count"); !ok || h.ErrorCount != 0 || h.ProvisioningFailCount != 2 {
			t.Errorf("%+v, %v", h, ok)
		}
		const is = "WARN a BareMetalHost is not as it should be"
		s.says(is, is, listed)
		s.cluster.send(`{"type":"MODIFIED","object":{"metadata":{"resourceVersion":"VERSION"}}}`)
		s.cluster.put(one, hostJSON(one, "u1", nodeOne, `,"errorType":7`))
		s.cluster.put(two, hostJSON(two, "u2", nodeTwo, ""))
		s.is(true, 4, "")
		s.says(is)
		if h, _ := s.dir.ByName("metal3", "two"); h.ErrorCount != 0 {
			t.Errorf("the event after an odd one was missed: %+v", h)
		}
	})
}

// TestRunEnds: at the end of its context, in the midst of whatever, everything ends, and
// nobody is told anything more.
func TestRunEnds(t *testing.T) {
	for _, row := range []struct {
		name  string
		fault func(*http.Request) http.HandlerFunc
	}{
		{"watching", nil},
		{"listing", lists(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"items":[%s,`, hostJSON(one, "u", "", ""))
			<-r.Context().Done()
		})},
		{"asking", always(hangs)},
		{"pausing", always(drops)},
	} {
		t.Run(row.name, func(t *testing.T) {
			play(t, nil, func(c *cluster) { c.breaks(row.fault) }, func(s *stage) {
				before := s.dir.Status()
				s.end()
				<-s.ended
				synctest.Wait()
				if after := s.dir.Status(); after.LastError != before.LastError {
					t.Errorf("the end is told as an error: %q", after.LastError)
				}
			})
		})
	}
}
