package fairshare

import (
	"fmt"
	"time"
)

// turns is what the scheduler and the reference model have in common. Hosts are
// numbers, so that one history drives both.
type turns interface {
	configure(Config) error
	ask(now time.Time, free, host, errors int) Answer
	peek(now time.Time, free, host, errors int) Answer
	refused(now time.Time, host, errors int)
	bar(now time.Time, host int)
	leave(now time.Time, host int)
	hold(now time.Time, host, errors int)
	told(host, errors int)
	release(now time.Time, host int, how End)
	update(now time.Time, free int)
	askPlanned(now time.Time, free, host, n int) bool
	state(host int) State
	look(host int) sight
	// order grows with the age of a call; due is when it is.
	order(host int) int64
	due(host int) int64
}

// sight is what can be seen of a host.
type sight struct {
	state  State
	lane   Lane
	losses int // calls that others took over
	// key and seq are its place among the hosts of its tenant.
	key, seq int64
}

// actual is the scheduler under test.
type actual struct {
	s     *Scheduler
	hosts []*Host
}

func newActual(cfg Config, tenants []string) (*actual, error) {
	s, err := New(cfg)
	r := &actual{s: s}
	for i, tenant := range tenants {
		r.hosts = append(r.hosts, NewHost(fmt.Sprint("host-", i), tenant))
	}
	return r, err
}

func (r *actual) configure(cfg Config) error { return r.s.Configure(cfg) }
func (r *actual) ask(now time.Time, free, host, errors int) Answer {
	return r.s.Ask(now, free, r.hosts[host], errors)
}
func (r *actual) peek(now time.Time, free, host, errors int) Answer {
	return r.s.Peek(now, free, r.hosts[host], errors)
}
func (r *actual) refused(now time.Time, host, errors int)  { r.s.Refused(now, r.hosts[host], errors) }
func (r *actual) bar(now time.Time, host int)              { r.s.Suspend(now, r.hosts[host]) }
func (r *actual) leave(now time.Time, host int)            { r.s.Leave(now, r.hosts[host]) }
func (r *actual) hold(now time.Time, host, errors int)     { r.s.Hold(now, r.hosts[host], errors) }
func (r *actual) told(host, errors int)                    { r.s.RecordErrors(r.hosts[host], errors) }
func (r *actual) release(now time.Time, host int, how End) { r.s.Release(now, r.hosts[host], how) }
func (r *actual) update(now time.Time, free int)           { r.s.Update(now, free) }
func (r *actual) askPlanned(now time.Time, free, host, n int) bool {
	return r.s.AskPlanned(now, free, r.hosts[host], n)
}
func (r *actual) state(host int) State { return r.hosts[host].state }
func (r *actual) look(host int) sight {
	h := r.hosts[host]
	return sight{h.state, h.lane, int(h.losses), h.key, h.seq}
}

// order and due are 0 where there is no call.
func (r *actual) order(host int) int64 {
	if h := r.hosts[host]; h.stake != nil {
		return int64(h.ord)
	}
	return 0
}

func (r *actual) due(host int) int64 {
	if h := r.hosts[host]; h.stake != nil {
		return h.due
	}
	return 0
}

// model is the reference.
type model struct {
	s     *refScheduler
	hosts []*refHost
}

func newModel(cfg Config, tenants []string) *model {
	m := &model{s: newRef(cfg)}
	for i, tenant := range tenants {
		m.hosts = append(m.hosts, &refHost{name: fmt.Sprint("host-", i), tenant: tenant})
	}
	return m
}

func (m *model) configure(cfg Config) error { return m.s.configure(cfg) }
func (m *model) ask(now time.Time, free, host, errors int) Answer {
	return m.s.ask(now, free, m.hosts[host], errors)
}
func (m *model) peek(time.Time, int, int, int) Answer     { return Answer{} }
func (m *model) refused(now time.Time, host, errors int)  { m.s.refuse(now, m.hosts[host], errors) }
func (m *model) bar(now time.Time, host int)              { m.s.bar(now, m.hosts[host]) }
func (m *model) leave(now time.Time, host int)            { m.s.leave(now, m.hosts[host]) }
func (m *model) hold(now time.Time, host, errors int)     { m.s.hold(now, m.hosts[host], errors) }
func (m *model) told(host, errors int)                    { m.s.told(m.hosts[host], errors) }
func (m *model) release(now time.Time, host int, how End) { m.s.release(now, m.hosts[host], how) }
func (m *model) update(now time.Time, free int)           { m.s.update(now, free) }
func (m *model) askPlanned(now time.Time, free, host, n int) bool {
	return m.s.askPlanned(now, free, m.hosts[host], n)
}
func (m *model) state(host int) State { return m.hosts[host].state }
func (m *model) look(host int) sight {
	h := m.hosts[host]
	return sight{h.state, h.lane, h.losses, h.key, h.seq}
}
func (m *model) order(host int) int64 { return m.hosts[host].call.ord }
func (m *model) due(host int) int64   { return m.hosts[host].call.due }
