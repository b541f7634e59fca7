//go:build e2e

package kube

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// throttle is `ironic-throttle serve` as a process of its own, with the environment of its
// container and on free ports.
type throttle struct {
	*testing.T
	*child.Process
	log *child.LogBook
	at  struct{ API, Health, Metrics, Gateway string }
}

// settings is an environment.
type settings map[string]string

// with lays others over it.
func (s settings) with(more settings) settings {
	all := maps.Clone(s)
	maps.Copy(all, more)
	return all
}

// environment is what the product gets of it.
func (s settings) environment() []string {
	all := child.ProductEnvironment()
	for name, value := range s {
		all = append(all, name+"="+value)
	}
	return all
}

// clustered are settings of a throttle in front of that Ironic, which reaches the API
// server by a kubeconfig and belongs to that namespace. Scaled down, but not so far that a
// slow machine looks like an outage.
func clustered(ironicURL, kubeconfig, namespace string) settings {
	s := settings{
		"IRONIC_ENDPOINT": ironicURL,
		"KUBECONFIG":      kubeconfig, "POD_NAMESPACE": namespace, "POD_NAME": "ironic-throttle-0",
	}
	for name, value := range (settings{
		"KUBERNETES": "on", "POLL_INTERVAL": "1s",
		"LEASE_TTL": "60s", "LINGER": "1s",
		"GATEWAY_LISTEN_ADDRESS": "127.0.0.1:0",
	}) {
		s[ours+name] = value
	}
	return s
}

// ours begins the names of settings that are not BMO's.
const ours = "IRONIC_THROTTLE_"

// serve starts the product; it ends with the test at the latest.
func serve(t *testing.T, s settings) *throttle {
	t.Helper()
	p := &throttle{T: t}
	p.Process, p.log = child.Serve(t, child.Command{Name: binary, Args: []string{"serve"}, Env: s.environment()}, &p.at)
	return p
}

// await asks until done says yes, for a minute at most.
func await(t *testing.T, what string, done func() bool, last func() string) {
	t.Helper()
	awaitFor(t, time.Minute, what, done, last)
}

func awaitFor(t *testing.T, most time.Duration, what string, done func() bool, last func() string) {
	t.Helper()
	child.Await(t, 100*time.Millisecond, most, what, done, last)
}

// client is one of the API.
func (p *throttle) client(options ...api.Option) *api.Client {
	p.Helper()
	c, err := api.NewClient(p.at.API, append([]api.Option{api.WithTimeout(20 * time.Second)}, options...)...)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(c.CloseIdleConnections)
	return c
}

// get reads one of the pages that are open to everybody.
func (p *throttle) get(url string) (code int, body string) {
	p.Helper()
	client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, err.Error()
	}
	return ask(client, req)
}

// ask sends a request. Nobody there is code 0.
func ask(client *http.Client, req *http.Request) (code int, body string) {
	resp, err := client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

// isReady waits until the health listener says so.
func (p *throttle) isReady() {
	p.Helper()
	code, body := 0, ""
	await(p.T, "readiness", func() bool {
		code, body = p.get(p.at.Health + "/readyz")
		return code == http.StatusOK
	}, func() string { return fmt.Sprint(code, " ", body) })
}

// put sends a host's work to Ironic, through the gateway.
func (p *throttle) put(uuid, target string) (code int, body string) {
	p.Helper()
	req, err := http.NewRequestWithContext(p.Context(), http.MethodPut,
		p.at.Gateway+"/v1/nodes/"+uuid+"/states/provision", strings.NewReader(`{"target":"`+target+`"}`))
	if err != nil {
		p.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-OpenStack-Ironic-API-Version", "1.81")
	return ask(gatewayClient, req)
}

var gatewayClient = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
