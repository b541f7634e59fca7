package operator

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
)

const (
	system = "/namespaces/bmo/"
	ofBMO  = "/apis/apps/v1" + system + "deployments/manager"
)

// server is an API server that has objects, YAML by path, and keeps Events.
type server struct {
	mu        sync.Mutex
	objects   map[string]string
	forbidden string // part of paths that nobody may read
	events    []core.Event
	asked     []string
}

// RoundTrip implements http.RoundTripper.
func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Method+" "+r.URL.Path)
	text, ok := s.objects[r.URL.Path]
	code, body := http.StatusOK, []byte(text)
	status := func(c int, reason string) {
		code, body = c, []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"`+reason+`","message":"`+reason+` it is"}`)
	}
	switch {
	case s.forbidden != "" && strings.Contains(r.URL.Path, s.forbidden):
		status(http.StatusForbidden, "Forbidden")
	case r.Method == http.MethodPost:
		var e core.Event
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			return nil, err
		}
		s.events = append(s.events, e)
		body = []byte(`{"kind":"Event","apiVersion":"v1"}`)
	case !ok:
		status(http.StatusNotFound, "NotFound")
	default:
		var err error
		if body, err = yaml.ToJSON(append([]byte("---\n"), body...)); err != nil {
			return nil, err
		}
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(body))), Request: r,
	}, nil
}

// deployment is BMO's, with this in its container.
func deployment(container string) string {
	return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: manager, namespace: bmo, uid: d-1}, spec: {template: {spec: {
		containers: [{name: other, env: [{name: BMO_CONCURRENCY, value: "99"}]}, {name: manager, command: [/baremetal-operator], ` + container + `}],
		volumes: [{name: ironic-credentials, secret: {secretName: ironic-credentials-9c7}}, {name: cacert, secret: {secretName: ironic-cacert}}]}}}}`
}

// settings is a ConfigMap.
func settings(data string) string {
	return `{apiVersion: v1, kind: ConfigMap, metadata: {name: any}, data: {` + data + `}}`
}

func reader(t *testing.T, s *server) *Reader {
	t.Helper()
	r, err := New(Options{
		Config: &rest.Config{Host: "http://api", Transport: s}, Deployment: "manager", Namespace: "bmo", CPUs: 6, Instance: "throttle-0",
		Own: func(endpoint string) bool { return strings.Contains(endpoint, ":6390") },
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLH20_WorkersAsBMOFindsThem(t *testing.T) {
	const (
		ours    = `envFrom: [{configMapRef: {name: ironic-h4sh}}]`
		twoMaps = `envFrom: [{configMapRef: {name: ironic-h4sh}}, {prefix: BMO_, configMapRef: {name: more, optional: true}}, {secretRef: {name: s}}]`
		byRef   = `env: [{name: BMO_CONCURRENCY, valueFrom: {configMapKeyRef: {name: more, key: CONCURRENCY`
	)
	rule := Workers{Count: 6, From: "BMO's own rule for 6 CPUs", Estimated: true}
	for _, row := range []struct {
		name      string
		container string
		ironic    string // data of the ConfigMap ironic-h4sh
		more      string // of the ConfigMap more; "" = there is none
		want      Workers
		limit     int
		err       string
	}{
		{"nothing", `args: [--enable-leader-election]`, "", "", rule, 20, ""},
		{"a ConfigMap that says nothing", ours, `IRONIC_ENDPOINT: x`, "", rule, 20, ""},
		{"the ConfigMap", ours, `BMO_CONCURRENCY: "32", PROVISIONING_LIMIT: "7"`, "", Workers{Count: 32, From: "BMO_CONCURRENCY in ConfigMap ironic-h4sh"}, 7, ""},
		{"the later of two", twoMaps, `BMO_CONCURRENCY: "32"`, `CONCURRENCY: "12"`, Workers{Count: 12, From: "BMO_CONCURRENCY in ConfigMap more"}, 20, ""},
		{"a second that is not there", twoMaps, `BMO_CONCURRENCY: "32"`, "", Workers{Count: 32, From: "BMO_CONCURRENCY in ConfigMap ironic-h4sh"}, 20, ""},
		{"env before envFrom", `env: [{name: BMO_CONCURRENCY, value: "3"}], ` + ours, `BMO_CONCURRENCY: "32"`, "", Workers{Count: 3, From: "BMO_CONCURRENCY in its env"}, 20, ""},
		{"by key", byRef + `}}}]`, "", `CONCURRENCY: "4"`, Workers{Count: 4, From: "BMO_CONCURRENCY in ConfigMap more"}, 20, ""},
		{"by a key that is not there", byRef + `}}}]`, "", `OTHER: "4"`, Workers{}, 20, "ConfigMap more has no key CONCURRENCY"},
		{"by a key that need not be", byRef + `, optional: true}}}]`, "", "", rule, 20, ""},
		{"by something else", `env: [{name: BMO_CONCURRENCY, valueFrom: {secretKeyRef: {name: s, key: k}}}]`, "", "", Workers{}, 20, "neither a plain value nor a ConfigMap"},
		{"the flag before all", `args: [--controller-concurrency=5], env: [{name: BMO_CONCURRENCY, value: "3"}]`, "", "", Workers{Count: 5, From: "--controller-concurrency"}, 20, ""},
		{"the flag in two words", `args: [-controller-concurrency, "5"]`, "", "", Workers{Count: 5, From: "--controller-concurrency"}, 20, ""},
		{"the flag says no number", `args: [--controller-concurrency=many]`, "", "", Workers{}, 20, "BMO does not start with that"},
		{"the flag says nothing", `args: [--controller-concurrency=0], env: [{name: BMO_CONCURRENCY, value: "3"}]`, "", "", Workers{Count: 3, From: "BMO_CONCURRENCY in its env"}, 20, ""},
		{"none", `env: [{name: BMO_CONCURRENCY, value: "0"}]`, "", "", rule, 20, ""},
		{"no number", `env: [{name: BMO_CONCURRENCY, value: "many"}]`, "", "", Workers{}, 20, "BMO does not start with that"},
		{"no limit", `env: [{name: PROVISIONING_LIMIT, value: "many"}]`, "", "", rule, 0, "PROVISIONING_LIMIT"},
		{"no ConfigMap", `envFrom: [{configMapRef: {name: gone}}]`, "", "", Workers{}, 20, "ConfigMap gone is not there"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := &server{objects: map[string]string{ofBMO: deployment(row.container), "/api/v1" + system + "configmaps/ironic-h4sh": settings(row.ironic)}}
			if row.more != "" {
				s.objects["/api/v1"+system+"configmaps/more"] = settings(row.more)
			}
			f, err := reader(t, s).Read(t.Context())
			if err != nil || (f.Err != nil) != (row.err != "") || f.Err != nil && !strings.Contains(f.Err.Error(), row.err) {
				t.Fatalf("%v, %v, want %q", err, f.Err, row.err)
			}
			if diff := cmp.Diff(row.want, f.Workers); diff != "" || f.Limit != row.limit && row.err == "" || f.UID != "d-1" {
				t.Errorf("limit %d, workers (-want +got):\n%s", f.Limit, diff)
			}
		})
	}
}

func TestLH20_AnEstimateIsWithinBMOsBounds(t *testing.T) {
	for cpus, want := range map[int]int{1: 2, 2: 2, 5: 5, 8: 8, 64: 8} {
		r := reader(t, &server{objects: map[string]string{ofBMO: deployment(`args: []`)}})
		r.CPUs = cpus
		if f, err := r.Read(t.Context()); err != nil || f.Workers.Count != want || !f.Workers.Estimated {
			t.Errorf("%d CPUs: %+v, %v", cpus, f.Workers, err)
		}
	}
}

func TestWhatCannotBeReadIsNamed(t *testing.T) {
	full := map[string]string{ofBMO: deployment(`envFrom: [{configMapRef: {name: ironic-h4sh}}]`), "/api/v1" + system + "configmaps/ironic-h4sh": settings(``)}
	r := reader(t, &server{})
	if _, err := r.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "BMO's Deployment bmo/manager: NotFound") {
		t.Error(err)
	}
	r = reader(t, &server{objects: full, forbidden: "deployments"})
	if _, err := r.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "BMO's Deployment bmo/manager: Forbidden") {
		t.Error(err)
	}
	r = reader(t, &server{objects: full, forbidden: "configmaps"})
	if f, err := r.Read(t.Context()); err != nil || f.Err == nil || !strings.Contains(f.Err.Error(), "ConfigMap ironic-h4sh: Forbidden") {
		t.Error(err, f.Err)
	}
	// However long a value is, logs and status get a line of it.
	long := strings.Repeat("x", 1<<16)
	for _, c := range []string{
		`args: ["--controller-concurrency=` + long + `"]`, `env: [{name: BMO_CONCURRENCY, value: ` + long + `}]`,
		`env: [{name: PROVISIONING_LIMIT, value: ` + long + `}]`, `env: [{name: BMO_CONCURRENCY, valueFrom: {configMapKeyRef: {name: m, key: ` + long + `}}}]`,
	} {
		f, err := reader(t, &server{objects: map[string]string{ofBMO: deployment(c)}}).Read(t.Context())
		if err != nil || f.Err == nil || len(f.Err.Error()) > maxFault {
			t.Errorf("%.80s: %v, %.900v", c, err, f.Err)
		}
	}
	r = reader(t, &server{objects: map[string]string{ofBMO: `{apiVersion: apps/v1, kind: Deployment}`}})
	if _, err := r.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "no container") {
		t.Error(err)
	}
}

func TestADeploymentOfAnotherNamespace(t *testing.T) {
	s := &server{}
	r, err := New(Options{Config: &rest.Config{Host: "http://api", Transport: s}, Deployment: "capm3/manager", Namespace: "bmo"})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = r.Read(t.Context())
	if want := []string{"GET /apis/apps/v1/namespaces/capm3/deployments/manager"}; !cmp.Equal(want, s.asked) {
		t.Error(s.asked)
	}
}

func TestLH44_IronicAsBMOFindsIt(t *testing.T) {
	const (
		here   = `envFrom: [{configMapRef: {name: ironic-h4sh}}]`
		mounts = `volumeMounts: [{name: ironic-credentials, mountPath: /opt/metal3/auth/ironic/}, {name: cacert, mountPath: /opt/metal3/certs/ca}]`
		there  = `IRONIC_ENDPOINT: "https://172.22.0.2:6385/v1/"`
	)
	for _, row := range []struct {
		name, container, data string
		want                  Ironic
		err                   string
	}{
		{"nothing", `args: []`, ``, Ironic{}, "does not say where Ironic is"},
		{"the ConfigMap", here, there, Ironic{Endpoint: "https://172.22.0.2:6385/v1/", From: "ConfigMap ironic-h4sh"}, ""},
		{"with credentials and authority", here + ", " + mounts, there, Ironic{
			Endpoint: "https://172.22.0.2:6385/v1/", From: "ConfigMap ironic-h4sh", Credentials: "ironic-credentials-9c7", Authority: "ironic-cacert",
		}, ""},
		{"not the gateway", `env: [{name: IRONIC_ENDPOINT, value: "http://127.0.0.1:6390/v1/"}], ` + here, there,
			Ironic{Endpoint: "https://172.22.0.2:6385/v1/", From: "ConfigMap ironic-h4sh"}, ""},
		{"the gateway alone", `env: [{name: IRONIC_ENDPOINT, value: "http://127.0.0.1:6390/v1/"}]`, "", Ironic{}, "does not say where Ironic is"},
		{"insecure", `env: [{name: IRONIC_ENDPOINT, value: "https://i"}, {name: IRONIC_INSECURE, value: "True"}]`, "",
			Ironic{Endpoint: "https://i", From: "its env", Insecure: true}, ""},
		{"by resource", here, `IRONIC_NAME: ironic, IRONIC_ENDPOINT: "http://old"`, Ironic{}, "set IRONIC_NAME=ironic and IRONIC_NAMESPACE=bmo for the throttle too"},
		{"by resource elsewhere", here, `IRONIC_NAME: ironic, IRONIC_NAMESPACE: metal3`, Ironic{}, "IRONIC_NAMESPACE=metal3"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := reader(t, &server{objects: map[string]string{ofBMO: deployment(row.container), "/api/v1" + system + "configmaps/ironic-h4sh": settings(row.data)}})
			f, err := r.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Ironic(t.Context(), f)
			if (err != nil) != (row.err != "") || err != nil && !strings.Contains(err.Error(), row.err) {
				t.Errorf("%v, want %q", err, row.err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestSecretsBecomeFiles(t *testing.T) {
	const credentials, authority = "/api/v1" + system + "secrets/credentials", "/api/v1" + system + "secrets/authority"
	s := &server{objects: map[string]string{
		credentials: `{apiVersion: v1, kind: Secret, data: {username: YWRtaW4=, password: c2VzYW1l}}`,
		authority:   `{apiVersion: v1, kind: Secret, data: {tls.crt: UEVN, tls.key: S0VZ}}`,
	}}
	r, f := reader(t, s), Files{Dir: t.TempDir()}
	there := Ironic{Credentials: "credentials", Authority: "authority"}
	holds := func(want map[string]string) {
		t.Helper()
		got := map[string]string{}
		err := filepath.WalkDir(f.Dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
			text, err := os.ReadFile(path)
			got[strings.TrimPrefix(path, f.Dir)] = string(text)
			return err
		})
		if err != nil || !maps.Equal(want, got) {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
	}
	if err := r.Keep(t.Context(), there, f); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"/auth/ironic/username": "admin", "/auth/ironic/password": "sesame", "/ca/tls.crt": "PEM"}
	holds(all)

	s.objects[credentials] = `{apiVersion: v1, kind: Secret, data: {username: YWRtaW4=, password: bmV3}}`
	if err := r.Keep(t.Context(), there, f); err != nil {
		t.Fatal(err)
	}
	all["/auth/ironic/password"] = "new"
	holds(all)

	// What is broken changes nothing, and is named without what is in it.
	s.objects[credentials] = `{apiVersion: v1, kind: Secret, data: {username: YWRtaW4=}}`
	if err := r.Keep(t.Context(), there, f); err == nil || !strings.Contains(err.Error(), "secret bmo/credentials, which BMO uses for Ironic, has no key password") {
		t.Error(err)
	}
	s.forbidden = "secrets/authority"
	if err := r.Keep(t.Context(), Ironic{Authority: "authority"}, f); err == nil || !strings.Contains(err.Error(), "secret bmo/authority, which BMO uses for Ironic: Forbidden") ||
		!strings.Contains(err.Error(), "needs the right to get it (Role ironic-throttle-operator, as in overlay observe)") {
		t.Error(err)
	}
	holds(all)
}

func TestAnotherIronic(t *testing.T) {
	was := Ironic{Endpoint: "https://a", From: "ConfigMap a", Credentials: "c-1"}
	for name, row := range map[string]struct {
		now   Ironic
		moved bool
	}{
		"the same":       {was, false},
		"new Secret":     {Ironic{Endpoint: "https://a", From: "ConfigMap b", Credentials: "c-2"}, false},
		"another URL":    {Ironic{Endpoint: "https://b", Credentials: "c-1"}, true},
		"no credentials": {Ironic{Endpoint: "https://a"}, false}, // what was found stays
		"insecure":       {Ironic{Endpoint: "https://a", Credentials: "c-1", Insecure: true}, true},
	} {
		if got := row.now.Moved(was); got != row.moved {
			t.Errorf("%s: %t", name, got)
		}
	}
	now := Ironic{Endpoint: "https://a", Credentials: "c-2", Authority: "mounted"}
	if got := now.LikeIn(was); got.Credentials != "c-2" || got.Authority != "" {
		t.Errorf("%+v: an authority that was mounted is read", got)
	}
}

func TestLH20_TheDeploymentIsTold(t *testing.T) {
	s := &server{}
	r, now := reader(t, s), time.Unix(1700000000, 0)
	if err := r.Tell(t.Context(), now, Found{UID: "d-1"}, "too many"); err != nil || len(s.events) != 1 {
		t.Fatal(err, s.asked)
	}
	e := s.events[0]
	if s.asked[0] != "POST /api/v1/namespaces/bmo/events" || e.InvolvedObject.Kind != "Deployment" || e.InvolvedObject.UID != "d-1" ||
		e.Type != "Warning" || e.Reason != Reason || e.Message != "too many" || e.ReportingInstance != "throttle-0" {
		t.Errorf("%s %+v", s.asked, e)
	}
}
