//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
)

// nginxConf is the proxy that the gateway is measured against, with settings that make nginx fast: connections are kept
// on both sides and nothing is logged.
const nginxConf = `
daemon off; master_process off; pid DIR/pid;
events { worker_connections 1024; }
http {
  access_log off; keepalive_requests 1000000000;
  client_body_temp_path DIR/body; proxy_temp_path DIR/proxy; fastcgi_temp_path DIR/f; scgi_temp_path DIR/s; uwsgi_temp_path DIR/u;
  upstream ironic { server UPSTREAM; keepalive 256; keepalive_requests 1000000000; }
  server {
    listen LISTEN;
    location / { proxy_pass http://ironic; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host; }
  }
}
`

// serveNginx starts it, and returns its URL.
func serveNginx(tb testing.TB, upstream string) string {
	tb.Helper()
	ports, err := child.FreePorts(1)
	if err != nil {
		tb.Fatal(err)
	}
	dir, address := tb.TempDir(), fmt.Sprintf("%s:%d", child.Loopback, ports[0])
	conf := strings.NewReplacer("DIR", dir, "UPSTREAM", strings.TrimPrefix(upstream, "http://"), "LISTEN", address).Replace(nginxConf)
	if os.Geteuid() == 0 {
		conf = "user root;" + conf
	}
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		tb.Fatal(err)
	}
	_, log := child.Run(tb, child.Command{
		Name: "/usr/sbin/nginx", Args: []string{"-p", dir, "-e", filepath.Join(dir, "error.log"), "-c", file},
	})
	await(tb, "nginx", func() bool {
		c, err := new(net.Dialer).DialContext(tb.Context(), "tcp", address)
		return err == nil && c.Close() == nil
	}, log.Tail)
	return "http://" + address
}

var perSecond = regexp.MustCompile(`Requests per second: +([0-9.]+)`)

// load is how many requests a second Apache's ab gets answered, on so many connections.
func load(tb testing.TB, url string, connections, requests int) float64 {
	tb.Helper()
	out, err := exec.CommandContext(tb.Context(), "ab", "-q", "-k", "-c", strconv.Itoa(connections), "-n", strconv.Itoa(requests),
		"-H", "X-OpenStack-Ironic-API-Version: 1.81", url).CombinedOutput()
	found := perSecond.FindSubmatch(out)
	if err != nil || found == nil || bytes.Contains(out, []byte("Non-2xx")) {
		tb.Fatalf("ab %s: %v\n%s", url, err, out)
	}
	n, _ := strconv.ParseFloat(string(found[1]), 64)
	return n
}

// BenchmarkGateway gets a node of a real Ironic: on one connection, directly and through the gateway, and on as many as
// BMO has workers, through nginx and through the gateway. They take turns, and each is first every other time. It reports
// the medians, of the ratios those of the rounds: load by others comes and goes.
func BenchmarkGateway(b *testing.B) {
	i := startIronic(b, realironic.Options{})
	if err := i.AddNodes(b.Context(), realironic.Batch{Count: 100, Prefix: "metal3~host-", State: "available"}); err != nil {
		b.Fatal(err)
	}
	path := "/v1/nodes/" + strings.TrimSpace(sql(b, i, "SELECT uuid FROM nodes LIMIT 1;"))
	// Its settings are a user's: what else it does must not be seen here.
	gateway := child.ServeThrottle(b, binary, "IRONIC_ENDPOINT="+i.URL, "IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS=127.0.0.1:0").Settled().At.Gateway
	nginx := serveNginx(b, i.URL)
	measured := map[string][]float64{}
	pair := func(turn int, other, gateway string, connections, requests int) (theirs, ours float64) {
		urls, rates := []string{other, gateway}, [2]float64{}
		for k := range urls {
			at := (turn + k) % 2
			rates[at] = load(b, urls[at]+path, connections, requests)
		}
		return rates[0], rates[1]
	}
	keep := func(unit string, v float64) { measured[unit] = append(measured[unit], v) }
	pair(0, nginx, gateway, 32, 64) // warm
	for turn := 0; b.Loop(); turn++ {
		direct, through := pair(turn, i.URL, gateway, 1, 40)
		keep("direct-ms", 1000/direct)
		keep("gateway-ms", 1000/through)
		keep("gateway/direct", direct/through)
		theirs, ours := pair(turn, nginx, gateway, 32, 320)
		keep("nginx-req/s", theirs)
		keep("gateway-req/s", ours)
		keep("gateway/nginx", ours/theirs)
	}
	b.ReportMetric(0, "ns/op")
	for unit, all := range measured {
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], unit)
	}
}
