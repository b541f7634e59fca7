//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// gateway is a throttle with its gateway in front of a real Ironic.
type gateway struct {
	*throttle
	url string // as BMO's IRONIC_ENDPOINT would name it, without /v1
}

// roomForAll is a limit that no test reaches.
const roomForAll = "MAX_CONCURRENT_PROVISIONING_HOSTS=1000"

// serveGateway starts a throttle with a gateway. It may still be starting: see
// settled.
func serveGateway(t *testing.T, i *realironic.Ironic, more ...string) *gateway {
	t.Helper()
	environment := append(settings(i.URL, "IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS=127.0.0.1:0"), access(t, i)...)
	s := serveThrottle(t, append(environment, more...))
	return &gateway{throttle: s, url: s.at.Gateway}
}

// access is how BMO's variables tell of an Ironic that wants credentials or
// speaks TLS.
func access(t *testing.T, i *realironic.Ironic) (environment []string) {
	t.Helper()
	if i.CAFile != "" {
		environment = append(environment, "IRONIC_CACERT_FILE="+i.CAFile)
	}
	if i.User != "" {
		root := t.TempDir()
		secretFiles(t, root, i.User, i.Password)
		environment = append(environment, "METAL3_AUTH_ROOT_DIR="+root)
	}
	return environment
}

// settled waits until the throttle has found all that works, and may say yes.
func (g *gateway) settled() *gateway {
	g.Helper()
	g.awaitStatus("a settled view", func(st api.Status) bool { return st.View.Settled && st.View.Fresh })
	return g
}

// hostOf is the host and port of a URL.
func hostOf(url string) string {
	_, host, _ := strings.Cut(url, "://")
	return host
}

// requests is what the gateway has counted of a kind.
func (g *gateway) requests(kind string) int {
	g.Helper()
	return g.metric(fmt.Sprintf("ironic_throttle_gateway_requests_total{kind=%q}", kind))
}
