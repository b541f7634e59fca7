//go:build linux

package demo

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
)

// life is one process of the throttle.
type life struct {
	*exec.Cmd
	began time.Time
	ready string        // file that says that it listens
	log   bytes.Buffer  // to be read after gone only
	gone  chan struct{} // closed at the end of the process
}

// start starts the throttle. It ends with the test, whatever becomes of that.
func (k *killStorm) start() *life {
	k.t.Helper()
	c := &life{began: time.Now(), gone: make(chan struct{}), ready: filepath.Join(k.t.TempDir(), "ready.json")}
	c.Cmd = exec.CommandContext(k.t.Context(), k.binary, "serve", "--ready-file", c.ready)
	c.Env, c.Stderr = environment(k.config, k.t.TempDir()), &c.log
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // Pdeathsig follows the thread
		defer runtime.UnlockOSThread()
		defer close(c.gone)
		err := c.Start()
		started <- err
		if err == nil {
			_ = c.Wait() // it is killed
		}
	}()
	if err := <-started; err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() {
		_ = c.Process.Kill()
		<-c.gone
		if k.t.Failed() {
			k.t.Logf("log of process %d:\n%s", c.Process.Pid, &c.log)
		}
	})
	k.tale.born(c.Process.Pid)
	return c
}

// kill is kill -9.
func (k *killStorm) kill(c *life) {
	k.tale.notef("kill -9 %d, which gave %d slots in %s", c.Process.Pid, k.tale.given(), time.Since(c.began).Round(time.Millisecond))
	_ = c.Process.Kill()
	<-c.gone
}

// environment says c as a user would; POLL_INTERVAL is the shortest there is.
func environment(c config.Config, empty string) []string {
	const ours = "IRONIC_THROTTLE_"
	env := []string{
		"IRONIC_ENDPOINT=" + c.Ironic.Endpoint, "METAL3_AUTH_ROOT_DIR=" + empty,
		fmt.Sprintf("MAX_CONCURRENT_PROVISIONING_HOSTS=%d", c.Limits.Total),
		fmt.Sprintf("%sSTUCK_CAP=%d", ours, c.Limits.StuckCap),
		ours + "LISTEN_ADDRESS=" + c.Listen.API, ours + "GATEWAY_LISTEN_ADDRESS=" + c.Gateway.Listen,
		ours + "HEALTH_LISTEN_ADDRESS=127.0.0.1:0", ours + "METRICS_LISTEN_ADDRESS=127.0.0.1:0",
	}
	if c.Holdoff.File != "" {
		env = append(env, ours+"HOLDOFF_FILE="+c.Holdoff.File, ours+"FAILED_HOST_HOLDOFF="+c.Holdoff.Timeout.String())
	}
	if !c.Breaker.Enabled {
		env = append(env, ours+"BREAKER_ENABLED=false")
	}
	for name, d := range map[string]time.Duration{
		"POLL_INTERVAL": max(time.Second, c.View.PollInterval), "MAX_AGE": c.View.MaxAge, "MAX_STALE": c.View.MaxStale,
		"LIST_MAX_AGE": c.View.ListMaxAge, "LEASE_TTL": c.Leases.TTL, "LINGER": c.Leases.Linger,
		"STARTUP_SETTLE": c.Leases.StartupSettle,
	} {
		env = append(env, ours+name+"="+d.String())
	}
	// What lies on this machine for a real BMO is not meant.
	for _, file := range []string{"CACERT_FILE", "CLIENT_CERT_FILE", "CLIENT_PRIVATE_KEY_FILE"} {
		env = append(env, "IRONIC_"+file+"="+filepath.Join(empty, "none"))
	}
	return env
}

// buildThrottle builds the program.
func buildThrottle(t *testing.T) string {
	t.Helper()
	const program = "cmd/ironic-throttle"
	// A look at the sources makes the test cache depend on them.
	if sources, err := filepath.Glob(filepath.Join("..", "..", program, "*.go")); err != nil || len(sources) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	binary := filepath.Join(t.TempDir(), "ironic-throttle")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../"+program)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
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
