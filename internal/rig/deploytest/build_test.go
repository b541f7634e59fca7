package deploytest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
)

// Where the kustomizations are, and names in them.
const (
	deployDir   = "../../../deploy"
	casesDir    = "testdata" // in pages: what docs/kubernetes.md and deploy/README.md show
	throttle    = "ironic-throttle"
	ourSystem   = "baremetal-operator-system" // unless somebody says otherwise
	operatorPod = "baremetal-operator-controller-manager"
)

// cases lists every kustomization that deploys a throttle: name and folder. It opens all folders: go test takes a
// result from its cache until a folder that its tests have opened changes, and what kustomize opens it does not see.
func cases(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, dir := range []string{deployDir, casesDir} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			folder, name := filepath.Split(filepath.Dir(path))
			parent := filepath.Base(folder)
			if filepath.Base(path) == "kustomization.yaml" && slices.Contains([]string{"overlays", "testdata", "pages"}, parent) &&
				name != "bmo" && name != "operator" { // these deploy no throttle
				found[name] = filepath.Dir(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(found) < 15 {
		t.Fatalf("found %d kustomizations: the search is broken", len(found))
	}
	return found
}

// manifest is what a kustomization builds.
type manifest []*unstructured.Unstructured

func kustomize(t *testing.T, dir string) manifest {
	t.Helper()
	text, err := realkube.Kustomize(dir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := realkube.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// written builds a kustomization of these lines. In them DEPLOY and CASES are our folders, and BMO is its source: kustomize
// takes no absolute paths.
func written(t *testing.T, text string) manifest {
	t.Helper()
	dir := t.TempDir()
	here, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	relative := func(folder string) string {
		if folder, err = filepath.Abs(folder); err == nil {
			folder, err = filepath.Rel(here, folder)
		}
		if err != nil {
			t.Fatal(err)
		}
		return folder
	}
	bmo, err := realkube.OperatorSource()
	if err != nil {
		t.Fatal(err)
	}
	text = strings.NewReplacer("DEPLOY", relative(deployDir), "CASES", relative(casesDir), "BMO/", relative(bmo)+"/").Replace(text)
	text = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n" + text
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kustomize(t, dir)
}

func components(names ...string) string {
	return "components:\n- DEPLOY/components/" + strings.Join(names, "\n- DEPLOY/components/") + "\n"
}

// kind lists the objects of a kind.
func (m manifest) kind(kind string) manifest {
	return slices.DeleteFunc(slices.Clone(m), func(o *unstructured.Unstructured) bool { return o.GetKind() != kind })
}

// as is o with its type; a field that the type does not have fails the test.
func as[T any](t *testing.T, o *unstructured.Unstructured) (typed T) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &typed, true); err != nil {
		t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
	}
	return typed
}

// one returns the object of that kind and name.
func one[T any](t *testing.T, m manifest, kind, name string) T {
	t.Helper()
	for _, o := range m.kind(kind) {
		if o.GetName() == name {
			return as[T](t, o)
		}
	}
	t.Fatalf("there is no %s %s", kind, name)
	return *new(T)
}

// text is o in one line.
func text(o *unstructured.Unstructured) string { return fmt.Sprint(o.Object) }

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// deployed is a throttle as a cluster would have it.
type deployed struct {
	manifest
	appsv1.Deployment // its own, or BMO's
	container         corev1.Container
	beside            bool   // in BMO's pod
	system            string // the namespace
	env               map[string]string
	files             map[string]string // that ConfigMaps put into the container, by path
	dirs              []string          // that are mounted
	config            config.Config     // that serve would start with
}

// see finds the throttle in m, and loads its configuration. Warnings fail the test, for nobody should get any from what
// we hand out.
func see(t *testing.T, m manifest) *deployed {
	t.Helper()
	all := m.kind("Deployment")
	if len(all) != 1 {
		t.Fatalf("%d Deployments, want 1", len(all))
	}
	d := &deployed{manifest: m, Deployment: as[appsv1.Deployment](t, all[0]), files: map[string]string{}}
	d.beside, d.system = d.Name == operatorPod, d.Namespace
	pod := d.Spec.Template.Spec
	i := slices.IndexFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == throttle })
	if i < 0 {
		t.Fatalf("%s has no container %s", d.Name, throttle)
	}
	d.container = pod.Containers[i]
	d.env = d.environment(t, d.container)
	for _, mount := range d.container.VolumeMounts {
		d.dirs = append(d.dirs, mount.MountPath)
		for _, v := range pod.Volumes {
			if v.Name == mount.Name && v.ConfigMap != nil {
				for key, text := range one[corev1.ConfigMap](t, m, "ConfigMap", v.ConfigMap.Name).Data {
					d.files[filepath.Join(mount.MountPath, key)] = text
				}
			}
		}
	}
	return d
}

// environment is that of a container, in Kubernetes' order of precedence: each source before goes under in those after.
func (d *deployed) environment(t *testing.T, c corev1.Container) map[string]string {
	t.Helper()
	env := map[string]string{}
	for _, from := range c.EnvFrom {
		ref := from.ConfigMapRef
		found := slices.ContainsFunc(d.kind("ConfigMap"), func(o *unstructured.Unstructured) bool { return o.GetName() == ref.Name })
		if found || ref.Optional == nil || !*ref.Optional {
			maps.Copy(env, one[corev1.ConfigMap](t, d.manifest, "ConfigMap", ref.Name).Data)
		}
	}
	for _, e := range c.Env {
		if env[e.Name] = e.Value; e.ValueFrom != nil {
			env[e.Name] = map[string]string{"metadata.name": "ironic-throttle-1", "metadata.namespace": d.system}[e.ValueFrom.FieldRef.FieldPath]
		}
	}
	return env
}

// load sets config.
func (d *deployed) load(t *testing.T) *deployed {
	t.Helper()
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "IRONIC_") {
			t.Setenv(name, "") // this machine's
		}
	}
	for name, text := range d.env {
		t.Setenv(name, text)
	}
	c, warnings, err := config.Load(config.Sources{
		ReadFile: func(path string) ([]byte, error) {
			if text, ok := d.files[path]; ok {
				return []byte(text), nil
			}
			return nil, errors.Join(fs.ErrNotExist, errors.New(path))
		},
		Exists: func(path string) bool { return slices.Contains(d.dirs, filepath.Dir(path)) },
	})
	if err != nil || len(warnings) > 0 {
		t.Fatalf("serve would not start: %v, or warn: %q", err, warnings)
	}
	d.config = c
	return d
}
