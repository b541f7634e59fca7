//go:build e2e

package bmo

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// settings are those of the throttle that differ from its defaults.
type settings map[string]string

// restartPause is how long a container is away that has ended.
const restartPause = 500 * time.Millisecond

// replica is one process of the throttle, at the same addresses through all of its lives.
type replica struct {
	*testing.T
	name, dir            string
	api, health, gateway string // URLs
	environment          []string
	process              *child.Process
	client               *api.Client
	lives                int
	ready                atomic.Bool // as a probe of the kubelet has found it
}

// newReplica prepares one; start lets it run.
func newReplica(t *testing.T, n int, ironic string, namespaces []string, c cell) *replica {
	t.Helper()
	ports, err := child.FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	at := func(n int) string { return fmt.Sprintf("%s:%d", child.Loopback, ports[n]) }
	r := &replica{
		T: t, name: fmt.Sprintf("throttle-%d", n), dir: logs(t),
		api: "http://" + at(0), health: "http://" + at(1), gateway: "http://" + at(2),
	}
	own := settings{
		"KUBERNETES": "on", "LISTEN_ADDRESS": at(0), "HEALTH_PROBE_BIND_ADDRESS": at(1), "GATEWAY_LISTEN_ADDRESS": at(2),
	}
	if c.replicas > 1 {
		own["LEADER_ELECT"] = "true"
	}
	maps.Copy(own, c.settings)
	for _, pair := range strings.Fields(knobs.settings) {
		name, value, _ := strings.Cut(pair, "=")
		own[name] = value
	}
	r.environment = child.ProductEnvironment(
		"IRONIC_ENDPOINT="+ironic+"/v1/", "KUBECONFIG="+account(t, namespaces[0], r.name),
		"POD_NAMESPACE="+namespaces[0], "POD_NAME="+r.name, "WATCH_NAMESPACE="+strings.Join(namespaces, ","),
		fmt.Sprintf("MAX_CONCURRENT_PROVISIONING_HOSTS=%d", c.limit), fmt.Sprintf("BMO_CONCURRENCY=%d", c.workers),
	)
	for name, value := range own {
		r.environment = append(r.environment, "IRONIC_THROTTLE_"+name+"="+value)
	}
	if r.client, err = api.NewClient(r.api, api.WithTimeout(20*time.Second)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.client.CloseIdleConnections()
		if r.process != nil {
			r.process.Kill()
		}
		if t.Failed() {
			t.Logf("the end of the log of %s:\n%s", r.name, child.TailFile(r.log()))
		}
	})
	return r
}

func (r *replica) log() string { return filepath.Join(r.dir, r.name+".log") }

// start begins a life of the process and returns when it listens.
func (r *replica) start() {
	r.Helper()
	r.lives++
	ready := filepath.Join(r.TempDir(), fmt.Sprintf("ready-%d.json", r.lives))
	var err error
	r.process, err = child.Start(child.Command{Name: product, Args: []string{"serve", "--ready-file", ready}, Env: r.environment, LogFile: r.log()})
	if err != nil {
		r.Fatal(err)
	}
	if err := r.process.ReadyFile(r.Context(), ready, &struct{}{}); err != nil {
		r.Fatalf("%v\n%s", err, child.TailFile(r.log()))
	}
}

// kill ends the process with kill -9; it comes back after what a container takes.
func (r *replica) kill() {
	r.process.Kill()
	wait(r.Context(), restartPause)
	r.start()
}

// leads reports whether it decides, and its view of Ironic has settled.
func (r *replica) leads() bool {
	status, err := r.client.Status(r.Context())
	return err == nil && status.View.Settled && status.View.Fresh && r.isReady(r.Context())
}

func (r *replica) isReady(ctx context.Context) bool {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.health+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// service is one of Kubernetes in front of several replicas: requests go to one that was
// ready a moment ago.
func service(t *testing.T, replicas []*replica) (url string) {
	t.Helper()
	var published atomic.Pointer[replica]
	ctx, end := context.WithCancel(t.Context())
	var probing sync.WaitGroup
	t.Cleanup(func() { end(); probing.Wait() })
	for _, r := range replicas {
		probing.Go(func() {
			for ; ctx.Err() == nil; wait(ctx, 200*time.Millisecond) {
				if r.ready.Store(r.isReady(ctx)); r.ready.Load() {
					published.Store(r)
				} else {
					published.CompareAndSwap(r, nil)
				}
			}
		})
	}
	network := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(network.CloseIdleConnections)
	return listen(t, &httputil.ReverseProxy{
		Transport: network,
		Rewrite: func(r *httputil.ProxyRequest) {
			if to := published.Load(); to != nil {
				r.SetURL(mustParse(to.gateway))
			}
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	})
}

func mustParse(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		panic(err)
	}
	return u
}
