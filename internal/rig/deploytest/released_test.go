package deploytest

import (
	"encoding/json"
	"maps"
	"os/exec"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// released is the folder of the BMO that hack/bmo names, as its module has it.
var released = sync.OnceValues(func() (string, error) {
	text, err := exec.Command("go", "-C", "../../../hack/bmo", "mod", "download", "-json", "github.com/metal3-io/baremetal-operator").Output()
	if err != nil {
		return "", err
	}
	var module struct{ Dir string }
	err = json.Unmarshal(text, &module)
	return module.Dir, err
})

// environment is that of a container, as Kubernetes makes it: every ConfigMap that it names
// must be there, and what is said by name wins.
func environment(t *testing.T, m manifest, name string) map[string]string {
	t.Helper()
	d, _ := m.deployment(t)
	env := map[string]string{}
	for _, c := range d.Spec.Template.Spec.Containers {
		if c.Name != name {
			continue
		}
		for _, from := range c.EnvFrom {
			var data corev1.ConfigMap
			m.one(t, "ConfigMap", from.ConfigMapRef.Name).into(t, &data)
			maps.Copy(env, data.Data)
		}
		for _, e := range c.Env {
			env[e.Name] = e.Value
		}
	}
	return env
}

// TestReleasedBMOGoesThroughTheGateway: its own kustomizations with our components beside
// them leave it no IRONIC_NAME, and the throttle knows where Ironic is.
func TestReleasedBMOGoesThroughTheGateway(t *testing.T) {
	for config, row := range map[string]struct {
		components      []string
		name, endpoint  string // that the throttle goes by
		credentialsFrom string // for BMO
	}{
		"default":  {[]string{"sidecar", "kubernetes", "gateway"}, "", "http://172.22.0.2:6385/v1/", ""},
		"use-irso": {[]string{"sidecar", "kubernetes", "irso", "gateway"}, "ironic", "", "ironic-credentials"},
	} {
		t.Run(config, func(t *testing.T) {
			m := written(t, "resources: [RELEASED/config/"+config+", DEPLOY/settings]\ncomponents:\n"+components(row.components...))
			bmo := environment(t, m, "manager")
			if bmo["IRONIC_NAME"] != "" || bmo["IRONIC_ENDPOINT"] != "http://127.0.0.1:6390/v1/" {
				t.Errorf("BMO has IRONIC_NAME=%s and IRONIC_ENDPOINT=%s: it goes round the gateway", bmo["IRONIC_NAME"], bmo["IRONIC_ENDPOINT"])
			}
			c := loaded(t, m)
			if c.Ironic.Name != row.name || c.Ironic.Endpoint != row.endpoint || row.name != "" && c.IronicNamespace() != ourSystem {
				t.Errorf("the throttle goes by IRONIC_NAME=%s in %s, IRONIC_ENDPOINT=%s", c.Ironic.Name, c.IronicNamespace(), c.Ironic.Endpoint)
			}
			if got := mounted(t, m, "manager", "/opt/metal3/auth/ironic"); got != row.credentialsFrom {
				t.Errorf("BMO has its credentials from %q, want %q", got, row.credentialsFrom)
			}
		})
	}
}

// mounted is the Secret that a container has at a path; "" for none.
func mounted(t *testing.T, m manifest, container, path string) string {
	t.Helper()
	d, _ := m.deployment(t)
	for _, c := range d.Spec.Template.Spec.Containers {
		for _, mount := range c.VolumeMounts {
			for _, v := range d.Spec.Template.Spec.Volumes {
				if c.Name == container && mount.MountPath == path && v.Name == mount.Name && v.Secret != nil {
					return v.Secret.SecretName
				}
			}
		}
	}
	return ""
}
