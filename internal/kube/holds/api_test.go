package holds

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// api is an API server with ConfigMaps, in memory; it is the way to it, too.
type api struct {
	mu      sync.Mutex
	version int
	maps    map[string]*corev1.ConfigMap
	writes  int
	// refuse answers instead of the server when it returns a code; 1 hangs, and 2 does
	// what was asked and loses the answer.
	refuse func(method, name string) int
	// before is told of each request before the server has it.
	before func(method, name string)
}

const (
	hang = 1
	deaf = 2
)

func newAPI() *api { return &api{maps: map[string]*corev1.ConfigMap{}} }

func (a *api) RoundTrip(r *http.Request) (*http.Response, error) {
	var in corev1.ConfigMap
	name := path.Base(r.URL.Path)
	if r.Body != nil {
		data, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(data, &in)
		}
		if err != nil {
			return nil, err
		}
		name = in.Name
	}
	if a.before != nil {
		a.before(r.Method, name)
	}
	a.mu.Lock()
	code := 0
	if a.refuse != nil {
		code = a.refuse(r.Method, name)
	}
	var answer any
	if code == 0 || code == deaf {
		lost := code == deaf
		code, answer = a.doLocked(r.Method, name, &in)
		if lost {
			code = hang
		}
	} else {
		_, answer = status(code)
	}
	body, err := json.Marshal(answer)
	a.mu.Unlock()
	if code == hang {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), Request: r,
	}, err
}

func (a *api) doLocked(method, name string, in *corev1.ConfigMap) (int, any) {
	old := a.maps[name]
	switch {
	case method == http.MethodPost && old != nil:
		return statusOf(http.StatusConflict, metav1.StatusReasonAlreadyExists)
	case method != http.MethodPost && old == nil:
		return status(http.StatusNotFound)
	case method == http.MethodPut && in.ResourceVersion != old.ResourceVersion:
		return status(http.StatusConflict)
	case method != http.MethodGet:
		size := 0
		for _, v := range in.Data {
			size += len(v)
		}
		for _, v := range in.BinaryData {
			size += len(v)
		}
		if size > 1<<20 {
			return status(http.StatusUnprocessableEntity)
		}
		a.writes++
		a.putLocked(name, in)
	}
	return http.StatusOK, a.maps[name]
}

func (a *api) putLocked(name string, cm *corev1.ConfigMap) {
	a.version++
	cm.ResourceVersion = strconv.Itoa(a.version)
	a.maps[name] = cm
}

// edit changes a ConfigMap behind everybody's back; nil deletes it.
func (a *api) edit(n int, change func(*corev1.ConfigMap)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := shardName("holds", n)
	if change == nil {
		delete(a.maps, name)
		return
	}
	cm := a.maps[name].DeepCopy()
	if cm == nil {
		cm = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	change(cm)
	a.putLocked(name, cm)
}

func (a *api) get(n int) *corev1.ConfigMap {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.maps[shardName("holds", n)].DeepCopy()
}

func (a *api) written() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.writes
}

func (a *api) fail(refuse func(method, name string) int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refuse = refuse
}

func status(code int) (int, any) {
	reason := map[int]metav1.StatusReason{
		http.StatusNotFound: metav1.StatusReasonNotFound, http.StatusConflict: metav1.StatusReasonConflict,
		http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusUnprocessableEntity: metav1.StatusReasonInvalid,
		http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable,
	}[code]
	return statusOf(code, reason)
}

func statusOf(code int, reason metav1.StatusReason) (int, any) {
	return code, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: "no: " + string(reason),
	}
}

// desk is a place for Maps, and what they have said.
type desk struct {
	t testing.TB
	*api
	log bytes.Buffer
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	return &desk{t: t, api: newAPI()}
}

func (d *desk) options() Options {
	return Options{
		Config:    &rest.Config{Host: "http://api", Transport: d.api, ContentConfig: rest.ContentConfig{ContentType: "application/json"}},
		Namespace: "metal3", Name: "holds", Log: slog.New(slog.NewTextHandler(&d.log, nil)),
	}
}

// open opens the ledger; it is closed with the test.
func (d *desk) open() *Map {
	d.t.Helper()
	m, err := Open(d.t.Context(), d.options())
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		if err := m.Close(); err != nil {
			d.t.Error(err)
		}
	})
	return m
}

func (d *desk) save(m *Map, deletes []string, puts ...holdoff.Record) {
	d.t.Helper()
	if err := m.Save(holdoff.Batch{Puts: puts, Deletes: deletes}); err != nil {
		d.t.Fatal(err)
	}
}

// holds loads m and compares, in any order.
func (d *desk) holds(m *Map, known bool, want ...holdoff.Record) {
	d.t.Helper()
	got, isKnown, err := m.Load()
	byUUID := cmpopts.SortSlices(func(a, b holdoff.Record) bool { return a.UUID < b.UUID })
	if diff := cmp.Diff(want, got, byUUID, cmpopts.EquateEmpty()); diff != "" || isKnown != known || err != nil {
		d.t.Errorf("known %v, error %v: %s", isKnown, err, diff)
	}
}

// says counts the lines of the log of that level with the text.
func (d *desk) says(level, text string) int {
	n := 0
	for line := range strings.Lines(d.log.String()) {
		if strings.Contains(line, "level="+level+" ") && strings.Contains(line, text) {
			n++
		}
	}
	return n
}

var since = time.Date(2026, 11, 22, 1, 2, 3, 456, time.UTC)

// record is one with a failure.
func record(uuid string, since time.Time) holdoff.Record {
	return holdoff.Record{
		Version: holdoff.RecordVersion, UUID: uuid, Name: "metal3~" + uuid, Spec: "s",
		Episodes: []holdoff.EpisodeRecord{{ID: "e-" + uuid, Kind: holdoff.Deployment, State: "deploy failed", Failures: 1, Since: since}},
	}
}

// hosts are names of n hosts of one shard.
func hosts(shard, n int) []string {
	var names []string
	for i := 0; len(names) < n; i++ {
		if name := fmt.Sprintf("host-%d", i); shardOf(name) == shard {
			names = append(names, name)
		}
	}
	return names
}
