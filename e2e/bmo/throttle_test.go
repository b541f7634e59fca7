//go:build e2e

package bmo

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// throttle is the product, at the same addresses through all of its lives.
type throttle struct {
	*testing.T
	api, gateway, health string // URLs
	environment          []string
	log                  string // file
	process              *child.Process
	client               *api.Client
	lives                int
}

// newThrottle prepares one; start lets it run.
func newThrottle(t *testing.T, ironic string, namespaces []string) *throttle {
	t.Helper()
	ports, err := child.FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	at := func(n int) string { return fmt.Sprintf("%s:%d", child.Loopback, ports[n]) }
	r := &throttle{
		T: t, log: filepath.Join(t.TempDir(), "throttle.log"),
		api: "http://" + at(0), health: "http://" + at(1), gateway: "http://" + at(2),
	}
	r.environment = child.ProductEnvironment(
		"IRONIC_ENDPOINT="+ironic+"/v1/", "KUBECONFIG="+account(t, namespaces[0], "throttle"),
		"POD_NAMESPACE="+namespaces[0], "POD_NAME=throttle", "WATCH_NAMESPACE="+strings.Join(namespaces, ","),
		fmt.Sprintf("MAX_CONCURRENT_PROVISIONING_HOSTS=%d", limit), fmt.Sprintf("BMO_CONCURRENCY=%d", workers),
		"IRONIC_THROTTLE_KUBERNETES=on", "IRONIC_THROTTLE_LINGER=15s", "IRONIC_THROTTLE_LISTEN_ADDRESS="+at(0),
		"IRONIC_THROTTLE_HEALTH_PROBE_BIND_ADDRESS="+at(1), "IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS="+at(2),
	)
	if r.client, err = api.NewClient(r.api, api.WithTimeout(20*time.Second)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.client.CloseIdleConnections()
		if r.process != nil {
			r.process.Kill()
		}
		if t.Failed() {
			t.Logf("the end of the throttle's log:\n%s", child.TailFile(r.log))
		}
	})
	return r
}

// start begins a life of the process and returns when it decides, by a view of Ironic that has settled.
func (r *throttle) start() {
	r.Helper()
	r.lives++
	ready := filepath.Join(r.TempDir(), fmt.Sprintf("ready-%d.json", r.lives))
	var err error
	r.process, err = child.Start(child.Command{Name: product, Args: []string{"serve", "--ready-file", ready}, Env: r.environment, LogFile: r.log})
	if err != nil {
		r.Fatal(err)
	}
	child.Await(r.T, 200*time.Millisecond, patience, "throttle that decides", func() bool {
		status, err := r.client.Status(r.Context())
		return err == nil && status.View.Settled && status.View.Fresh && r.isReady() || !r.process.Running()
	}, func() string { return child.TailFile(r.log) })
}

func (r *throttle) isReady() bool {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(r.health + "/readyz")
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// queued are the hosts of the queue, by namespace/name.
func (r *throttle) queued() map[string]bool {
	r.Helper()
	queue, err := r.client.Queue(r.Context(), api.QueueQuery{Limit: 1000})
	if err != nil {
		r.Fatal(err)
	}
	all := map[string]bool{}
	for _, p := range queue.Pools {
		for _, h := range p.Hosts {
			all[strings.Replace(h.Name, "~", "/", 1)] = true
		}
	}
	return all
}
