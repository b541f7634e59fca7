package leader

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// pods is an API server that knows pods by their names and takes merge patches.
type pods struct {
	mu     sync.Mutex
	meta   map[string]map[string]map[string]any // pod, then labels or annotations
	asked  []string                             // pod and on or off, as requests came in
	refuse bool
	slow   time.Duration // before a request is done, whoever waits for it
	log    bytes.Buffer
}

func newPods(names ...string) *pods {
	p := &pods{meta: map[string]map[string]map[string]any{}}
	for _, name := range names {
		p.meta[name] = map[string]map[string]any{"labels": {"app": "throttle"}, "annotations": {}}
	}
	return p
}

func (p *pods) Write(b []byte) (int, error) { return p.log.Write(b) }

// with lets a test look at it, or change it.
func (p *pods) with(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
}

func (p *pods) RoundTrip(r *http.Request) (*http.Response, error) {
	var slow time.Duration
	p.with(func() { slow = p.slow })
	code, answer := http.StatusOK, any(metav1.ObjectMeta{})
	var in struct {
		Metadata map[string]map[string]any
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	time.AfterFunc(slow, func() {
		defer close(done)
		p.with(func() { code, answer = p.patchLocked(r, in.Metadata) })
	})
	select {
	case <-done:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	text, err := json.Marshal(answer)
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(text)), Request: r,
	}, err
}

func (p *pods) patchLocked(r *http.Request, meta map[string]map[string]any) (int, any) {
	name := path.Base(r.URL.Path)
	word := "off"
	if meta["labels"][labelName] == labelValue {
		word = "on"
	}
	p.asked = append(p.asked, name+" "+word)
	pod := p.meta[name]
	switch {
	case r.Method != http.MethodPatch || r.Header.Get("Content-Type") != "application/merge-patch+json" || path.Dir(r.URL.Path) != "/api/v1/namespaces/metal3/pods":
		return status(http.StatusBadRequest, metav1.StatusReasonBadRequest, r.Method+" "+r.URL.Path)
	case p.refuse:
		return status(http.StatusForbidden, metav1.StatusReasonForbidden, `cannot patch resource "pods"`)
	case pod == nil:
		return status(http.StatusNotFound, metav1.StatusReasonNotFound, "no pod "+name)
	}
	for field, values := range meta {
		for key, value := range values {
			if pod[field][key] = value; value == nil {
				delete(pod[field], key)
			}
		}
	}
	return http.StatusOK, metav1.ObjectMeta{}
}

// leaders lists the pods that a Service would lead to. Label and cost must go together, and
// nothing else may have changed.
func (p *pods) leaders(t *testing.T) string {
	t.Helper()
	var found []string
	p.with(func() {
		for _, name := range slices.Sorted(maps.Keys(p.meta)) {
			labels, annotations := p.meta[name]["labels"], p.meta[name]["annotations"]
			if (labels[labelName] == labelValue) != (annotations[costName] == costValue) || labels["app"] != "throttle" {
				t.Errorf("%s: labels %v, annotations %v", name, labels, annotations)
			}
			if labels[labelName] == labelValue {
				found = append(found, name)
			}
		}
	})
	return strings.Join(found, " ")
}

// label is that of the pod a.
func (p *pods) label(t *testing.T, leading func() bool) *Label {
	t.Helper()
	l, err := NewLabel(LabelOptions{
		Config: &rest.Config{Host: "http://api", Transport: p}, Namespace: "metal3", Pod: "a", Leading: leading,
		Log: slog.New(slog.NewTextHandler(p, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// during runs keep for a while.
func during(d time.Duration, keep func(context.Context)) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	keep(ctx)
}

func (p *pods) want(t *testing.T, when, want string) {
	t.Helper()
	if got := p.leaders(t); got != want {
		t.Errorf("%s: leaders %q, want %q", when, got, want)
	}
}

// off keeps the label of a standby that enforces off its pod.
func off(l *Label) func(context.Context) {
	return func(ctx context.Context) { l.KeepIf(ctx, func() bool { return false }) }
}

// In mode observe every replica has the label, and the mode may change.
func TestTheLabelOfAStandbyFollowsTheMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPods("a")
		var observes atomic.Bool
		ctx, cancel := context.WithCancel(t.Context())
		l := p.label(t, nil)
		go l.KeepIf(ctx, observes.Load)
		for _, row := range []struct {
			observes bool
			want     string
		}{{false, ""}, {true, "a"}, {false, ""}} {
			observes.Store(row.observes)
			<-time.After(labelEvery + time.Second)
			p.want(t, fmt.Sprintf("observes %t", row.observes), row.want)
		}
		cancel()
	})
}

func TestLH42_TheLabelFollowsTheLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPods("a", "b", "c")
		p.meta["a"]["labels"][labelName], p.meta["a"]["annotations"][costName] = labelValue, costValue // of a process before
		p.meta["b"]["labels"][labelName], p.meta["b"]["annotations"][costName] = labelValue, costValue // who is dead
		l := p.label(t, nil)
		if l.Fault() == nil {
			t.Error("the label is known before anything was written")
		}
		during(time.Second/2, off(l))
		p.want(t, "standing by", "b")
		if err := l.Fault(); err != nil {
			t.Error(err)
		}
		during(time.Second/2, func(ctx context.Context) { l.KeepOn(ctx, Holder("b", "x1y")) })
		p.want(t, "leading", "a")
		l.Off()
		p.want(t, "in the end", "")
		if p.log.Len() > 0 {
			t.Errorf("log: %s", &p.log)
		}
	})
}

// Whoever led before may be gone, have been here, or be unknown.
func TestLH42_WhoLedBefore(t *testing.T) {
	for former, want := range map[string]string{
		"": "a on", "nobody": "a on", "a_0": "a on", "gone_0": "a on, gone off", "b_0": "a on, b off", "b.c_0": "a on, b.c off", "no_pod_0": "a on", "../b_0": "a on",
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPods("a", "b")
			during(labelEvery/2, func(ctx context.Context) { p.label(t, nil).KeepOn(ctx, former) })
			if got := strings.Join(p.asked, ", "); got != want || p.log.Len() > 0 {
				t.Errorf("%q: %s, want %s; log %s", former, got, want, &p.log)
			}
		})
	}
}

// What another one writes does not stay.
func TestLH42_TheLabelIsWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPods("a")
		l := p.label(t, nil)
		time.AfterFunc(time.Second, func() {
			p.with(func() { clear(p.meta["a"]["annotations"]); delete(p.meta["a"]["labels"], labelName) })
		})
		during(labelEvery+time.Second, func(ctx context.Context) { l.KeepOn(ctx, "") })
		p.want(t, "leading", "a")
	})
}

// A leader that was paused puts no label on when it wakes.
func TestLH42_ThePausedPutNoLabelOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, leads := newPods("a", "b"), true
		l := p.label(t, func() bool { return leads })
		during(time.Second, func(ctx context.Context) { l.KeepOn(ctx, "") })
		l.Off()
		leads = false
		during(time.Minute, func(ctx context.Context) { l.KeepOn(ctx, "b_0") })
		if got := strings.Join(p.asked, ", "); got != "a on, a off" || p.log.Len() > 0 {
			t.Errorf("%s; log %s", got, &p.log)
		}
	})
}

// A request that takes the label off is waited for when the lead begins: one that was given
// up could arrive later than the one that puts it on.
func TestLH42_NoLateRequestTakesTheLabelOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPods("a")
		p.slow = linger / 2
		l := p.label(t, nil)
		during(p.slow/2, off(l))
		during(time.Second, func(ctx context.Context) { l.KeepOn(ctx, "") })
		<-time.After(time.Second)
		p.want(t, "leading", "a")
	})
}

// The end of a process does not wait for an API server that hangs.
func TestLH42_TheEndDoesNotWaitLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPods("a")
		p.slow = time.Hour
		l, begun := p.label(t, nil), time.Now()
		during(time.Second, func(ctx context.Context) { l.KeepOn(ctx, "b_0") })
		l.Off()
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("the end took %s", took-time.Second)
		}
		begun = time.Now()
		during(time.Second, off(l))
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("the end of a standby took %s", took-time.Second)
		}
		<-time.After(2 * time.Hour)
	})
}

func TestLH41_AFaultIsToldOnceAndPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPods("a")
		p.refuse = true
		l := p.label(t, nil)
		time.AfterFunc(time.Hour, func() {
			if err := l.Fault(); err == nil || !strings.Contains(err.Error(), `cannot patch resource "pods"`) {
				t.Errorf("fault: %v", err)
			}
			p.with(func() { p.refuse = false })
		})
		during(time.Hour+time.Minute, off(l))
		if err := l.Fault(); err != nil {
			t.Error(err)
		}
		if n := strings.Count(p.log.String(), "\n"); n != 2 || !strings.Contains(p.log.String(), "written again") {
			t.Errorf("%d lines: %s", n, &p.log)
		}
		if n, most := len(p.asked), int(time.Hour/labelEvery)+10; n > most {
			t.Errorf("asked %d times, want %d at most", n, most)
		}
	})
}

// A network that is away tells of other ports each time; the log does not.
func TestLH41_FaultsOfOneKindAreTheSame(t *testing.T) {
	a, b := errors.New("read tcp 127.0.0.1:1: broken"), errors.New("read tcp 127.0.0.1:2: broken")
	if !sameFault(a, b) || sameFault(nil, a) || sameFault(a, nil) || !sameFault(nil, nil) {
		t.Error("what is told is not what is new")
	}
}
