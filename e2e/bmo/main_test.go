//go:build e2e

// Package bmo runs the whole system: a released BareMetal Operator as it is, a real API
// server, the product, and a real Ironic in which only the hardware is pretended. What
// happened is read from Ironic's own database.
package bmo

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
)

// assets is where hack/bmo/install.sh has put the operator, its plugins, and its CustomResourceDefinitions.
var assets = os.Getenv("BMO_ASSETS")

var (
	product string         // the product, built once for all storms
	cluster *realkube.Kube // the API server that all storms share; each takes namespaces of its own
)

// prepared runs the tests with all of that there.
type prepared struct{ *testing.M }

func (p prepared) Run() int {
	program, remove, err := child.Build("ironic-throttle")
	if err == nil {
		defer remove()
		product = program
		cluster, err = realkube.Start(context.Background())
	}
	if err == nil {
		defer cluster.Stop()
		err = cluster.InstallCRDs(context.Background(), filepath.Join(assets, "crds"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return p.M.Run()
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(prepared{m}) }

// account makes a ServiceAccount that may do everything, and returns its kubeconfig. What
// rights the throttle needs is tested in e2e/kube.
func account(t *testing.T, namespace, name string) (kubeconfig string) {
	t.Helper()
	cluster.ApplyText(t, fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: %[1]s-%[2]s},
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin},
		subjects: [{kind: ServiceAccount, name: %[2]s, namespace: %[1]s}]}`, namespace, name))
	return cluster.Kubeconfig(t, namespace, name, "")
}

// addresses are free ones on loopback, to come back to.
func addresses(t *testing.T, n int) (all []string) {
	t.Helper()
	ports, err := child.FreePorts(n)
	if err != nil {
		t.Fatal(err)
	}
	for _, port := range ports {
		all = append(all, fmt.Sprintf("%s:%d", child.Loopback, port))
	}
	return all
}

// operate runs the operator as it was released, for some namespaces, until the test ends,
// and returns once it is ready. With a throttle its provisioner asks there.
func operate(t *testing.T, endpoint, throttle string, namespaces []string, limit, workers int) {
	t.Helper()
	health := addresses(t, 1)[0]
	args := []string{"--health-addr", health, "--metrics-addr", "0", "--webhook-port", "0"}
	if throttle != "" {
		args = append(args, "--provisioner", "throttled")
	}
	p, log := child.Run(t, child.Command{Name: filepath.Join(assets, "baremetal-operator"), Args: args, Env: []string{
		"PATH=/usr/bin:/bin", "HOME=/nonexistent", "KUBECONFIG=" + account(t, namespaces[0], "operator"),
		"POD_NAMESPACE=" + namespaces[0], "WATCH_NAMESPACE=" + strings.Join(namespaces, ","),
		"IRONIC_ENDPOINT=" + endpoint + "/v1/", "METAL3_AUTH_ROOT_DIR=/nonexistent",
		"IRONIC_CACERT_FILE=/nonexistent", "IRONIC_CLIENT_CERT_FILE=/nonexistent", "IRONIC_CLIENT_PRIVATE_KEY_FILE=/nonexistent",
		"DEPLOY_KERNEL_URL=http://127.0.0.1:9/kernel", "DEPLOY_RAMDISK_URL=http://127.0.0.1:9/ramdisk",
		"PROVISIONER_PLUGIN_DIR=" + filepath.Join(assets, "plugins"), "IRONIC_THROTTLE_URL=" + throttle,
		fmt.Sprintf("PROVISIONING_LIMIT=%d", limit), fmt.Sprintf("BMO_CONCURRENCY=%d", workers),
	}})
	child.Await(t, step, patience, "operator that is ready", func() bool {
		code, _ := child.Send(t.Context(), http.MethodGet, "http://"+health+"/readyz", "")
		return code == http.StatusOK || !p.Running()
	}, log.Tail)
}
