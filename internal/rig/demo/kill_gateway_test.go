//go:build linux

package demo

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/bmo"
)

// gatewayOperator replaces the stage's operator by one that knows the gateway only,
// always at the same address. The gateway's way to Ironic is a slow one.
func (k *killStorm) gatewayOperator() error {
	settle := &k.config.Leases.StartupSettle
	// Nothing but a PUT on its way outlives a gateway, so half of it is enough here.
	*settle /= 2
	k.config.Leases.Linger = min(k.config.Leases.Linger, *settle)
	slow := httptest.NewServer(&slowPuts{
		Handler: k.ironic, tale: k.tale, most: *settle / 3, draw: rand.New(rand.NewPCG(k.opt.Seed, 15)),
	})
	k.idle = append(k.idle, slow.Close)
	k.config.Ironic.Endpoint = slow.URL
	k.config.Gateway.Listen = freeAddress(k.t)
	o := operatorOptions(k.opt, k.fleet)
	o.Timings = timings(ViaGateway)
	return k.newOperator("http://"+k.config.Gateway.Listen, o, &http.Transport{MaxIdleConnsPerHost: o.Workers},
		func(c *bmo.Client) bmo.Capacity { return bmo.BuiltIn(c, farAbove) })
}

// slowPuts is an Ironic that takes its time before a host begins to work, so that
// kills have something to hit. What has come in is carried out, whatever becomes of
// the sender.
type slowPuts struct {
	http.Handler
	*tale
	most time.Duration

	mu   sync.Mutex // guards draw
	draw *rand.Rand
}

// ServeHTTP implements http.Handler.
func (p *slowPuts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, provision := strings.CutSuffix(r.URL.Path, "/states/provision")
	if !provision || r.Method != http.MethodPut {
		p.Handler.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // it never came in
	}
	r = r.Clone(context.WithoutCancel(r.Context()))
	r.Body = io.NopCloser(bytes.NewReader(body))
	node := path[strings.LastIndex(path, "/")+1:]
	sender := p.forwarded(node, string(body))
	<-time.After(p.delay())
	answer := &status{ResponseWriter: w}
	p.Handler.ServeHTTP(answer, r)
	p.begun(node, answer.code, sender < p.present())
}

func (p *slowPuts) delay() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.most/10 + time.Duration(p.draw.Int64N(int64(p.most)))
}

// status remembers what was answered.
type status struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

// forwarded notes a PUT that the gateway has let through, and which life of it did.
func (s *tale) forwarded(node, body string) (life int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.Contains(body, `"manage"`) {
		s.grants++
	}
	s.noteLockedf("PUT to %s is sent: %s", node, body)
	return s.life
}

// present is the life of now.
func (s *tale) present() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.life
}
