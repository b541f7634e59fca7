package realironic

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// waitStates are those in which a node waits for its agent, and agentStates all in which it
// has work for one.
var (
	waitStates  = map[string]bool{"wait call-back": true, "clean wait": true}
	agentStates = map[string]bool{"wait call-back": true, "clean wait": true, "deploying": true, "cleaning": true}
)

// SiteBoot is one boot of a node.
type SiteBoot struct {
	UUID  string
	Began time.Time // the wait state, as the database has shown it
	// Took is the time in the wait state; 0 while it lasts.
	Took time.Duration
	Up   bool // the agent came, and Ironic went on
	Lost bool // the agent never comes: the site was too full
	// Load is how many nodes waited for their agents when this one began, itself included.
	Load int
	// Fault is what went wrong with the agent's last call.
	Fault error
}

// bootLog is what a Site knows.
type bootLog struct {
	pool  bootPool
	boots []SiteBoot
	open  map[string]int // index of boots that last, by UUID
}

func newBootLog(o SiteOptions, now time.Time) bootLog {
	return bootLog{pool: bootPool{o: o, draw: rand.New(rand.NewPCG(o.Seed, 1)), at: now}, open: map[string]int{}}
}

// see takes in a change of a node.
func (l *bootLog) see(c Change) {
	i, boots := l.open[c.UUID]
	switch waits := waitStates[c.State]; {
	case waits && !boots:
		l.open[c.UUID] = len(l.boots)
		l.boots = append(l.boots, SiteBoot{UUID: c.UUID, Began: c.At, Load: len(l.open)})
		if lost, ok := l.pool.enter(c.At, c.UUID); ok {
			l.boots[l.open[lost]].Lost = true
		}
	case !waits && boots:
		delete(l.open, c.UUID)
		l.pool.leave(c.At, c.UUID)
		b := &l.boots[i]
		b.Took, b.Up = c.At.Sub(b.Began), !strings.HasSuffix(c.State, " failed")
	}
}

// up returns the nodes whose boots have ended well.
func (l *bootLog) up(now time.Time) []string { return l.pool.done(now) }

// called notes how an agent's call has ended.
func (l *bootLog) called(uuid string, err error) {
	if i, boots := l.open[uuid]; boots {
		l.boots[i].Fault = err
	}
}

// bootPool lets boots share a capacity. Its clock is as fast as each boot is, so that a
// change of their number changes the speed of all of them at once.
type bootPool struct {
	o       SiteOptions
	draw    *rand.Rand
	clock   time.Duration // that a boot with room would have taken
	at      time.Time     // when clock was right
	booting []pooled
}

type pooled struct {
	uuid string
	due  time.Duration // by the clock
}

// advance lets time pass.
func (p *bootPool) advance(now time.Time) {
	if now.Before(p.at) {
		return // a change is told some time after it was seen
	}
	load := max(1, float64(len(p.booting))/float64(p.o.Capacity))
	p.clock += time.Duration(float64(now.Sub(p.at)) / load)
	p.at = now
}

// enter begins a boot, and returns the one that is lost by that, if one is.
func (p *bootPool) enter(now time.Time, uuid string) (lost string, ok bool) {
	p.advance(now)
	work := p.o.Boot.Least + time.Duration(p.draw.Float64()*float64(p.o.Boot.Most-p.o.Boot.Least))
	p.booting = append(p.booting, pooled{uuid, p.clock + work})
	if len(p.booting) <= p.o.Most {
		return "", false
	}
	i := p.draw.IntN(len(p.booting))
	lost = p.booting[i].uuid
	p.booting = slices.Delete(p.booting, i, i+1)
	return lost, true
}

// leave ends the boot of a node before its time, if it boots.
func (p *bootPool) leave(now time.Time, uuid string) {
	p.advance(now)
	p.booting = slices.DeleteFunc(p.booting, func(b pooled) bool { return b.uuid == uuid })
}

// done returns the nodes whose boots have ended by now, first come first. They make room.
func (p *bootPool) done(now time.Time) (up []string) {
	p.advance(now)
	p.booting = slices.DeleteFunc(p.booting, func(b pooled) bool {
		if b.due <= p.clock {
			up = append(up, b.uuid)
			return true
		}
		return false
	})
	return up
}
