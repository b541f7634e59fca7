//go:build e2e

package e2e

import (
	"bytes"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"text/template"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
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
	_, log := child.Run(tb, child.Command{
		Name: program, Args: []string{"-p", dir, "-e", filepath.Join(dir, "error.log"), "-c", file},
		Death: syscall.SIGTERM, // kill -9 would leave the workers
	})
	poll(tb, "nginx", func() bool {
		c, err := new(net.Dialer).DialContext(tb.Context(), "tcp", address)
		if err != nil {
			return false
		}
		return c.Close() == nil
	}, log.String)
	return address
}

// freeAddress is one that nobody listens on, and that a server can come back to.
func freeAddress(tb testing.TB) string {
	tb.Helper()
	ports, err := child.FreePorts(1)
	if err != nil {
		tb.Fatal(err)
	}
	return net.JoinHostPort(child.Loopback, strconv.Itoa(ports[0]))
}

// gatewayProcess is the product with its gateway, as a process of its own.
type gatewayProcess struct {
	host    string // of the gateway
	metrics string // URL
	api     string // URL
	process *child.Process
}

// benchedGateway starts the product in front of an Ironic with a user's settings,
// which are not scaled down: what else it does must not be seen here.
func benchedGateway(tb testing.TB, ironic string, environment ...string) gatewayProcess {
	tb.Helper()
	var at struct{ API, Gateway, Metrics string }
	p, _ := child.Serve(tb, child.Command{
		Name: binary, Args: []string{"serve"},
		Env: child.ProductEnvironment(append([]string{"IRONIC_ENDPOINT=" + ironic, "IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS=127.0.0.1:0"}, environment...)...),
	}, &at)
	u, err := url.Parse(at.Gateway)
	if err != nil || u.Host == "" {
		tb.Fatalf("gateway at %q: %v", at.Gateway, err)
	}
	return gatewayProcess{host: u.Host, metrics: at.Metrics + "/metrics", api: at.API, process: p}
}
