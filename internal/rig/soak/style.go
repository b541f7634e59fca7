package soak

import (
	"math/rand/v2"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// fault is a kind of fault that a history may have.
type fault string

const (
	kills       fault = "processes killed and started again"
	pauses      fault = "processes that stand still"
	cutAPI      fault = "a replica cut off from the API server"
	cutIronic   fault = "a replica cut off from Ironic"
	outages     fault = "outages of Ironic"
	conductors  fault = "conductors stopped or killed"
	foreigners  fault = "work of others"
	remakes     fault = "nodes deleted, and made again under their name"
	badStore    fault = "writes of holds lost, answered late, or deadly"
	reloads     fault = "limits changed"
	torn        fault = "PUTs broken or doubled"
	lostAnswers fault = "answers lost, asks doubled"
	failures    fault = "work failed, hung or without agent"
	skew        fault = "clocks apart, and a lone one that steps back"
	slowPolls   fault = "lists read while nodes move"
	bareNames   fault = "asks by name alone"
	trips       fault = "breakers tripped by hand"
	handOvers   fault = "leaders that end in order"
)

var faults = []fault{
	kills, pauses, cutAPI, cutIronic, outages, conductors, foreigners, remakes, badStore, reloads, torn, lostAnswers,
	failures, skew, slowPolls, bareNames, trips, handOvers,
}

// style is the kind of a history.
type style struct {
	faults           map[fault]bool
	replicas         int // 1: outside of a cluster, with a file
	hosts            int
	length           time.Duration
	services         bool          // scripts have the operation service
	virtual, planned float64       // parts of the hosts
	gateway          float64       // part of the hosts whose controllers send PUTs
	groups           bool          // half of the hosts are in a conductor group
	page             int           // nodes in a page of Ironic's lists
	skew             time.Duration // how far a clock may be off
	seconds          bool          // Ironic's stamps are whole seconds
	fast             bool          // Ironic's fast track
}

func (s *style) has(f fault) bool { return s.faults[f] }

// dice draw everything in a history.
type dice struct{ *rand.Rand }

func (d dice) chance(p float64) bool { return d.Float64() < p }

func (d dice) between(a, b time.Duration) time.Duration {
	return a + time.Duration(d.Float64()*float64(b-a))
}

func newStyle(d dice) style {
	s := style{
		faults: map[fault]bool{}, replicas: 1, page: 1000,
		hosts:  3 + d.IntN(12), // fewer would seldom wait for each other
		length: d.between(8*time.Minute, 24*time.Minute),
	}
	if d.chance(.6) {
		s.replicas = 2 + d.IntN(2)
	}
	for _, f := range faults {
		s.faults[f] = d.chance(.4)
	}
	s.services, s.groups, s.seconds, s.fast = d.chance(.4), d.chance(.4), d.chance(.3), d.chance(.3)
	if d.chance(.3) {
		s.virtual = .4
	}
	if d.chance(.4) {
		s.planned = .3
	}
	s.gateway = []float64{0, .5, 1}[d.IntN(3)]
	if d.chance(.3) {
		s.page = 1 + d.IntN(3)
	}
	if s.has(skew) {
		s.skew = d.between(0, 90*time.Second)
	}
	return s
}

// newConfig draws the settings.
func (w *world) newConfig() admission.Config {
	cfg := admission.DefaultConfig()
	l := &cfg.Slots
	l.Settle = 25 * time.Second
	l.CountExtra = w.chance(.3)
	if w.chance(.3) {
		l.Count = slots.CountBusy
	}
	w.draw(l)
	b := cfg.Breakers
	b.Ironic.FailureThreshold, b.Others.FailureThreshold = 2+w.IntN(9), 2+w.IntN(3)
	b.Ironic.RecoveryTimeout = w.between(time.Minute, 8*time.Minute)
	b.Others.RecoveryTimeout = b.Ironic.RecoveryTimeout
	if w.chance(.25) {
		b.Ironic.RateLimitPerMinute = 1 + w.IntN(5)
	}
	if w.chance(.6) {
		cfg.Holdoff.Timeout = w.between(time.Minute, 15*time.Minute)
		cfg.Holdoff.Stage = []holdoff.Stage{holdoff.Retry, holdoff.Remediate}[w.IntN(2)]
	}
	return cfg
}

// The shortest times that draw sets. Hosts use a yes within them, so no reload makes a yes too old.
const shortTTL, shortLinger = 100 * time.Second, 20 * time.Second

// draw draws the times and limits that a reload may change.
func (w *world) draw(l *slots.Config) {
	l.LeaseTTL, l.Linger = shortTTL+w.between(0, time.Minute), shortLinger+w.between(0, 5*time.Second)
	l.StuckAfter = 0
	l.Limits = slots.Limits{Total: 1 + w.IntN(5), ExemptVirtualMedia: true}
	if w.style.groups && w.chance(.7) {
		l.Groups = map[string]int{"rack1": 1 + w.IntN(l.Total)}
	}
	if w.style.virtual > 0 && w.chance(.4) {
		l.VirtualMedia = 1 + w.IntN(2)
	}
}
