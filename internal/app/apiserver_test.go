package app

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
)

// object is one of Kubernetes.
type object = map[string]any

// apiServer is an API server in memory, and the way to it. It knows objects by their
// paths and nothing of their kinds; there are no BareMetalHosts.
type apiServer struct {
	mu      sync.Mutex
	version int
	objects map[string]object
	// labelled is who had the label of the leader after each patch of a pod, and when the
	// Lease was given up.
	labelled []string
	// away are the kinds about which nobody gets an answer, and refused those that
	// are forbidden; "" = all.
	away, refused map[string]bool
}

// podPath begins the paths of pods.
const podPath = "/api/v1/namespaces/metal3/pods/"

func newAPIServer() *apiServer {
	pods := map[string]object{}
	for _, name := range []string{"a", "b"} {
		pods[podPath+name] = object{"metadata": object{"name": name, "labels": object{}, "annotations": object{}}}
	}
	return &apiServer{objects: pods, away: map[string]bool{}, refused: map[string]bool{"baremetalhosts": true}}
}

// set changes what happens to requests about kind.
func (s *apiServer) set(what map[string]bool, kind string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what[kind] = on
}

// kindOf is the plural in a path such as /api/v1/namespaces/n/configmaps/x.
func kindOf(path string) string {
	for part := range strings.SplitSeq(path, "/") {
		switch part {
		case "leases", "configmaps", "events", "baremetalhosts", "pods", "deployments", "secrets":
			return part
		}
	}
	return path
}

// RoundTrip implements http.RoundTripper.
func (s *apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	var in object
	if r.Body != nil {
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	kind := kindOf(r.URL.Path)
	if s.away[""] || s.away[kind] {
		s.mu.Unlock()
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	code, reason := s.doLocked(r.Method, r.URL.Path, kind, in)
	var answer any = object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": reason}
	if reason == "" {
		answer = in
		if r.Method == http.MethodGet {
			answer = s.objects[r.URL.Path]
		}
	}
	body, err := json.Marshal(answer)
	s.mu.Unlock()
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), Request: r,
	}, err
}

func (s *apiServer) doLocked(method, path, kind string, in object) (code int, reason string) {
	if method == http.MethodPost {
		path += "/" + text(in, "name")
	}
	old := s.objects[path]
	switch {
	case s.refused[kind]:
		return http.StatusForbidden, "Forbidden"
	case method == http.MethodPost && old != nil:
		return http.StatusConflict, "AlreadyExists"
	case method != http.MethodPost && old == nil:
		return http.StatusNotFound, "NotFound"
	case method == http.MethodPut && text(in, "resourceVersion") != text(old, "resourceVersion"):
		return http.StatusConflict, "Conflict"
	case method == http.MethodPatch:
		for field, values := range in["metadata"].(object) {
			for key, value := range values.(object) {
				if old["metadata"].(object)[field].(object)[key] = value; value == nil {
					delete(old["metadata"].(object)[field].(object), key)
				}
			}
		}
		if kind == "pods" {
			s.labelled = append(s.labelled, s.leadersLocked())
		}
	case method != http.MethodGet:
		s.putLocked(path, in)
		if spec, _ := in["spec"].(object); kind == "leases" && (spec["holderIdentity"] == nil || spec["holderIdentity"] == "") {
			s.labelled = append(s.labelled, "the Lease is free")
		}
	}
	return http.StatusOK, ""
}

// leadersLocked lists the pods that a Service would lead to.
func (s *apiServer) leadersLocked() string {
	found := ""
	for _, name := range []string{"a", "b"} {
		if s.objects[podPath+name]["metadata"].(object)["labels"].(object)["ironic-throttle.metal3.io/role"] == "leader" {
			found += name
		}
	}
	return found
}

// leaders is that, and what it was after each change.
func (s *apiServer) leaders() (now string, history []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leadersLocked(), slices.Compact(slices.Clone(s.labelled))
}

func (s *apiServer) putLocked(path string, o object) {
	s.version++
	o["metadata"].(object)["resourceVersion"] = strconv.Itoa(s.version)
	s.objects[path] = o
}

// setObject puts an object to a path.
func (s *apiServer) setObject(path, kind, version string, more object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := object{"kind": kind, "apiVersion": version, "metadata": object{"name": filepath.Base(path), "namespace": "metal3", "uid": "u-1"}}
	maps.Copy(o, more)
	s.putLocked(path, o)
}

func text(o object, field string) string {
	meta, _ := o["metadata"].(object)
	value, _ := meta[field].(string)
	return value
}

// inCluster is a change of Options: with a Lease and holds in ConfigMaps of s.
func inCluster(t *testing.T, s *apiServer) func(*Options, *fakeironic.Server) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	const text = `{"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "namespace": "metal3"}}],
		"clusters": [{"name": "c", "cluster": {"server": "http://api"}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(o *Options, _ *fakeironic.Server) {
		k := &o.Config.Kubernetes
		k.On, k.Kubeconfig, k.Identity, k.Leader.Elect = true, file, "a", true
		o.Config.Holdoff.ConfigMap, o.ClusterTransport = "holds", s
	}
}
