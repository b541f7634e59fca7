package hosts_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is an API server with BareMetalHosts in pages, of which one goes and one changes at its second version. It
// needs no socket, so that it may be used in a bubble.
type cluster struct {
	mu      sync.Mutex
	version int    // 1 or 2
	forgot  bool   // the first version: no watch can go on from there
	cuts    int    // how often all watches were ended
	lists   int    // pages that were asked for
	fault   answer // nil: none
}

// answer is in the place of the cluster's, unless it is nil and nil.
type answer func(r *http.Request) (*http.Response, error)

const many = 250 // hosts, in three pages

func host(i, errors int) string {
	return fmt.Sprintf(`{"metadata":{"namespace":"metal3","name":"host-%03d","uid":"u","resourceVersion":"1"},"status":{"errorCount":%d}}`, i, errors)
}

func (c *cluster) with(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
}

// RoundTrip implements http.RoundTripper.
func (c *cluster) RoundTrip(r *http.Request) (*http.Response, error) {
	q := r.URL.Query()
	var f answer
	var cuts int
	c.with(func() {
		if f, cuts = c.fault, c.cuts; !q.Has("watch") {
			c.lists++
		}
	})
	if f != nil {
		if a, err := f(r); a != nil || err != nil {
			return a, err
		}
	}
	if !q.Has("watch") {
		return c.page(r)
	}
	in, out := io.Pipe()
	context.AfterFunc(r.Context(), func() { in.CloseWithError(r.Context().Err()) })
	go func() {
		defer out.Close()
		for v, ended := q.Get("resourceVersion"), false; !ended && r.Context().Err() == nil; <-time.After(time.Second / 4) {
			text := ""
			c.with(func() {
				switch ended = c.cuts != cuts; {
				case v == "1" && c.forgot:
					text = `{"type":"ERROR","object":` + status(410, "Expired") + "}"
				case v == "1" && c.version == 2:
					v, text = "2", `{"type":"DELETED","object":`+host(0, 0)+`}{"type":"MODIFIED","object":`+host(1, 1)+"}"
				}
			})
			fmt.Fprint(out, text)
		}
	}()
	return &http.Response{StatusCode: 200, Body: in, Request: r}, nil
}

func (c *cluster) page(r *http.Request) (*http.Response, error) {
	q := r.URL.Query()
	if q.Get("limit") != "100" || q.Has("resourceVersion") {
		panic("a list that the server sends in one answer: " + r.URL.String())
	}
	from, next := 0, "100"
	if _, _ = fmt.Sscan(q.Get("continue"), &from); from > 0 {
		next = map[int]string{100: "200"}[from]
	}
	var items []string
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := from; i < min(from+100, many); i++ {
		if i > 0 || c.version == 1 {
			items = append(items, host(i, map[int]int{1: c.version - 1}[i]))
		}
	}
	const text = `{"kind":"BareMetalHostList","metadata":{"continue":%q,"resourceVersion":"%d"},"items":[%s]}`
	return say(200, fmt.Sprintf(text, next, c.version, strings.Join(append(items, `[]`, `null`, `{"metadata":{}}`), ",")))(r)
}

func status(code int, reason string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Status","status":"Failure","message":"no: %s","reason":%[1]q,"code":%d}`, reason, code)
}

func refuse(code int, reason string) answer { return say(code, status(code, reason)) }

func say(code int, text string) answer {
	return func(r *http.Request) (*http.Response, error) {
		head := http.Header{"Content-Type": {"application/json"}}
		return &http.Response{StatusCode: code, Header: head, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
	}
}

type spaces struct{ context.Context }

func (s spaces) Read(p []byte) (int, error) { return copy(p, strings.Repeat(" ", len(p))), s.Err() }

// What is wrong is said once, what is known stays, and all is well within 15 s of the server's return. A watch goes on
// where it was: a list of 20,000 hosts is 300 MB.
func TestNothingIsForgotten(t *testing.T) {
	where := func(parameter string, f answer) answer {
		return func(r *http.Request) (*http.Response, error) {
			if r.URL.Query().Has(parameter) {
				return f(r)
			}
			return nil, nil
		}
	}
	for name, row := range map[string]struct {
		says   string
		fault  answer
		forget bool // the version so far: a list is needed
	}{
		"no rights":              {"no: Forbidden", refuse(403, "Forbidden"), false},
		"no right to list":       {"no: Forbidden", refuse(403, "Forbidden"), true},
		"no right to watch":      {"no: Forbidden", where("watch", refuse(403, "Forbidden")), true},
		"unknown credentials":    {"no: Unauthorized", refuse(401, "Unauthorized"), false},
		"no CRD":                 {"could not find the requested resource", say(404, "404 page not found"), true},
		"connections dropped":    {"refused", func(*http.Request) (*http.Response, error) { return nil, errors.New("refused") }, false},
		"HTML":                   {"invalid character '<'", say(200, "<html>welcome</html>"), true},
		"another list":           {`an answer of kind \"PodList\"`, say(200, `{"kind":"PodList","metadata":{}}`), true},
		"pages that are too old": {"no: Expired", where("continue", refuse(410, "Expired")), true},
		"an answer without end": {"too large", func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(spaces{r.Context()}), Request: r}, nil
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &cluster{version: 1}
				var tale, log strings.Builder
				d, err := hosts.New(hosts.Options{
					Config: &rest.Config{Host: "http://kube", Transport: c}, Log: slog.New(slog.NewTextHandler(&log, nil)),
					Changed: func(old, now *hosts.Host) {
						if old != nil {
							fmt.Fprint(&tale, old.Name, " ", now == nil, " ")
						}
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- d.Run(ctx) }()
				is := func(after time.Duration, hosts int, well bool) {
					t.Helper()
					<-time.After(after)
					synctest.Wait()
					st := d.Status()
					if !st.Synced || st.Hosts != hosts || (st.LastError == "") != well || (st.BrokenSince == nil) != well || d.Knows("metal3") != well {
						t.Errorf("%+v", st)
					}
				}
				is(time.Second, many, true)
				c.with(func() { c.lists, c.fault, c.forgot = 0, row.fault, row.forget; c.cuts++ })
				is(time.Minute, many, false)
				c.with(func() { c.fault, c.version = nil, 2 })
				is(15*time.Second, many-1, true)
				if tale.String() != "host-001 false host-000 true " && tale.String() != "host-000 true host-001 false " || (c.lists > 0) != row.forget {
					t.Errorf("%d pages, told %q", c.lists, &tale)
				}
				if l := log.String(); strings.Count(l, "\n") != 3 || strings.Count(l, "WARN") != 1 || !strings.Contains(l, row.says) {
					t.Errorf("log: %s", l)
				}
				cancel()
				<-ended
				<-time.After(time.Second)
			})
		})
	}
}
