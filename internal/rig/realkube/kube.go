// Package realkube runs a real Kubernetes API server for tests: etcd and kube-apiserver on loopback, with RBAC and Pod
// Security, without controllers and nodes.
//
// Without controllers a deleted namespace stays Terminating, the garbage collector does not follow owner references, no
// pod runs, and no namespace gets a ServiceAccount. So each test takes a namespace of its own.
//
// All files are in a scratch folder, which Stop deletes. Unlike those of envtest, the processes end with the test even
// if it dies. hack/kube/install.sh builds the programs.
package realkube

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// Kube is a running API server with its etcd. Its methods are safe for concurrent use.
type Kube struct {
	URL    string // https, without a slash at the end
	CAFile string
	Audit  string        // a file with the requests of ServiceAccounts: an audit.k8s.io/v1 Event on each line
	Client client.Client // of the admin, who may do everything

	dir, token string
	etcd, api  *child.Process
	log        child.LogBook // of both
}

// auditPolicy logs the requests of ServiceAccounts.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata, userGroups: ["system:serviceaccounts"]}, {level: None}]
`

// Start starts etcd and an API server, and returns when it is ready. The caller must call Stop. Errors have the end of
// the logs.
func Start(ctx context.Context) (*Kube, error) {
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		return nil, errors.New("KUBEBUILDER_ASSETS is not set: hack/kube/install.sh prints its value")
	}
	dir, err := os.MkdirTemp("", "kube-")
	if err != nil {
		return nil, err
	}
	k := &Kube{dir: dir, token: rand.Text()}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := k.start(ctx, assets); err != nil {
		err = fmt.Errorf("start a real API server: %w\n%s", err, k.log.Tail())
		k.Stop()
		return nil, err
	}
	return k, nil
}

func (k *Kube) file(name string) string { return filepath.Join(k.dir, name) }

func (k *Kube) start(ctx context.Context, assets string) error {
	ports, err := child.FreePorts(3)
	if err != nil {
		return err
	}
	at := func(scheme string, n int) string { return fmt.Sprintf("%s://%s:%d", scheme, child.Loopback, ports[n]) }
	etcd, peers := at("http", 0), at("http", 1)
	k.URL, k.CAFile, k.Audit = at("https", 2), k.file("api.crt"), k.file("audit.log")
	err = errors.Join(
		child.WriteCertificate(k.CAFile, k.file("api.key")), // it signs the tokens of ServiceAccounts too
		os.WriteFile(k.file("tokens.csv"), []byte(k.token+`,admin,admin,"system:masters"`+"\n"), 0o600),
		os.WriteFile(k.file("audit.yaml"), []byte(auditPolicy), 0o600))
	if err != nil {
		return err
	}
	run := func(name string, args ...string) (*child.Process, error) {
		return child.Start(child.Command{
			Name: filepath.Join(assets, name), Args: args, Dir: k.dir, Log: &k.log,
			Env: []string{"HOME=" + k.dir, "TMPDIR=" + k.dir}, // and no proxies
		})
	}
	if k.etcd, err = run("etcd",
		"--data-dir="+k.file("etcd"), "--unsafe-no-fsync", "--quota-backend-bytes=8589934592",
		"--listen-client-urls="+etcd, "--advertise-client-urls="+etcd,
		"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=default="+peers,
	); err != nil {
		return err
	}
	if k.api, err = run("kube-apiserver",
		"--etcd-servers="+etcd, "--bind-address="+child.Loopback, "--advertise-address="+child.Loopback,
		fmt.Sprintf("--secure-port=%d", ports[2]),
		"--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/24",
		"--tls-cert-file="+k.CAFile, "--tls-private-key-file="+k.file("api.key"),
		"--token-auth-file="+k.file("tokens.csv"), "--authorization-mode=RBAC",
		"--audit-policy-file="+k.file("audit.yaml"), "--audit-log-path="+k.Audit, "--audit-log-mode=blocking-strict",
		"--service-account-issuer="+k.URL, "--service-account-key-file="+k.CAFile,
		"--service-account-signing-key-file="+k.file("api.key"),
	); err != nil {
		return err
	}
	if k.Client, err = client.New(k.Config(), client.Options{}); err != nil {
		return err
	}
	asker, err := discovery.NewDiscoveryClientForConfig(k.Config())
	if err != nil {
		return err
	}
	ask := func() error { return asker.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() }
	return child.WaitReady(ctx, ask, k.etcd, k.api)
}

// Config returns the admin's configuration, without a rate limit. Each call returns a copy.
func (k *Kube) Config() *rest.Config {
	return &rest.Config{
		Host: k.URL, BearerToken: k.token, TLSClientConfig: rest.TLSClientConfig{CAFile: k.CAFile},
		QPS: -1, UserAgent: "realkube", WarningHandler: rest.NoWarnings{}, Timeout: 30 * time.Second,
	}
}

// Stop ends both processes, and deletes the scratch folder.
func (k *Kube) Stop() {
	for _, p := range []*child.Process{k.api, k.etcd} {
		if p != nil {
			p.Kill() // its data goes anyway
		}
	}
	_ = os.RemoveAll(k.dir)
}

// ModuleRoot returns the folder of this module's go.mod.
func ModuleRoot() (string, error) {
	mod, err := output("go", "env", "GOMOD")
	return filepath.Dir(strings.TrimSpace(mod)), err
}
