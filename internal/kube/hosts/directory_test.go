package hosts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const many = 250 // hosts, in three pages

// cluster is an API server: at its second version the first host is gone, and the next one has failed.
type cluster struct {
	mu      sync.Mutex
	version int
	forgot  bool          // the first version: no watch can go on from there
	cut     chan struct{} // closed to end all watches
	lists   int           // pages that were asked for
	fault   answer        // nil: none
}

// answer is in the place of the cluster's, unless it is nil and nil.
type answer func(metav1.ListOptions) (io.ReadCloser, error)

func say(text string) io.ReadCloser { return io.NopCloser(strings.NewReader(text)) }

func host(i, errors int) string {
	return fmt.Sprintf(`{"metadata":{"namespace":"metal3","name":"host-%03d","uid":"u","resourceVersion":"2"},"status":{"errorCount":%d}}`, i, errors)
}

// silence is a body that says nothing until its end.
type silence struct{ end, cut <-chan struct{} }

func (s silence) Read([]byte) (int, error) {
	select {
	case <-s.end:
	case <-s.cut:
	}
	return 0, io.EOF
}

func (c *cluster) get(ctx context.Context, o metav1.ListOptions) (io.ReadCloser, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !o.Watch {
		c.lists++
	}
	if c.fault != nil {
		if a, err := c.fault(o); a != nil || err != nil {
			return a, err
		}
	}
	if o.Watch {
		text := ""
		switch {
		case c.forgot && o.ResourceVersion == "1":
			text = `{"type":"ERROR","object":{"kind":"Status","message":"too old"}}`
		case c.version == 2 && o.ResourceVersion == "1":
			text = `{"type":"DELETED","object":` + host(0, 0) + `}{"type":"MODIFIED","object":` + host(1, 1) + "}"
		}
		return io.NopCloser(io.MultiReader(strings.NewReader(text), silence{ctx.Done(), c.cut})), nil
	}
	if o.Limit != 100 || o.ResourceVersion != "" {
		return nil, errors.New("a list that the server sends in one answer")
	}
	items := []string{`[]`, `null`, `{"metadata":{}}`} // no hosts: they must not keep the others from being seen
	from := map[string]int{"": 0, "second": 100, "third": 200}[o.Continue]
	for i := from; i < min(from+100, many); i++ {
		if i > 0 || c.version == 1 {
			items = append(items, host(i, map[int]int{1: c.version - 1}[i]))
		}
	}
	next := map[int]string{0: "second", 100: "third"}[from]
	const text = `{"kind":"BareMetalHostList","metadata":{"continue":%q,"resourceVersion":"%d"},"items":[%s]}`
	return say(fmt.Sprintf(text, next, c.version, strings.Join(items, ","))), nil
}

// What is wrong is said once, what is known stays, and all is well within 15 s of the server's return. A watch goes on
// where it was: a list of 20,000 hosts is 300 MB.
func TestNothingIsForgotten(t *testing.T) {
	for name, row := range map[string]struct {
		says   string
		fault  answer
		forget bool // the version so far: a list is needed
	}{
		"no answer":         {"refused", func(metav1.ListOptions) (io.ReadCloser, error) { return nil, errors.New("refused") }, false},
		"no answer to list": {"refused", func(metav1.ListOptions) (io.ReadCloser, error) { return nil, errors.New("refused") }, true},
		"no right to watch": {"refused", func(o metav1.ListOptions) (io.ReadCloser, error) {
			if o.Watch {
				return nil, errors.New("refused")
			}
			return nil, nil
		}, true},
		"all is too old": {"too old", func(metav1.ListOptions) (io.ReadCloser, error) { return nil, apierrors.NewResourceExpired("too old") }, true},
		"HTML":           {"invalid character '<'", func(metav1.ListOptions) (io.ReadCloser, error) { return say("<html>"), nil }, true},
		"another list":   {`an answer of kind \"PodList\"`, func(metav1.ListOptions) (io.ReadCloser, error) { return say(`{"kind":"PodList"}`), nil }, true},
		"pages that are too old": {"too old", func(o metav1.ListOptions) (io.ReadCloser, error) {
			if o.Continue != "" {
				return nil, apierrors.NewResourceExpired("too old")
			}
			return nil, nil
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &cluster{version: 1, cut: make(chan struct{})}
				var tale, log strings.Builder
				d, err := New(Options{
					Config: &rest.Config{Host: "http://kube"}, Log: slog.New(slog.NewTextHandler(&log, nil)),
					Changed: func(old, now *Host) {
						if old != nil {
							fmt.Fprint(&tale, old.Name, " ", now == nil, " ")
						}
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				d.scopes[0].get = c.get
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
				c.mu.Lock()
				c.lists, c.fault, c.forgot = 0, row.fault, row.forget
				close(c.cut)
				c.cut = make(chan struct{})
				c.mu.Unlock()
				is(time.Minute, many, false)
				c.mu.Lock()
				c.fault, c.version = nil, 2
				c.mu.Unlock()
				is(15*time.Second, many-1, true)
				if tale.Len() != len("host-001 false host-000 true ") || (c.lists > 0) != row.forget {
					t.Errorf("%d pages, told %q", c.lists, &tale)
				}
				if l := log.String(); strings.Count(l, "\n") != 3 || strings.Count(l, "WARN") != 1 || !strings.Contains(l, row.says) {
					t.Errorf("log: %s", l)
				}
				cancel()
				<-ended
			})
		})
	}
}

// What a tenant writes to hosts must not kill the pod.
func TestAnswersAreBounded(t *testing.T) {
	endless := func(context.Context, metav1.ListOptions) (io.ReadCloser, error) { return io.NopCloser(spaces{}), nil }
	s := &scope{get: endless, maxBytes: 1 << 20}
	if _, err := s.page(t.Context(), ""); err == nil {
		t.Error("a page without an end is read")
	}
	if _, err := s.watch(t.Context(), "1"); err == nil {
		t.Error("an event without an end is read")
	}
}

type spaces struct{}

var blank = bytes.Repeat([]byte(" "), 64<<10)

func (spaces) Read(p []byte) (int, error) { return copy(p, blank), nil }
