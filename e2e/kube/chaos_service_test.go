//go:build e2e

package kube

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const (
	probeEvery   = 200 * time.Millisecond
	probeTimeout = time.Second
	// What a Service knows of readiness is late by this much at most.
	endpointDelay = 800 * time.Millisecond
	// So often somebody reaches a replica that is not meant. It answers at least: askers
	// that hang all the while would be what a hand-over takes.
	strayChance = 0.03
)

// service is a Service of Kubernetes: requests go to a pod that it selected and that was
// ready a moment ago, and now and then to another one.
type service struct {
	*deployment
	turns     *turns
	published atomic.Pointer[[]*life]
	network   *http.Transport // towards the gateways
	granted   func(l *life, node string)
}

// begin probes all replicas until the end of the deployment.
func (s *service) begin() {
	for _, seat := range s.seated() {
		s.running.Go(func() { s.probe(seat) })
	}
	s.running.Go(func() {
		for s.ctx.Err() == nil {
			wait(s.ctx, probeEvery+rand.N(endpointDelay-probeEvery))
			s.publish()
		}
	})
}

func (s *service) probe(seat *seat) {
	client := &http.Client{Timeout: probeTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	for ; s.ctx.Err() == nil; wait(s.ctx, probeEvery) {
		l := seat.present.Load()
		if l == nil {
			continue
		}
		begin := time.Now()
		req, err := http.NewRequestWithContext(s.ctx, http.MethodGet, l.at.Health+"/readyz", nil)
		if err != nil {
			s.Error(err)
			return
		}
		code, text := ask(client, req)
		if code == http.StatusOK && text == leads {
			s.turns.sign(l.name, "ready", begin, time.Now())
		}
		l.ready.Store(code == http.StatusOK)
		l.answers.Store(code != 0)
	}
}

// leads is what /readyz of a leader says; a standby says more.
const leads = "ok\n"

func (s *service) publish() {
	selected, err := s.labelled()
	if err != nil {
		return // what was known stays
	}
	var ready []*life
	for _, seat := range s.seated() {
		if l := seat.present.Load(); l != nil && l.ready.Load() && slices.Contains(selected, seat.name) {
			ready = append(ready, l)
		}
	}
	s.published.Store(&ready)
}

var errNoEndpoint = errors.New("no replica is ready")

// pick is where a request goes.
func (s *service) pick() (*life, error) {
	var l *life
	if all := s.published.Load(); all != nil && len(*all) > 0 {
		l = (*all)[rand.IntN(len(*all))]
	}
	if seats := s.seated(); rand.Float64() < strayChance {
		if stray := seats[rand.IntN(len(seats))].present.Load(); stray != nil && stray.answers.Load() {
			l = stray
		}
	}
	if l == nil {
		return nil, errNoEndpoint
	}
	return l, nil
}

// ask asks a replica in the name of a host.
func (s *service) ask(ctx context.Context, l *life, c *api.Client, ask api.Ask) {
	begin := time.Now()
	if answer, err := c.IsReady(ctx, ask); err == nil && answer.Ready {
		s.turns.sign(l.name, "yes to "+ask.NodeUUID+", "+string(answer.Reason), begin, time.Now())
	}
}

// RoundTrip implements http.RoundTripper for an operator that knows the gateway only.
func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	l, err := s.pick()
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.URL.Host = strings.TrimPrefix(l.at.Gateway, "http://")
	r.Host = r.URL.Host
	return s.network.RoundTrip(r)
}

// passedOn hears of a PUT that starts work, and which life has sent it.
func (s *service) passedOn(l *life, node string) {
	now := time.Now()
	s.turns.sign(l.name, "PUT to "+node, now, now)
	s.granted(l, node)
}

// slowIronic carries out after a while what starts work, as a real Ironic takes up to 4 s
// for it, also when the sender is gone by then. came hears of each such PUT as it comes in
// and says how long that is.
func slowIronic(ctx context.Context, ironic http.Handler, came func(node string) time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		node, provision := strings.CutSuffix(r.URL.Path, "/states/provision")
		if !provision || r.Method != http.MethodPut {
			ironic.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // it never came in
		}
		var act time.Duration
		if !strings.Contains(string(body), `"manage"`) {
			act = came(node[strings.LastIndex(node, "/")+1:])
		}
		r = r.Clone(context.WithoutCancel(r.Context()))
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		wait(ctx, act)
		ironic.ServeHTTP(w, r)
	})
}
