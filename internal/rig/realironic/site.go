package realironic

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	siteTick = 50 * time.Millisecond // as often as a Truth looks
	// agentAgain is how often an agent calls until its node goes on: Ironic ignores it while
	// the node is locked.
	agentAgain = time.Second
)

// SiteOptions say how ramdisks boot from what they share: DHCP, TFTP and the image server.
type SiteOptions struct {
	Boot Span // how long a boot takes where there is room
	// Capacity is how many boots run at full speed. More of them share it: n need n/Capacity
	// times as long.
	Capacity int
	// Most is how many can boot at once. When one more begins, one of them, which is drawn, is
	// lost: its agent never comes, and it takes no part of Capacity any more.
	Most int
	Seed uint64 // of what is drawn
}

func (o SiteOptions) check() error {
	switch {
	case o.Boot.Least <= 0 || o.Boot.Most < o.Boot.Least:
		return fmt.Errorf("site: boots from %s to %s: must be above 0, and the least not above the most", o.Boot.Least, o.Boot.Most)
	case o.Capacity < 1 || o.Most < o.Capacity:
		return fmt.Errorf("site: capacity %d, most %d: the capacity must be 1 or more, and not above the most", o.Capacity, o.Most)
	}
	return nil
}

// Site is where the nodes of an Ironic boot: one in a wait state gets an agent after a while,
// or never where too many boot at once.
type Site struct {
	ironic *Ironic
	end    context.CancelFunc
	parts  sync.WaitGroup // the loop and the agents

	mu  sync.Mutex
	log bootLog
}

// siteAgent ends the calls of an agent, and then itself.
type siteAgent struct{ hush, end context.CancelFunc }

// OpenSite boots nodes from now on, as truth shows them. The caller must call Close, before
// the Stop of truth and of the Ironic.
func (i *Ironic) OpenSite(truth *Truth, o SiteOptions) (*Site, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	s := &Site{ironic: i, end: end, log: newBootLog(o, time.Now())}
	s.parts.Go(func() { s.run(ctx, truth) })
	return s, nil
}

// Close boots nothing more, and ends all agents.
func (s *Site) Close() {
	s.end()
	s.parts.Wait()
}

// Boots are those that have begun until now, in their order.
func (s *Site) Boots() []SiteBoot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log.boots)
}

func (s *Site) run(ctx context.Context, truth *Truth) {
	tick := time.NewTicker(siteTick)
	defer tick.Stop()
	agents := map[string]siteAgent{}
	for seen := 0; ; {
		changes := truth.Changes()[seen:]
		seen += len(changes)
		s.mu.Lock()
		for _, c := range changes {
			s.log.see(c)
		}
		up := s.log.up(time.Now())
		s.mu.Unlock()
		for _, c := range changes {
			if a, ok := agents[c.UUID]; ok && !waitStates[c.State] {
				a.hush()
				if !agentStates[c.State] {
					a.end()
					delete(agents, c.UUID)
				}
			}
		}
		for _, uuid := range up {
			agents[uuid] = s.boot(ctx, uuid)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// boot starts the agent of a node whose boot has ended well.
func (s *Site) boot(ctx context.Context, uuid string) siteAgent {
	lives, end := context.WithCancel(ctx)
	calls, hush := context.WithCancel(lives)
	s.parts.Go(func() {
		defer end()
		if agent := s.call(calls, uuid); agent != nil {
			<-lives.Done() // until then it does as Ironic says
			agent.Stop()
		}
	})
	return siteAgent{hush, end}
}

// call lets the agent of a node call until ctx ends. What goes wrong is tried again.
func (s *Site) call(ctx context.Context, uuid string) (agent *Agent) {
	tick := time.NewTicker(agentAgain)
	defer tick.Stop()
	for {
		var err error
		if agent == nil {
			agent, err = s.ironic.StartAgent(ctx, uuid, false)
		}
		if err == nil {
			err = agent.Heartbeat(ctx)
		}
		if ctx.Err() != nil {
			return agent
		}
		s.mu.Lock()
		s.log.called(uuid, err)
		s.mu.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return agent
		}
	}
}
