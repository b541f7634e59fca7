//go:build e2e

package kube

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
)

// ironicCRD is IrSO's, as far as the throttle reads it: the module of IrSO's API has none.
const ironicCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ironics.ironic.metal3.io}
spec:
  group: ironic.metal3.io
  names: {kind: Ironic, listKind: IronicList, plural: ironics, singular: ironic}
  scope: Namespaced
  versions:
    - name: v1alpha1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
            status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

// standaloneIronic is the Service of IrSO's Ironic: one address, two ports, and
// credentials that change.
type standaloneIronic struct {
	host string // of the Service

	mu       sync.Mutex
	password string
	let      map[string]int // requests by port and password that were let in
}

// serveStandalone serves an Ironic at ports 80 and 443 of a loopback address, as ironic in a
// namespace. It returns the file that lets a process find it there, and the certificate.
func serveStandalone(t *testing.T, namespace string) (s *standaloneIronic, hosts, cert string) {
	t.Helper()
	s = &standaloneIronic{host: "ironic." + namespace + ".svc", password: "one", let: map[string]int{}}
	cert = certificate(t, s.host)
	pair, err := tls.LoadX509KeyPair(cert, keyOf(cert))
	if err != nil {
		t.Fatal(err)
	}
	fake := serveIronic(t, time.Hour)
	const address = "127.0.80.43"
	for _, port := range []string{"80", "443"} {
		listener, err := net.Listen("tcp", address+":"+port)
		if err != nil {
			t.Fatal(err) // these tests run as root
		}
		server := httptest.NewUnstartedServer(s.guard(port, fake))
		_ = server.Listener.Close()
		server.Listener = listener
		if port == "443" {
			server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
			server.StartTLS()
		} else {
			server.Start()
		}
		t.Cleanup(server.Close)
	}
	hosts = filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(hosts, []byte("127.0.0.1 localhost\n"+address+" "+s.host+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return s, hosts, cert
}

// guard lets in who has the password of this moment.
func (s *standaloneIronic) guard(port string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		s.mu.Lock()
		ok := user == "ironic" && password == s.password
		if ok {
			s.let[port+" "+password]++
		}
		s.mu.Unlock()
		w.Header().Set("Connection", "close") // the next one comes where Ironic is then
		if !ok {
			http.Error(w, `{"error":{"message":"Authorization required"}}`, http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *standaloneIronic) change(password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.password = password
}

func (s *standaloneIronic) letIn(port, password string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.let[port+" "+password]
}

// objects are what a test of IrSO changes in its namespace.
type objects struct {
	*testing.T
	namespace string
	ironics   dynamic.ResourceInterface
}

func (o objects) apply(text string) {
	o.Helper()
	decoded, err := realkube.Decode(text)
	for _, object := range decoded {
		if err == nil {
			_, err = cluster.Apply(o.Context(), object)
		}
	}
	if err != nil {
		o.Fatal(err)
	}
}

func (o objects) secret(name string, data map[string]string) {
	o.Helper()
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name, "namespace": o.namespace}, "stringData": data,
	})
	if err != nil {
		o.Fatal(err)
	}
	o.apply(string(text))
}

// ironic gives the Ironic resource that spec, and says of it, as IrSO does, that it is ready.
func (o objects) ironic(spec string) {
	o.Helper()
	o.apply(fmt.Sprintf(`{apiVersion: ironic.metal3.io/v1alpha1, kind: Ironic, metadata: {name: ironic, namespace: %s}, spec: {%s}}`, o.namespace, spec))
	at, err := o.ironics.Get(o.Context(), "ironic", metav1.GetOptions{})
	if err == nil {
		status := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":"True","reason":"DeploymentAvailable","message":"",
			"lastTransitionTime":"2026-01-01T00:00:00Z","observedGeneration":%d}]}}`, at.GetGeneration())
		_, err = o.ironics.Patch(o.Context(), "ironic", types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status")
	}
	if err != nil {
		o.Fatal(err)
	}
}

// TestIronicIsFoundByItsResource takes a throttle with IRONIC_NAME through every piece that
// may be missing, with the rights of the manifests, and then follows what changes.
func TestIronicIsFoundByItsResource(t *testing.T) {
	t.Parallel()
	ns := namespace(t, "irso")
	client, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	o := objects{t, ns, client.Resource(schema.GroupVersionResource{Group: "ironic.metal3.io", Version: "v1alpha1", Resource: "ironics"}).Namespace(ns)}
	ironic, hosts, cert := serveStandalone(t, ns)
	all := rights(t, "../../deploy/overlays/standalone-irso", ns)
	ofIrSO := func(o *unstructured.Unstructured) bool { return o.GetName() == "ironic-throttle-irso" }
	p := serveAt(t, hosts, clustered("", deploy(t, ns, slices.DeleteFunc(slices.Clone(all), ofIrSO)), ns).with(settings{
		"IRONIC_NAME": "ironic", "METAL3_AUTH_ROOT_DIR": "", "IRONIC_CACERT_FILE": "",
	}))
	warns := func(want string) bool { // hosts of other tests may cause warnings too
		status, err := p.client().Status(t.Context())
		return err == nil && slices.ContainsFunc(status.Warnings, func(w string) bool {
			return strings.HasPrefix(w, "IRONIC_NAME=ironic: the Ironic resource "+ns+"/ironic") && strings.Contains(w, want)
		})
	}
	folder := t.TempDir()
	err = os.WriteFile(filepath.Join(folder, "crd.yaml"), []byte(ironicCRD), 0o600)
	for _, step := range []struct {
		says string // at first, and after what was done before
		do   func()
	}{
		{"may not be read: the throttle's account needs the right to get it (component irso)", func() { deploy(t, ns, all) }},
		{"the server could not find the requested resource", func() { err = errors.Join(err, cluster.InstallCRDsFrom(t.Context(), folder)) }},
		{"not found", func() { o.ironic("") }},
		{"has no spec.apiCredentialsName", func() { o.ironic("apiCredentialsName: elsewhere") }},
		{"the Secret " + ns + "/elsewhere, may not be read", func() { o.ironic("apiCredentialsName: ironic-credentials") }},
		{"the Secret " + ns + "/ironic-credentials, does not exist", func() { o.secret("ironic-credentials", map[string]string{"username": "ironic"}) }},
		{"has no password", func() { o.secret("ironic-credentials", map[string]string{"username": "ironic", "password": "one"}) }},
	} {
		await(t, step.says, func() bool { return warns(step.says) }, p.log.Tail)
		if code, body := p.put("00000000-0000-0000-0000-000000000001", "active"); code != http.StatusBadGateway {
			t.Errorf("%s: a PUT through the gateway: %d %s", step.says, code, body)
		}
		if step.do(); err != nil {
			t.Fatal(err)
		}
	}
	p.isReady()
	if warns("") {
		t.Error("it is found, and warns")
	}
	if n := p.log.Count("Ironic cannot be found in the cluster"); n < 7 || n > 10 {
		t.Errorf("the log has %d lines about seven pieces", n)
	}

	comes := func(port, password string) {
		t.Helper()
		before := ironic.letIn(port, password)
		await(t, "requests at port "+port+" with the password "+password, func() bool { return ironic.letIn(port, password) > before+1 }, p.log.Tail)
	}
	comes("80", "one")
	ironic.change("two")
	o.secret("ironic-credentials", map[string]string{"username": "ironic", "password": "two"})
	comes("80", "two")
	o.ironic("apiCredentialsName: ironic-credentials, tls: {certificateName: ironic-cert}")
	missing := "the Secret " + ns + "/ironic-cert, does not exist"
	await(t, missing, func() bool { return warns(missing) }, p.log.Tail)
	comes("80", "two") // as it was found before
	text, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	o.secret("ironic-cert", map[string]string{"tls.crt": string(text)})
	comes("443", "two")
	p.isReady()
}

// serveAt is serve for a process that finds hosts by a file of its own.
func serveAt(t *testing.T, hosts string, s settings) *throttle {
	t.Helper()
	p := &throttle{T: t}
	const script = `mount --bind "$1" /etc/hosts && shift && exec "$@"`
	p.Process, p.log = child.Serve(t, child.Command{
		Name: "/usr/bin/unshare", Args: []string{"--mount", "/bin/sh", "-c", script, "sh", hosts, binary, "serve"}, Env: s.environment(),
	}, &p.at)
	return p
}
