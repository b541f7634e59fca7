package deploytest

import (
	"errors"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
)

// settingsOf is the environment of the throttle's container, in Kubernetes' order of
// precedence: each source before goes under in those after.
func settingsOf(t *testing.T, m manifest) map[string]string {
	t.Helper()
	_, c := m.deployment(t)
	env := map[string]string{}
	for _, from := range c.EnvFrom {
		ref := from.ConfigMapRef
		found := slices.ContainsFunc(m.kind("ConfigMap"), func(o object) bool { return o.Name == ref.Name })
		if !found && ref.Optional != nil && *ref.Optional {
			continue
		}
		var data corev1.ConfigMap
		m.one(t, "ConfigMap", ref.Name).into(t, &data)
		maps.Copy(env, data.Data)
	}
	for _, e := range c.Env {
		switch {
		case e.ValueFrom == nil:
			env[e.Name] = e.Value
		case e.ValueFrom.FieldRef != nil:
			env[e.Name] = map[string]string{"metadata.name": "ironic-throttle-1", "metadata.namespace": m.system(t)}[e.ValueFrom.FieldRef.FieldPath]
		default:
			t.Fatalf("%s: this test does not know where that comes from", e.Name)
		}
	}
	return env
}

// mounts maps paths in the container to what a ConfigMap puts there.
func mounts(t *testing.T, m manifest) (files map[string]string, dirs []string) {
	t.Helper()
	d, c := m.deployment(t)
	files = map[string]string{}
	for _, mount := range c.VolumeMounts {
		dirs = append(dirs, mount.MountPath)
		for _, v := range d.Spec.Template.Spec.Volumes {
			if v.Name != mount.Name || v.ConfigMap == nil {
				continue
			}
			var data corev1.ConfigMap
			m.one(t, "ConfigMap", v.ConfigMap.Name).into(t, &data)
			for key, text := range data.Data {
				files[filepath.Join(mount.MountPath, key)] = text
			}
		}
	}
	return files, dirs
}

// loaded is the configuration that serve would start with. Warnings fail the test, for
// nobody should get any from what we hand out.
func loaded(t *testing.T, m manifest) config.Config {
	t.Helper()
	files, dirs := mounts(t, m)
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "IRONIC_") {
			t.Setenv(name, "") // this machine's
		}
	}
	for name, text := range settingsOf(t, m) {
		t.Setenv(name, text)
	}
	c, warnings, err := config.Load(config.Sources{
		ReadFile: func(path string) ([]byte, error) {
			if text, ok := files[path]; ok {
				return []byte(text), nil
			}
			return nil, errors.Join(fs.ErrNotExist, errors.New(path))
		},
		Exists: func(path string) bool { return slices.Contains(dirs, filepath.Dir(path)) },
	})
	if err != nil {
		t.Fatalf("serve would not start: %v", err)
	}
	for _, w := range warnings {
		t.Errorf("serve would warn: %s", w)
	}
	return c
}

// TestServeStarts loads the settings of every case. An unknown name is a fault.
func TestServeStarts(t *testing.T) {
	each(t, func(t *testing.T, m manifest) {
		c := loaded(t, m)
		if c.File == "" {
			t.Error("no config file: limits could not be changed without a restart")
		}
		if c.Ironic.Endpoint == "" && c.Ironic.Name == "" && !c.Kubernetes.On { // else BMO's counts: TestIronicIsFound
			t.Error("neither IRONIC_ENDPOINT nor IRONIC_NAME")
		}
		_, dirs := mounts(t, m)
		// Large bodies wait where files may be written.
		if spool := settingsOf(t, m)["TMPDIR"]; c.Gateway.Listen != "" && !slices.Contains(dirs, spool) {
			t.Errorf("nothing is mounted for large bodies, TMPDIR=%q", spool)
		}
		if dir := c.Access.CertDir; dir != "" && !slices.Contains(dirs, dir) {
			t.Errorf("nothing is mounted at %s", dir)
		}
	})
}

// TestLiveSettingsAreInTheFileAlone: one in the environment would win over the file for
// ever, and a change of the file would do nothing. A pod that observes beside one that enforces has the same file.
func TestLiveSettingsAreInTheFileAlone(t *testing.T) {
	live := regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\| `[a-zA-Z0-9]+` \\|").FindAllStringSubmatch(read(t, "../../../docs/settings.md"), -1)
	if len(live) < 10 {
		t.Fatalf("found %d live settings: the search is broken", len(live))
	}
	each(t, func(t *testing.T, m manifest) {
		env := settingsOf(t, m)
		for _, name := range live {
			if text, ok := env[name[1]]; ok && name[1]+"="+text != "IRONIC_THROTTLE_MODE=observe" {
				t.Errorf("%s=%s belongs in deploy/settings/config.yaml", name[1], text)
			}
		}
	})
}

// TestPortsAgree compares where serve listens with the container, its probes, the
// Services and the NetworkPolicy.
func TestPortsAgree(t *testing.T) {
	each(t, func(t *testing.T, m manifest) {
		d, c := m.deployment(t)
		conf := loaded(t, m)
		listening := map[int32]bool{} // beyond loopback
		for _, address := range []string{conf.Listen.API, conf.Listen.Health, conf.Listen.Metrics, conf.Gateway.Listen} {
			host, text, _ := net.SplitHostPort(address)
			if host == "127.0.0.1" || address == "" {
				continue
			}
			port, err := strconv.ParseInt(text, 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			listening[int32(port)] = true
		}
		named := map[int32]bool{}
		for _, p := range c.Ports {
			named[p.ContainerPort] = true
		}
		if !maps.Equal(listening, named) {
			t.Errorf("serve listens at %v, the container's ports are %v", listening, named)
		}
		health := portOf(t, conf.Listen.Health)
		if p := c.LivenessProbe.HTTPGet.Port; p != health {
			t.Errorf("liveness is looked for at %v, and is at %v", p, health)
		}
		if c.ReadinessProbe != nil && c.ReadinessProbe.HTTPGet.Port != health {
			t.Errorf("readiness is looked for at %v, and is at %v", c.ReadinessProbe.HTTPGet.Port, health)
		}
		served := services(t, m, d.Spec.Template.Labels, listening)
		if sidecar(d) {
			return
		}
		if allowed := ingress(t, m); !maps.Equal(allowed, served) {
			t.Errorf("Services lead to %v, the NetworkPolicy lets %v in", served, allowed)
		}
	})
}

func portOf(t *testing.T, address string) intstr.IntOrString {
	t.Helper()
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return intstr.Parse(text)
}

// services lists the ports that Services lead to. Each must choose the pod and lead to
// where it listens.
func services(t *testing.T, m manifest, pod map[string]string, listening map[int32]bool) map[int32]bool {
	t.Helper()
	served := map[int32]bool{}
	for _, o := range m.kind("Service") {
		var s corev1.Service
		o.into(t, &s)
		for label, want := range s.Spec.Selector {
			if label != leaderLabel && pod[label] != want && pod != nil { // an overlay that adds to BMO does not show its labels
				t.Errorf("%s chooses %s=%s, which the pod has not", o, label, want)
			}
		}
		for _, p := range s.Spec.Ports {
			port := p.TargetPort.IntVal
			served[port] = true
			if !listening[port] {
				t.Errorf("%s leads to %v, where nothing listens", o, p.TargetPort)
			}
		}
	}
	return served
}

func ingress(t *testing.T, m manifest) map[int32]bool {
	t.Helper()
	var policy networkingv1.NetworkPolicy
	m.one(t, "NetworkPolicy", throttle).into(t, &policy)
	allowed := map[int32]bool{}
	for _, rule := range policy.Spec.Ingress {
		for _, p := range rule.Ports {
			allowed[p.Port.IntVal] = true
		}
	}
	return allowed
}

// TestEgressLeadsWhereServeGoes: Ironic, and with KUBERNETES=on the API server.
func TestEgressLeadsWhereServeGoes(t *testing.T) {
	each(t, func(t *testing.T, m manifest) {
		if d, _ := m.deployment(t); sidecar(d) {
			return
		}
		c := loaded(t, m)
		ironic, err := url.Parse(c.Ironic.Endpoint)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]bool{"53": true, ironic.Port(): true}
		if c.Ironic.Name != "" { // the ports of the Service, and of the pod behind it
			want = map[string]bool{"53": true, "80": true, "443": true, "6385": true}
		}
		if c.Kubernetes.On {
			want["443"], want["6443"] = true, true
		}
		var policy networkingv1.NetworkPolicy
		m.one(t, "NetworkPolicy", throttle).into(t, &policy)
		got := map[string]bool{}
		if c.Ironic.Endpoint == "" && c.Ironic.Name == "" { // anywhere
			if all := policy.Spec.Egress[len(policy.Spec.Egress)-1]; len(all.Ports)+len(all.To) > 0 {
				t.Errorf("Ironic may be anywhere, the NetworkPolicy lets serve out to %v", all)
			}
			return
		}
		for _, rule := range policy.Spec.Egress {
			for _, p := range rule.Ports {
				got[p.Port.String()] = true
			}
		}
		if !maps.Equal(want, got) {
			t.Errorf("serve goes to %v, the NetworkPolicy lets it out to %v", want, got)
		}
	})
}

// TestCommandsReachTheThrottleInItsPod by kubectl exec and port-forward, without an
// address: plain HTTP on loopback is where they look.
func TestCommandsReachTheThrottleInItsPod(t *testing.T) {
	usual := regexp.MustCompile(`defaultServer += "http://([^"]+)"`).FindStringSubmatch(read(t, "../../../cmd/ironic-throttle/client.go"))
	if usual == nil {
		t.Fatal("where do commands look?")
	}
	guarded := 0
	each(t, func(t *testing.T, m manifest) {
		c := loaded(t, m)
		at := c.Listen.API
		if c.Guarded() {
			guarded++
			at = c.Listen.Local
		}
		if at != usual[1] {
			t.Errorf("plain HTTP is served at %q, commands look at %s", at, usual[1])
		}
	})
	if guarded == 0 {
		t.Error("no case has a guarded API: the search is broken")
	}
}
