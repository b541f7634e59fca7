//go:build e2e

package bmo

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
)

// account makes a ServiceAccount that may do everything, and returns its kubeconfig. What
// rights the throttle needs is tested in e2e/kube.
func account(t *testing.T, namespace, name string) (kubeconfig string) {
	t.Helper()
	if err := cluster.Account(t.Context(), namespace, name); err != nil {
		t.Fatal(err)
	}
	binding, err := realkube.Decode(fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: %[1]s-%[2]s},
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin},
		subjects: [{kind: ServiceAccount, name: %[2]s, namespace: %[1]s}]}`, namespace, name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.Apply(t.Context(), binding[0]); err != nil {
		t.Fatal(err)
	}
	kubeconfig = filepath.Join(t.TempDir(), name)
	if err := cluster.Kubeconfig(t.Context(), namespace, name, "", kubeconfig); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// plugins is where the operator has its provisioners, from v0.14 on.
func plugins() string { return filepath.Join(filepath.Dir(operatorPath), "plugins") }

// operate runs the operator as it was released, for some namespaces, until the test ends,
// and returns once it is ready. With a throttle its provisioner asks there.
func operate(t *testing.T, endpoint, throttle string, namespaces []string, limit, workers int) {
	t.Helper()
	ports, err := child.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	health := fmt.Sprintf("%s:%d", child.Loopback, ports[0])
	log := filepath.Join(t.TempDir(), "operator.log")
	args := []string{"--health-addr", health, "--metrics-addr", "0", "--webhook-port", "0"}
	if throttle != "" {
		args = append(args, "--provisioner", "throttled")
	}
	p, err := child.Start(child.Command{
		Name: operatorPath, LogFile: log,
		Args: args,
		Env: []string{
			"PATH=/usr/bin:/bin", "HOME=/nonexistent", "KUBECONFIG=" + account(t, namespaces[0], "operator"),
			"POD_NAMESPACE=" + namespaces[0], "WATCH_NAMESPACE=" + strings.Join(namespaces, ","),
			"IRONIC_ENDPOINT=" + endpoint + "/v1/", "METAL3_AUTH_ROOT_DIR=/nonexistent",
			"IRONIC_CACERT_FILE=/nonexistent", "IRONIC_CLIENT_CERT_FILE=/nonexistent", "IRONIC_CLIENT_PRIVATE_KEY_FILE=/nonexistent",
			"DEPLOY_KERNEL_URL=http://127.0.0.1:9/kernel", "DEPLOY_RAMDISK_URL=http://127.0.0.1:9/ramdisk",
			"PROVISIONER_PLUGIN_DIR=" + plugins(), "IRONIC_THROTTLE_URL=" + throttle,
			fmt.Sprintf("PROVISIONING_LIMIT=%d", limit), fmt.Sprintf("BMO_CONCURRENCY=%d", workers),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("the end of the operator's log:\n%s", child.TailFile(log))
		}
	})
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	err = child.WaitReady(t.Context(), func() error {
		resp, err := client.Get("http://" + health + "/readyz")
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("the operator's readiness: %s", resp.Status)
		}
		return nil
	}, p)
	if err != nil {
		t.Fatal(err)
	}
}
