package fleet

import (
	"context"
	stdjson "encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/json"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// apiServer plays the part of an API server that lists objects in pages.
type apiServer struct {
	t       testing.TB
	lists   map[string][]any    // by path
	served  map[string][]string // resources by GROUP/VERSION
	fault   func(w http.ResponseWriter, r *http.Request) bool
	asked   []string
	perPage int // 0: what is asked for
}

const (
	metal3V   = "metal3.io/v1alpha1"
	coreV     = "cluster.x-k8s.io/v1beta2"
	coreOldV  = "cluster.x-k8s.io/v1beta1"
	providerV = "infrastructure.cluster.x-k8s.io/v1beta1"
)

func newAPI(t testing.TB) *apiServer {
	return &apiServer{t: t, lists: map[string][]any{}, served: map[string][]string{}}
}

// all serves all kinds. contract is the version of Cluster API.
func (a *apiServer) all(contract string) *apiServer {
	a.served[metal3V] = []string{"baremetalhosts", "hostfirmwaresettings", "hostfirmwarecomponents", "hostupdatepolicies"}
	a.served[contract] = []string{"machines", "machinesets", "machinedeployments"}
	a.served[providerV] = []string{"metal3machines", "metal3machinetemplates"}
	return a
}

// add adds objects to the list at path.
func (a *apiServer) add(path string, objects ...string) {
	a.t.Helper()
	for _, text := range objects {
		var o any
		if err := json.UnmarshalCaseSensitivePreserveInts([]byte(text), &o); err != nil {
			a.t.Fatalf("%v in %s", err, text)
		}
		a.lists[path] = append(a.lists[path], o)
	}
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.asked = append(a.asked, r.URL.Path)
	w.Header().Set("Content-Type", "application/json")
	if a.fault != nil && a.fault(w, r) {
		return
	}
	name, custom := strings.CutPrefix(r.URL.Path, "/apis/")
	if resources, ok := a.served[name]; ok && custom {
		var list []any
		for _, resource := range resources {
			list = append(list, map[string]any{"name": resource, "namespaced": true})
		}
		a.write(w, map[string]any{"kind": "APIResourceList", "groupVersion": name, "resources": list})
		return
	}
	if custom && strings.Count(name, "/") == 1 {
		status(w, http.StatusNotFound, "NotFound", "not served")
		return
	}
	a.page(w, r)
}

func (a *apiServer) page(w http.ResponseWriter, r *http.Request) {
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil || limit != pageSize {
		a.t.Errorf("%s: limit %q, want %d", r.URL.Path, r.URL.Query().Get("limit"), pageSize)
	}
	if a.perPage > 0 {
		limit = a.perPage
	}
	items := a.lists[r.URL.Path]
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	to, next := min(from+limit, len(items)), ""
	if to < len(items) {
		next = strconv.Itoa(to)
	}
	kind := map[string]string{
		"/api/v1/nodes": "NodeList", "/api/v1/pods": "PodList", "/api/v1/persistentvolumes": "PersistentVolumeList", "/api/v1/persistentvolumeclaims": "PersistentVolumeClaimList",
		"/apis/policy/v1/poddisruptionbudgets": "PodDisruptionBudgetList", "/apis/storage.k8s.io/v1/csinodes": "CSINodeList",
	}[r.URL.Path]
	version := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path[:strings.LastIndex(r.URL.Path, "/")], "/apis/"), "/api/")
	if kind == "" {
		kind = "CustomList"
	}
	a.write(w, map[string]any{"kind": kind, "apiVersion": version, "metadata": map[string]any{"resourceVersion": "7", "continue": next}, "items": items[from:to]})
}

func (a *apiServer) write(w http.ResponseWriter, v any) {
	if err := stdjson.NewEncoder(w).Encode(v); err != nil {
		a.t.Error(err)
	}
}

func status(w http.ResponseWriter, code int, reason, message string) {
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":%q}`, reason, code, message)
}

// reader is a Reader of a at a fixed time.
func (a *apiServer) reader(o Options) *Reader {
	a.t.Helper()
	server := httptest.NewServer(a)
	transport := &http.Transport{}
	a.t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
	})
	r, err := New(&rest.Config{Host: server.URL, Transport: transport}, o)
	if err != nil {
		a.t.Fatal(err)
	}
	r.now = func() time.Time { return noon }
	return r
}

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

func (a *apiServer) read(o Options) disruption.State {
	a.t.Helper()
	s, err := a.reader(o).Read(context.Background())
	if err != nil {
		a.t.Fatal(err)
	}
	return s
}
