//go:build e2e

package suite

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// database changes the real Ironic's.
type database struct{ *realironic.Ironic }

func (b database) SetState(ctx context.Context, uuid string, state ironic.State, agent bool) error {
	return b.Ironic.SetState(ctx, uuid, string(state), agent)
}

func (b database) AddNodes(ctx context.Context, prefix string, count int, state ironic.State) error {
	return b.Ironic.AddNodes(ctx, realironic.Batch{Count: count, Prefix: prefix, State: string(state), Unmoved: true})
}

func (b database) RestartConductor(ctx context.Context) error {
	b.KillConductor()
	return b.StartConductor(ctx)
}

// start starts a real Ironic; it ends with the test.
func start(t *testing.T, o realironic.Options) *realironic.Ironic {
	t.Helper()
	i, err := realironic.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Stop)
	return i
}

// realTarget serves all cases by one Ironic.
func realTarget(t *testing.T, i *realironic.Ironic, s server) target {
	t.Helper()
	s.User, s.Password, s.backdoor = i.User, i.Password, database{i}
	resp, err := i.Client().Get(i.URL + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	made := target{
		Wait: time.Minute, Tick: 100 * time.Millisecond,
		Serve: func(t *testing.T, run func(*testing.T, server)) { run(t, s) },
	}
	if _, err := fmt.Sscanf(resp.Header.Get(maxVersionHeader), "1.%d", &made.MaxMinor); err != nil {
		t.Fatal(err)
	}
	return made
}

// Work that lasts lets the cases meet a node that is locked.
var slowWork = map[string]map[string]string{"fake": {"deploy_delay": "2", "inspect_delay": "1", "rescue_delay": "1"}}

// TestIronic21 is Debian 12's, on SQLite.
func TestIronic21(t *testing.T) {
	t.Parallel()
	i := start(t, realironic.Options{Settings: slowWork})
	run(t, realTarget(t, i, server{URL: i.URL, Client: i.Client()}), cases...)
}

func TestIronic21Restart(t *testing.T) {
	t.Parallel()
	i := start(t, realironic.Options{Settings: map[string]map[string]string{"fake": {"inspect_delay": "36000"}}})
	run(t, realTarget(t, i, server{URL: i.URL, Client: i.Client()}), restart)
}

// TestIronic29ThroughTheGateway is Debian 13's, on MariaDB, with http_basic and TLS, behind a gateway with a
// certificate of its own and room for everybody: Ironic's own words come through.
func TestIronic29ThroughTheGateway(t *testing.T) {
	t.Parallel()
	i := start(t, realironic.Options{
		Root: realironic.Chroot(), MariaDB: true, BasicAuth: true, TLS: true, Settings: slowWork,
	})
	url, client, ca := gateway(t, i)
	target := realTarget(t, i, server{URL: url, Client: client, CAFile: ca})
	target.MariaDB, target.Gateway = true, true
	run(t, target, accessCases...)
	run(t, target, cases...)
}

// gateway starts the product in front of an Ironic, and waits until it decides.
func gateway(t *testing.T, i *realironic.Ironic) (url string, client *http.Client, ca string) {
	t.Helper()
	product, remove, err := child.Build("ironic-throttle")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	dir := t.TempDir()
	ca = filepath.Join(dir, "tls.crt")
	if err := child.WriteCertificate(ca, filepath.Join(dir, "tls.key")); err != nil {
		t.Fatal(err)
	}
	login := filepath.Join(dir, "ironic")
	if err := errors.Join(os.Mkdir(login, 0o700), os.WriteFile(filepath.Join(login, "username"), []byte(i.User), 0o600),
		os.WriteFile(filepath.Join(login, "password"), []byte(i.Password), 0o600)); err != nil {
		t.Fatal(err)
	}
	throttle := child.ServeThrottle(t, product,
		"IRONIC_ENDPOINT="+i.URL, "IRONIC_CACERT_FILE="+i.CAFile, "METAL3_AUTH_ROOT_DIR="+dir,
		"MAX_CONCURRENT_PROVISIONING_HOSTS=1000", "IRONIC_THROTTLE_LINGER=1s", "IRONIC_THROTTLE_POLL_INTERVAL=1s",
		"IRONIC_THROTTLE_TLS_CERT_DIR="+dir, "IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS=:0").Settled()
	pem, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return throttle.At.Gateway, &http.Client{Transport: transport, Timeout: 30 * time.Second}, ca
}
