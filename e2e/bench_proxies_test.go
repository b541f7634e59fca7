//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"text/template"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/child"
)

// benchNode is a node as the static upstream shows it, of about 600 bytes.
const benchNode = `{"uuid": "6e0c6a0c-4b7e-4b4e-8f5a-0d6f5d1f2a3b", "name": "metal3~host-0001", "provision_state": "available", ` +
	`"target_provision_state": null, "power_state": "power off", "target_power_state": null, "maintenance": false, ` +
	`"maintenance_reason": null, "fault": null, "driver": "fake-hardware", "boot_interface": "fake", "conductor_group": "", ` +
	`"instance_uuid": null, "last_error": null, "reservation": null, "provision_updated_at": "2026-11-21T13:01:46+00:00", ` +
	`"driver_internal_info": {}, "instance_info": {}, "properties": {"capabilities": "boot_mode:uefi", "cpu_arch": "x86_64"}, "traits": []}`

// nginxConf is both: an upstream that answers at once, and the proxy in front of it
// that the gateway is measured against. The proxy's settings are those that make
// nginx fast: connections are kept on both sides and nothing is logged.
var nginxConf = template.Must(template.New("nginx.conf").Parse(`
{{if .Root}}user root;{{end}}
daemon off;
pid {{.Dir}}/pid;
worker_processes {{.Workers}};
events { worker_connections 1024; }
http {
  access_log off;
  default_type application/json;
  keepalive_requests 1000000000;
  client_body_temp_path {{.Dir}}/body;
  proxy_temp_path {{.Dir}}/proxy;
  fastcgi_temp_path {{.Dir}}/fastcgi;
  scgi_temp_path {{.Dir}}/scgi;
  uwsgi_temp_path {{.Dir}}/uwsgi;
{{if .Upstream}}
  upstream ironic {
    server {{.Upstream}};
    keepalive 256;
    keepalive_requests 1000000000;
  }
{{end}}
  server {
    listen {{.Listen}};
{{if .Upstream}}
    location / {
      proxy_pass http://ironic;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
    }
{{else}}
    add_header X-OpenStack-Ironic-API-Minimum-Version 1.1;
    add_header X-OpenStack-Ironic-API-Maximum-Version 1.81;
    add_header X-OpenStack-Ironic-API-Version 1.81;
    add_header Openstack-Request-Id req-681c22e5-9506-4bea-9388-e0dc29882b3d;
    location /v1/nodes/ { return 200 '{{.Node}}'; }
    location = /v1/nodes { return 200 '{"nodes": []}'; }
    location / { return 200 '{"version": {"id": "v1", "min_version": "1.1", "version": "1.81"}}'; }
{{end}}
  }
}
`))

// nginxProgram finds Debian's nginx, which is on no plain user's PATH.
func nginxProgram(tb testing.TB) string {
	tb.Helper()
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	tb.Skip("no nginx on this machine: run hack/ironic/install.sh as root")
	return ""
}

// serveNginx starts nginx, as the static upstream or as a proxy to one, and returns
// its address.
func serveNginx(tb testing.TB, workers int, upstream string) (address string) {
	tb.Helper()
	program := nginxProgram(tb)
	dir := tb.TempDir()
	address = freeAddress(tb)
	var conf bytes.Buffer
	err := nginxConf.Execute(&conf, map[string]any{
		"Root": os.Geteuid() == 0, "Dir": dir, "Workers": workers, "Listen": address, "Upstream": upstream, "Node": benchNode,
	})
	if err != nil {
		tb.Fatal(err)
	}
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, conf.Bytes(), 0o600); err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(program, "-p", dir, "-e", filepath.Join(dir, "error.log"), "-c", file)
	log := runChild(tb, cmd, syscall.SIGTERM) // kill -9 would leave the workers
	awaitTrue(tb, "nginx", func() bool {
		c, err := new(net.Dialer).DialContext(tb.Context(), "tcp", address)
		if err != nil {
			return false
		}
		return c.Close() == nil
	}, log.String)
	return address
}

// freeAddress is one that nobody listens on.
func freeAddress(tb testing.TB) string {
	tb.Helper()
	l, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// gatewayProcess is the product with its gateway, as a process of its own.
type gatewayProcess struct {
	host    string // of the gateway
	metrics string // URL
	api     string // URL
	pid     int
}

// benchedGateway starts the product in front of an Ironic with a user's settings,
// which are not scaled down: what else it does must not be seen here.
func benchedGateway(tb testing.TB, ironic string, environment ...string) gatewayProcess {
	tb.Helper()
	ready := filepath.Join(tb.TempDir(), "ready.json")
	cmd := exec.Command(binary, "serve", "--ready-file", ready)
	cmd.Env = append([]string{
		"PATH=/usr/bin:/bin", "IRONIC_ENDPOINT=" + ironic,
		"METAL3_AUTH_ROOT_DIR=/nonexistent", "IRONIC_CACERT_FILE=/nonexistent",
		"IRONIC_CLIENT_CERT_FILE=/nonexistent", "IRONIC_CLIENT_PRIVATE_KEY_FILE=/nonexistent",
		"IRONIC_THROTTLE_LISTEN_ADDRESS=127.0.0.1:0", "IRONIC_THROTTLE_HEALTH_LISTEN_ADDRESS=127.0.0.1:0",
		"IRONIC_THROTTLE_METRICS_LISTEN_ADDRESS=127.0.0.1:0", "IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS=127.0.0.1:0",
	}, environment...)
	log := runChild(tb, cmd, syscall.SIGKILL)
	var at struct{ API, Gateway, Metrics string }
	awaitTrue(tb, "ready file", func() bool {
		text, err := os.ReadFile(ready)
		return err == nil && json.Unmarshal(text, &at) == nil
	}, log.String)
	u, err := url.Parse(at.Gateway)
	if err != nil || u.Host == "" {
		tb.Fatalf("gateway at %q: %v", at.Gateway, err)
	}
	return gatewayProcess{host: u.Host, metrics: at.Metrics + "/metrics", api: at.API, pid: cmd.Process.Pid}
}

// runChild runs a server until the end of the benchmark, or of this process.
func runChild(tb testing.TB, cmd *exec.Cmd, end syscall.Signal) *child.LogBook {
	tb.Helper()
	log := &child.LogBook{}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: end}
	started, done := make(chan error, 1), make(chan struct{})
	go func() {
		runtime.LockOSThread() // Pdeathsig follows the thread
		defer runtime.UnlockOSThread()
		defer close(done)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Signal(end)
		<-done
		if tb.Failed() {
			tb.Logf("the log of %s:\n%s", strings.Join(cmd.Args, " "), log)
		}
	})
	return log
}

// awaitTrue asks until done says yes, for a minute at most.
func awaitTrue(tb testing.TB, what string, done func() bool, last func() string) {
	tb.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(time.Minute)
	defer late.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-late.C:
			tb.Fatalf("no %s: %s", what, last())
		}
	}
}
