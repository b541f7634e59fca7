package play

import (
	"bytes"
	"context"
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
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// cluster is an API server in memory. It has only BareMetalHosts, and takes Events.
type cluster struct {
	mu      sync.Mutex
	version int
	hosts   map[string]object // by NAMESPACE/NAME
	watches []chan []byte
	events  child.LogBook
}

// object is the JSON of an object of Kubernetes.
type object = map[string]any

// kubeconfig has an address that cluster.RoundTrip ignores.
const kubeconfig = `{"apiVersion": "v1", "kind": "Config", "current-context": "c",
	"contexts": [{"name": "c", "context": {"cluster": "c", "namespace": "metal3"}}],
	"clusters": [{"name": "c", "cluster": {"server": "http://api"}}]}`

// joinCluster makes the program run in a cluster.
func (p *program) joinCluster() error {
	p.cluster = &cluster{hosts: map[string]object{}}
	file := filepath.Join(p.dir, "kubeconfig")
	p.env["KUBECONFIG"], p.env["IRONIC_THROTTLE_KUBERNETES"], p.env["POD_NAME"] = file, "on", "throttle"
	return os.WriteFile(file, []byte(kubeconfig), 0o600)
}

// RoundTrip implements http.RoundTripper.
func (c *cluster) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/baremetalhosts"):
		if r.URL.Query().Get("watch") != "" {
			w := &watch{ctx: r.Context(), events: make(chan []byte, 1<<14)}
			c.watches = append(c.watches, w.events)
			return answered(r, http.StatusOK, w), nil
		}
		return answeredJSON(r, http.StatusOK, object{
			"kind": "BareMetalHostList", "apiVersion": "metal3.io/v1alpha1", "items": slices.Collect(maps.Values(c.hosts)),
			"metadata": object{"resourceVersion": strconv.Itoa(c.version + 1)},
		})
	case r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/events"):
		text, err := io.ReadAll(r.Body)
		_, _ = c.events.Write(append(bytes.ReplaceAll(text, []byte("\n"), nil), '\n'))
		return answered(r, http.StatusCreated, io.NopCloser(bytes.NewReader(text))), err
	}
	return answeredJSON(r, http.StatusNotFound, object{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": http.StatusNotFound,
	})
}

func answered(r *http.Request, code int, body io.ReadCloser) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: code, Header: h, Body: body, Request: r}
}

// answeredJSON answers with v.
func answeredJSON(r *http.Request, code int, v any) (*http.Response, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return answered(r, code, io.NopCloser(bytes.NewReader(text))), nil
}

const bookmark = `{"type":"BOOKMARK","object":{"apiVersion":"metal3.io/v1alpha1","kind":"BareMetalHost",` +
	`"metadata":{"resourceVersion":"1"}}}`

// watch is the body of a watch: events when they happen, and a bookmark every minute.
type watch struct {
	ctx    context.Context
	events chan []byte
	rest   []byte
}

// Read implements io.Reader.
func (w *watch) Read(to []byte) (int, error) {
	if len(w.rest) == 0 {
		select {
		case w.rest = <-w.events:
		case <-time.After(time.Minute):
			w.rest = []byte(bookmark + "\n")
		case <-w.ctx.Done():
			return 0, w.ctx.Err()
		}
	}
	n := copy(to, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (w *watch) Close() error { return nil }

// happens makes, changes or deletes a host, and sends the event to all watches.
func (c *cluster) happens(kind, key string, host object) error {
	c.version++
	host["metadata"].(object)["resourceVersion"] = strconv.Itoa(c.version)
	c.hosts[key] = host
	if kind == "DELETED" {
		delete(c.hosts, key)
	}
	text, err := json.Marshal(object{"type": kind, "object": host})
	if err != nil {
		return err
	}
	for _, events := range c.watches {
		events <- append(text, '\n')
	}
	return nil
}

// exists is the step bmh: it makes, changes or deletes BareMetalHosts.
func exists(s *stage, w *words) {
	gone := w.takes("delete")
	names, fields := w.names(), w.fields("ns consumer state errors fails image holdoff deleting paused")
	c := s.program.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range names {
		ns, kind := orDefault(fields["ns"]), "MODIFIED"
		h, known := c.hosts[ns+"/"+name]
		switch {
		case gone && !known:
			wrong("the cluster has no such BareMetalHost")
		case gone:
			kind = "DELETED"
		case !known:
			kind, h = "ADDED", newHost(ns, name, strconv.Itoa(c.version+1))
		}
		h["status"].(object)["provisioning"].(object)["ID"] = s.ironic.uuid(ns, name)
		change(h, fields)
		check(c.happens(kind, ns+"/"+name, h))
	}
}

func newHost(ns, name, uid string) object {
	return object{
		"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
		"metadata": object{"namespace": ns, "name": name, "uid": uid, "annotations": object{}},
		"spec":     object{"image": object{"url": "http://images/one"}},
		"status":   object{"provisioning": object{"state": "available"}},
	}
}

func change(h object, fields map[string]string) {
	meta, spec, status := h["metadata"].(object), h["spec"].(object), h["status"].(object)
	for key, value := range fields {
		switch key {
		case "consumer":
			spec["consumerRef"] = object{
				"apiVersion": "metal3.io/v1alpha1", "kind": "HostClaim", "name": "claim", "namespace": value,
			}
		case "state":
			status["provisioning"].(object)["state"] = spaced(value)
		case "errors":
			status["errorCount"] = json.Number(value)
		case "fails":
			status["provisioningFailCount"] = json.Number(value)
		case "image":
			spec["image"] = object{"url": "http://images/" + value}
			if value == "none" {
				delete(spec, "image")
			}
		case "holdoff":
			meta["annotations"].(object)["ironic-throttle.metal3.io/holdoff"] = value
		case "paused":
			meta["annotations"].(object)["baremetalhost.metal3.io/paused"] = "by hand"
		case "deleting":
			meta["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339Nano)
		}
	}
}
