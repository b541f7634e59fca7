package deploytest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/ironic-throttle/ironic-throttle/internal/kube"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/find"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// BMO's own manifests, of the release that hack/bmo names, with the throttle beside it.

// devEnv is what BMO's tools/deploy.sh writes in metal3-dev-env: generated, so with hashes,
// are the settings and the credentials; TLS comes in by a component.
const devEnv = `resources: [BMO/config/base, BMO/config/namespace]
namespace: baremetal-operator-system
components: [BMO/config/components/basic-auth, BMO/config/components/tls]
secretGenerator:
- name: ironic-credentials
  literals: [username=admin, password=sesame]
configMapGenerator:
- name: ironic
  behavior: create
  literals: ["IRONIC_ENDPOINT=https://172.22.0.2:6385/v1/", BMO_CONCURRENCY=32]
images: [{name: quay.io/metal3-io/baremetal-operator, newTag: latest}]
`

// Where Ironic of the two builds is.
var ironicOf = map[string]string{"config/default": "http://172.22.0.2:6385/v1/", "metal3-dev-env": "https://172.22.0.2:6385/v1/"}

// operatorOf is BMO's Deployment in a build.
func operatorOf(t *testing.T, m manifest) (d appsv1.Deployment) {
	t.Helper()
	m.one(t, "Deployment", operatorPod).into(t, &d)
	return d
}

// referred lists the ConfigMaps and Secrets without which a container does not start.
func referred(d appsv1.Deployment, container string) map[string]bool {
	needs := map[string]bool{}
	note := func(kind, name string, optional *bool) {
		if name != "" && (optional == nil || !*optional) {
			needs[kind+" "+name] = true
		}
	}
	for _, c := range d.Spec.Template.Spec.Containers {
		if c.Name != container {
			continue
		}
		for _, from := range c.EnvFrom {
			note("ConfigMap", from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
		}
		for _, m := range c.VolumeMounts {
			i := slices.IndexFunc(d.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
			if i < 0 {
				needs["volume "+m.Name] = true
				continue
			}
			if v := d.Spec.Template.Spec.Volumes[i]; v.Secret != nil {
				note("Secret", v.Secret.SecretName, v.Secret.Optional)
			} else if v.ConfigMap != nil {
				note("ConfigMap", v.ConfigMap.Name, v.ConfigMap.Optional)
			}
		}
	}
	return needs
}

// starts demands that everything the throttle's container needs is there: in the build, or in
// use by BMO itself, which runs.
func starts(t *testing.T, m manifest, d appsv1.Deployment) {
	t.Helper()
	used := referred(d, "manager")
	needs := referred(d, throttle)
	if len(needs) == 0 {
		t.Error("the container needs nothing: the search is broken")
	}
	for need := range needs {
		there := slices.ContainsFunc(m, func(o object) bool { return o.Kind+" "+o.Name == need })
		if !there && !used[need] {
			t.Errorf("the container needs %s, which is not there", need)
		}
	}
}

// cluster serves what is in a build to whom the build lets read it.
type cluster struct {
	*testing.T
	objects manifest
	rights  []string
}

// RoundTrip implements http.RoundTripper.
func (c cluster) RoundTrip(r *http.Request) (*http.Response, error) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/api"), "/") // …/namespaces/NAMESPACE/PLURAL/NAME
	n := len(parts)
	namespace, plural, name := parts[n-3], parts[n-2], parts[n-1]
	group := ""
	if parts[0] == "s" {
		group = parts[1]
	}
	kind := map[string]string{"deployments": "Deployment", "configmaps": "ConfigMap", "secrets": "Secret"}[plural]
	code, body := http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"no right"}`
	for _, who := range []string{name, "*"} {
		if !slices.Contains(c.rights, fmt.Sprintf("%s %s/%s %s get", namespace, group, plural, who)) {
			continue
		}
		for _, o := range c.objects.kind(kind) {
			if o.Name == name && o.Namespace == namespace {
				code, body = http.StatusOK, string(toJSON(c.T, o.text))
			}
		}
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}, nil
}

// reads is BMO as the throttle with these rights finds it.
func reads(t *testing.T, m manifest, d appsv1.Deployment, rights []string) find.BMO {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	const config = `{"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c"}}], "clusters": [{"name": "c", "cluster": {"server": "http://api"}}]}`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	all := append(manifest{{Kind: "Deployment", Namespace: d.Namespace, Name: d.Name, text: text}}, m...)
	c, err := kube.Connect(kube.Options{Kubeconfig: file, Namespace: ourSystem, Transport: cluster{t, all, rights}})
	if err != nil {
		t.Fatal(err)
	}
	return find.BMO{
		Client: c.Client, Deployment: operatorPod, Namespace: ourSystem,
		Own: func(endpoint string) bool { return strings.Contains(endpoint, "127.0.0.1:6390") },
	}
}

// workers reads BMO's workers.
func workers(t *testing.T, b find.BMO) api.Operator {
	t.Helper()
	w, _, err := b.Workers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestBesideBMOsOwnManifestsInOneBuild: what kustomize calls BMO's ConfigMap and Secret reaches
// the throttle too.
func TestBesideBMOsOwnManifestsInOneBuild(t *testing.T) {
	const ours = "components:\n- DEPLOY/components/sidecar\n- DEPLOY/components/kubernetes\n"
	for name, components := range map[string]string{
		"config/default": ours + "- DEPLOY/components/gateway\n",
		"metal3-dev-env": ours + "- DEPLOY/components/basic-auth\n- DEPLOY/components/tls\n- DEPLOY/components/gateway\n",
	} {
		t.Run(name, func(t *testing.T) {
			m := written(t, "resources: ["+bmoFolder(t, name)+", DEPLOY/settings]\n"+components)
			d := operatorOf(t, m)
			starts(t, m, d)
			env := settingsOf(t, m)
			if env["IRONIC_ENDPOINT"] != ironicOf[name] || name == "metal3-dev-env" && env["BMO_CONCURRENCY"] != "32" {
				t.Errorf("the throttle has IRONIC_ENDPOINT=%s BMO_CONCURRENCY=%s", env["IRONIC_ENDPOINT"], env["BMO_CONCURRENCY"])
			}
			if env["IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS"] != "127.0.0.1:6390" || env["IRONIC_THROTTLE_KUBERNETES"] != "on" {
				t.Errorf("settings %v", env)
			}
			w := workers(t, reads(t, m, d, ownRights(t, m)))
			if exact := name == "metal3-dev-env"; exact && w.Workers != 32 || !exact && w.Workers != 0 {
				t.Errorf("workers %+v", w)
			}
		})
	}
}

// bmoFolder writes BMO's kustomization into a folder, for another one to include.
func bmoFolder(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	here, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	bmo, err := realkube.OperatorSource()
	if err == nil {
		bmo, err = filepath.Rel(here, bmo)
	}
	if err != nil {
		t.Fatal(err)
	}
	text := devEnv
	if name == "config/default" {
		text = "resources: [BMO/config/default]\n"
	}
	text = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n" + strings.ReplaceAll(text, "BMO/", bmo+"/")
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "../" + filepath.Base(dir)
}

// ownRights is what BMO's account may by the throttle's own roles: BMO's bring bindings of
// other shapes.
func ownRights(t *testing.T, m manifest) []string {
	t.Helper()
	return granted(t, slices.DeleteFunc(slices.Clone(m), func(o object) bool {
		return strings.HasSuffix(o.Kind, "Binding") && !strings.HasPrefix(o.Name, throttle)
	}))
}

// TestTheThrottleFindsIronicByBMOsDeployment: the overlays name nothing of BMO's.
func TestTheThrottleFindsIronicByBMOsDeployment(t *testing.T) {
	for name, at := range ironicOf {
		bmo := written(t, "resources: ["+bmoFolder(t, name)+"]\n")
		before := operatorOf(t, bmo)
		for overlay, folder := range patches {
			if name == "config/default" && !strings.HasPrefix(overlay, "observe") {
				continue // that has neither user nor authority: the page takes those components out
			}
			t.Run(overlay+" on "+name, func(t *testing.T) {
				parent := overlay
				if overlay == "observe-gateway" {
					parent = "observe"
				}
				applied := kustomize(t, deployDir+"/overlays/"+parent)
				m := slices.Concat(bmo, applied)
				d := patched(t, before, kustomize(t, folder)[0].text)
				starts(t, m, d)
				b := reads(t, m, d, granted(t, build(t, deployDir+"/overlays/"+parent)))
				_, mounted := referred(d, throttle)["Secret ironic-cacert"]
				b.HasCredentials, b.HasAuthority = mounted, true // cert-manager makes BMO's, and there is none here
				there, err := b.Look(t.Context())
				if err != nil || !strings.HasSuffix(at, "://"+there.Address+"/v1/") {
					t.Errorf("Ironic is at %q, %v, want %s", there.Address, err, at)
				}
				if name != "metal3-dev-env" {
					return
				}
				if w := workers(t, b); w.Workers != 32 || !strings.Contains(w.WorkersFrom, "ConfigMap ironic-") {
					t.Errorf("workers %+v", w)
				}
				if parent == "observe" == mounted {
					t.Errorf("BMO's credentials are mounted: %t", mounted)
				}
				if !mounted && (there.User != "admin" || there.Password != "sesame") {
					t.Errorf("BMO logs in as admin with sesame, and we as %s with %s", there.User, there.Password)
				}
			})
		}
	}
}

// TestObserveTouchesNothingOfBMOs: nothing that it makes is in BMO's own manifests.
func TestObserveTouchesNothingOfBMOs(t *testing.T) {
	theirs := map[string]bool{}
	for _, o := range written(t, "resources: ["+bmoFolder(t, "metal3-dev-env")+"]\n") {
		theirs[o.String()] = true
	}
	if len(theirs) < 20 {
		t.Fatalf("BMO has %d objects: the search is broken", len(theirs))
	}
	for _, o := range kustomize(t, deployDir+"/overlays/observe") {
		if theirs[o.String()] {
			t.Errorf("%s is BMO's", o)
		}
	}
	if c := loaded(t, build(t, deployDir+"/overlays/observe")); c.Mode != "observe" || c.Gateway.Listen != "" || c.Ironic.Endpoint != "" {
		t.Errorf("mode %s, gateway %q, Ironic %q", c.Mode, c.Gateway.Listen, c.Ironic.Endpoint)
	}
	// The gateway of the same settings refuses.
	_, c := kustomize(t, deployDir+"/overlays/observe/gateway").deployment(t)
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
	}
	want := map[string]string{"IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS": "127.0.0.1:6390", "TMPDIR": "/spool", "POD_NAME": "", "POD_NAMESPACE": ""}
	if !maps.Equal(want, env) {
		t.Errorf("%v, want %v", env, want)
	}
}
