package soak

import (
	"math/rand/v2"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// fault is a kind of fault, or of trouble, that a history can have.
type fault uint8

const (
	kills       fault = iota // processes die at any moment, and are started again
	pauses                   // processes stand still
	cutAPI                   // a replica does not reach the API server
	cutIronic                // a replica does not reach Ironic
	outages                  // nobody reaches Ironic
	conductors               // a conductor is stopped or killed
	foreigners               // somebody else starts work
	remakes                  // nodes are deleted, and made again under the same name
	badStore                 // writes of holds are lost, answered late, or kill the process
	reloads                  // limits and the hold-off change while running
	onHold                   // work is put on hold in its middle
	torn                     // PUTs break in flight, or come twice
	lostAnswers              // answers to asks are lost, and asks are repeated
	failures                 // work fails, hangs, or loses its agent
	skew                     // clocks differ, drift, and a lone one steps back
	slowPolls                // the lists of a poll are read while nodes move
	bareNames                // hosts ask by name alone
	operators                // somebody releases holds, trips and resets breakers
	handOvers                // a leader ends in order
	faultKinds
)

var faultNames = [faultKinds]string{
	"kills", "pauses", "cut from the API server", "cut from Ironic", "outages of Ironic", "conductors stopped", "work of others",
	"nodes made again", "writes of holds gone wrong", "settings reloaded", "work put on hold", "PUTs broken or doubled",
	"answers lost, asks doubled", "work failed, hung or without agent", "clocks apart", "slow polls", "asks by name alone",
	"releases, trips, resets", "orderly ends",
}

// style is what kind of history this is.
type style struct {
	faults           [faultKinds]bool
	replicas         int // 1: alone, with a file
	hosts            int
	length           time.Duration
	rescues          bool // services and rescues
	virtual, planned float64
	gateway          float64 // share of hosts that send PUTs
	groups           bool
	page             int
	skew             time.Duration // by which clocks may differ
	seconds          bool
	fast             bool // fast track
	collapse         int  // above so many boots some are lost; 0: never
}

func (s *style) has(f fault) bool { return s.faults[f] }

// stream returns a random stream of its own.
func stream(seed, n uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, n+1)) }

func chance(r *rand.Rand, p float64) bool { return r.Float64() < p }

func between(r *rand.Rand, a, b time.Duration) time.Duration {
	return a + time.Duration(r.Float64()*float64(b-a))
}

func newStyle(seed uint64) style {
	r := stream(seed, 100)
	s := style{replicas: 1, hosts: 3 + r.IntN(7), length: between(r, 8*time.Minute, 24*time.Minute), page: 1000}
	if chance(r, .6) {
		s.replicas = 2 + r.IntN(2)
	}
	for f := range faultKinds {
		s.faults[f] = chance(r, .4)
	}
	s.rescues, s.groups, s.seconds, s.fast = chance(r, .4), chance(r, .4), chance(r, .3), chance(r, .3)
	if chance(r, .3) {
		s.virtual = .4
	}
	if chance(r, .4) {
		s.planned = .3
	}
	s.gateway = []float64{0, .5, 1}[r.IntN(3)]
	if chance(r, .3) {
		s.page = 1 + r.IntN(3)
	}
	if chance(r, .25) {
		s.collapse = 1 + r.IntN(3)
	}
	if s.has(skew) {
		s.skew = between(r, 0, 90*time.Second)
	}
	return s
}

// newConfig draws the settings.
func newConfig(seed uint64, s style) admission.Config {
	r := stream(seed, 101)
	cfg := admission.DefaultConfig()
	l := &cfg.Slots
	l.Settle = 25 * time.Second
	l.CountExtra = chance(r, .3)
	if chance(r, .3) {
		l.Count = slots.CountBusy
	}
	draw(r, s, l)
	cfg.Adaptive = chance(r, .35)
	b := cfg.Breakers
	b.Ironic.FailureThreshold, b.Others.FailureThreshold = 2+r.IntN(9), 2+r.IntN(3)
	b.Ironic.RecoveryTimeout = between(r, time.Minute, 8*time.Minute)
	b.Others.RecoveryTimeout = b.Ironic.RecoveryTimeout
	if chance(r, .25) {
		b.Ironic.RateLimitPerMinute = 1 + r.IntN(5)
	}
	if chance(r, .15) {
		cfg.Breakers = nil
	}
	if chance(r, .6) {
		cfg.Holdoff.Timeout = between(r, time.Minute, 15*time.Minute)
		cfg.Holdoff.Stage = []holdoff.Stage{holdoff.Retry, holdoff.Remediate}[r.IntN(2)]
	}
	if chance(r, .2) {
		cfg.MaxFailed, _ = holdoff.ParseQuota("60%")
	}
	return cfg
}

// The shortest times that a reload brings: hosts that were told yes act within them.
const shortTTL, shortLinger = 100 * time.Second, 20 * time.Second

// draw draws times and limits that change while running, at the start or for a reload.
func draw(r *rand.Rand, s style, l *slots.Config) {
	l.LeaseTTL, l.Linger = shortTTL+between(r, 0, time.Minute), shortLinger+between(r, 0, 5*time.Second)
	l.StuckAfter = 0
	if chance(r, .3) {
		l.StuckAfter = between(r, 5*time.Minute, 15*time.Minute)
	}
	l.Limits = slots.Limits{Total: 1 + r.IntN(5), ExemptVirtualMedia: true}
	l.StuckCap = r.IntN(l.Total + 1)
	if s.groups && chance(r, .7) {
		l.Groups = map[string]int{"rack1": 1 + r.IntN(l.Total)}
	}
	if s.virtual > 0 && chance(r, .4) {
		l.VirtualMedia = 1 + r.IntN(2)
	}
}
