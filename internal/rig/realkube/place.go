package realkube

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// place is where one API server lives: its folder, its ports, its secrets.
type place struct {
	dir, assets                 string
	etcdPort, peerPort, apiPort int
	token                       string
}

// preparePlace writes everything that the services read.
func preparePlace(dir, assets string) (place, error) {
	p := place{dir: dir, assets: assets, token: rand.Text()}
	ports, err := child.FreePorts(3)
	if err != nil {
		return p, err
	}
	p.etcdPort, p.peerPort, p.apiPort = ports[0], ports[1], ports[2]
	if err := child.WriteCertificate(p.file("api.crt"), p.file("api.key")); err != nil {
		return p, err
	}
	// The key that signs the tokens of ServiceAccounts.
	if err := child.WriteCertificate(p.file("accounts.crt"), p.file("accounts.key")); err != nil {
		return p, err
	}
	admin := p.token + `,admin,admin,"system:masters"` + "\n"
	if err := os.WriteFile(p.file("tokens.csv"), []byte(admin), 0o600); err != nil {
		return p, fmt.Errorf("write tokens.csv: %w", err)
	}
	return p, nil
}

func (p place) file(name string) string { return filepath.Join(p.dir, name) }

func (p place) etcdURL() string { return "http://" + child.Loopback + ":" + strconv.Itoa(p.etcdPort) }

func (p place) url() string { return "https://" + child.Loopback + ":" + strconv.Itoa(p.apiPort) }

// run starts one of the programs; what it says is added to a log of its name.
func (p place) run(name string, args ...string) (*child.Process, error) {
	return child.Start(child.Command{
		Name: filepath.Join(p.assets, name), Args: args, Dir: p.dir, LogFile: p.file(name + ".log"),
		Env: []string{"HOME=" + p.dir, "TMPDIR=" + p.dir}, // nobody's proxies
	})
}

func (p place) etcdArgs() []string {
	peers := "http://" + child.Loopback + ":" + strconv.Itoa(p.peerPort)
	return []string{
		"--data-dir=" + p.file("etcd"), "--unsafe-no-fsync", "--quota-backend-bytes=8589934592",
		"--listen-client-urls=" + p.etcdURL(), "--advertise-client-urls=" + p.etcdURL(),
		"--listen-peer-urls=" + peers, "--initial-advertise-peer-urls=" + peers,
		"--initial-cluster=default=" + peers,
	}
}

func (p place) apiArgs() []string {
	return []string{
		"--etcd-servers=" + p.etcdURL(),
		"--bind-address=" + child.Loopback, "--advertise-address=" + child.Loopback,
		"--secure-port=" + strconv.Itoa(p.apiPort), "--endpoint-reconciler-type=none",
		"--tls-cert-file=" + p.file("api.crt"), "--tls-private-key-file=" + p.file("api.key"),
		"--token-auth-file=" + p.file("tokens.csv"),
		"--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer=" + p.url(),
		"--service-account-key-file=" + p.file("accounts.crt"),
		"--service-account-signing-key-file=" + p.file("accounts.key"),
	}
}
