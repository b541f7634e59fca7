//go:build linux

package demo

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// life is one process of the throttle.
type life struct {
	*child.Process
	began time.Time
	ready string // file that says that it listens
}

// start starts the throttle. It ends with the test, whatever becomes of that.
func (k *killStorm) start() *life {
	k.t.Helper()
	c := &life{began: time.Now(), ready: filepath.Join(k.t.TempDir(), "ready.json")}
	c.Process, _ = child.Run(k.t, child.Command{
		Name: k.binary, Args: []string{"serve", "--ready-file", c.ready}, Env: environment(k.config, k.t.TempDir()),
	})
	k.tale.born(c.PID())
	return c
}

// listens reports whether it was seen to listen.
func (c *life) listens() bool {
	_, err := os.Stat(c.ready)
	return err == nil
}

// kill is kill -9.
func (k *killStorm) kill(c *life) {
	k.tale.notef("kill -9 %d, which gave %d slots in %s", c.PID(), k.tale.given(), time.Since(c.began).Round(time.Millisecond))
	c.Kill()
}

// environment says c as a user would; POLL_INTERVAL is the shortest there is.
func environment(c config.Config, empty string) []string {
	const ours = "IRONIC_THROTTLE_"
	env := []string{
		"GORACE=halt_on_error=1", // the program is built as the test is: a data race ends it
		"IRONIC_ENDPOINT=" + c.Ironic.Endpoint, "METAL3_AUTH_ROOT_DIR=" + empty,
		fmt.Sprintf("MAX_CONCURRENT_PROVISIONING_HOSTS=%d", c.Limits.Total),
		ours + "LISTEN_ADDRESS=" + c.Listen.API, ours + "GATEWAY_LISTEN_ADDRESS=" + c.Gateway.Listen,
		ours + "HEALTH_PROBE_BIND_ADDRESS=127.0.0.1:0", ours + "METRICS_BIND_ADDRESS=127.0.0.1:0",
	}
	if c.Holdoff.File != "" {
		env = append(env, ours+"STATE="+c.Holdoff.File, ours+"FAILED_HOST_HOLDOFF="+c.Holdoff.Timeout.String())
	}
	if !c.Breaker.Enabled {
		env = append(env, ours+"BREAKER_ENABLED=false")
	}
	for name, d := range map[string]time.Duration{
		"POLL_INTERVAL": max(time.Second, c.View.PollInterval), "LEASE_TTL": c.Leases.TTL, "LINGER": c.Leases.Linger,
	} {
		env = append(env, ours+name+"="+d.String())
	}
	// What lies on this machine for a real BMO is not meant.
	for _, file := range []string{"CACERT_FILE", "CLIENT_CERT_FILE", "CLIENT_PRIVATE_KEY_FILE"} {
		env = append(env, "IRONIC_"+file+"="+filepath.Join(empty, "none"))
	}
	return env
}

// built is the program. Linking it takes seconds, so it is done once.
var built = sync.OnceValues(func() (string, error) {
	binary, remove, err := child.BuildProduct()
	if err == nil {
		removeBinary = remove
	}
	return binary, err
})

// buildThrottle builds the program.
func buildThrottle(t *testing.T) string {
	t.Helper()
	// A look at the sources makes the test cache depend on them.
	if sources, err := filepath.Glob("../../../cmd/ironic-throttle/*.go"); err != nil || len(sources) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	binary, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// freeAddress is one that the throttle can come back to: no port that the system
// gives to a connection while nobody listens there.
func freeAddress(t *testing.T) string {
	t.Helper()
	var open net.ListenConfig
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(10000))
		if l, err := open.Listen(t.Context(), "tcp", address); err == nil {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			return address
		}
	}
	t.Fatal("no free port")
	return ""
}
