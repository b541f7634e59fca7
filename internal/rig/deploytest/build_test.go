package deploytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
)

// Where the kustomizations are.
const (
	deployDir = "../../../deploy"
	casesDir  = "testdata"
	pagesDir  = "testdata/pages" // what docs/kubernetes.md and deploy/README.md show
)

// notOurs are kustomizations that deploy no throttle.
var notOurs = []string{"bmo", "operator"}

// cases lists every kustomization that deploys a throttle: name and folder.
func cases(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, dir := range []string{filepath.Join(deployDir, "overlays"), casesDir, pagesDir} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if _, err := os.Stat(filepath.Join(path, "kustomization.yaml")); err != nil || slices.Contains(notOurs, e.Name()) {
				continue
			}
			found[e.Name()] = path
		}
	}
	if len(found) < 8 {
		t.Fatalf("found %d kustomizations: the search is broken", len(found))
	}
	return found
}

// each runs check on every case, built.
func each(t *testing.T, check func(*testing.T, manifest)) {
	t.Helper()
	for name, dir := range cases(t) {
		t.Run(name, func(t *testing.T) { check(t, build(t, dir)) })
	}
}

// object is one object as it was built.
type object struct {
	Kind, Namespace, Name string
	text                  []byte // YAML
	raw                   map[string]any
}

func (o object) String() string { return fmt.Sprintf("%s %s/%s", o.Kind, o.Namespace, o.Name) }

// into decodes o; a field that the type does not have fails the test.
func (o object) into(t *testing.T, to any) {
	t.Helper()
	decode(t, toJSON(t, o.text), to)
}

func toJSON(t *testing.T, text []byte) []byte {
	t.Helper()
	converted, err := yaml.ToJSON(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return converted
}

func decode(t *testing.T, text []byte, to any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(to); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

// manifest is what a kustomization builds.
type manifest []object

// build runs kustomize on dir, as kubectl apply -k does, and on the patch of BMO's
// Deployment that goes with it.
func build(t *testing.T, dir string) manifest {
	t.Helper()
	m := kustomize(t, dir)
	if _, err := os.Stat(patchDir(dir)); err == nil {
		m = append(m, kustomize(t, patchDir(dir))...)
	}
	return m
}

// patchDir is where an overlay for a BMO that runs has the patch for it.
func patchDir(dir string) string { return filepath.Join(dir, "operator") }

// seen opens our folders, once: go test takes a result from its cache until a folder that
// its tests have opened changes, and what kustomize opens it does not see.
var seen = sync.OnceValue(func() error {
	for _, dir := range []string{deployDir, casesDir} {
		if err := filepath.WalkDir(dir, func(_ string, _ fs.DirEntry, err error) error { return err }); err != nil {
			return err
		}
	}
	return nil
})

func kustomize(t *testing.T, dir string) (all manifest) {
	t.Helper()
	text, err := realkube.Kustomize(dir)
	if err == nil {
		err = seen()
	}
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(text, "\n---\n") {
		o, err := realkube.Decode(document)
		if err != nil || len(o) != 1 {
			t.Fatalf("%d objects (%v) in\n%s", len(o), err, document)
		}
		all = append(all, object{
			Kind: o[0].GetKind(), Namespace: o[0].GetNamespace(), Name: o[0].GetName(),
			text: []byte(strings.TrimSuffix(document, "\n") + "\n"), raw: o[0].Object,
		})
	}
	return all
}

// kind lists the objects of a kind.
func (m manifest) kind(kind string) (found manifest) {
	for _, o := range m {
		if o.Kind == kind {
			found = append(found, o)
		}
	}
	return found
}

// one returns the object of that kind and name.
func (m manifest) one(t *testing.T, kind, name string) object {
	t.Helper()
	for _, o := range m.kind(kind) {
		if o.Name == name {
			return o
		}
	}
	t.Fatalf("there is no %s %s", kind, name)
	return object{}
}

// The container, and the Deployments that it can be in.
const (
	throttle    = "ironic-throttle"
	ourSystem   = "baremetal-operator-system" // unless somebody says otherwise
	operatorPod = "baremetal-operator-controller-manager"
)

// system returns the namespace that the throttle is in.
func (m manifest) system(t *testing.T) string {
	t.Helper()
	return m.one(t, "ConfigMap", "ironic-throttle-config").Namespace
}

// deployment returns the Deployment that the throttle is in, and its container.
func (m manifest) deployment(t *testing.T) (appsv1.Deployment, corev1.Container) {
	t.Helper()
	all := m.kind("Deployment")
	if len(all) != 1 {
		t.Fatalf("%d Deployments, want 1", len(all))
	}
	var d appsv1.Deployment
	all[0].into(t, &d)
	for _, c := range d.Spec.Template.Spec.Containers {
		if c.Name == throttle {
			return d, c
		}
	}
	t.Fatalf("%s has no container %s", all[0], throttle)
	return d, corev1.Container{}
}

// sidecar reports whether d is BMO's.
func sidecar(d appsv1.Deployment) bool { return d.Name == operatorPod }
