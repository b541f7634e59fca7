package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// checkRules holds the rules between settings. A rule is skipped when one of
// its settings is at fault by itself: one mistake, one message.
func (l *loader) checkRules() {
	c := &l.config
	if _, ok := l.from[nameStuckCap]; !ok {
		c.Limits.StuckCap = defaultStuckCap(c.Limits.Total)
	}
	if _, ok := l.from[nameEndpoint]; !ok {
		l.fault(&Fault{Setting: nameEndpoint, Rule: "must be set: " + endpointValue{}.rule()})
	}
	l.atMost(namePollInterval, c.View.PollInterval, nameMaxAge, c.View.MaxAge)
	l.atMost(nameMaxAge, c.View.MaxAge, nameMaxStale, c.View.MaxStale)
	l.atMost(nameLinger, c.Leases.Linger, nameSettle, c.Leases.StartupSettle)
	if twice := 2 * c.View.MaxAge; l.sound(nameLeaseTTL, nameMaxAge) && c.Leases.TTL < twice {
		l.between(nameLeaseTTL, short(c.Leases.TTL), fmt.Sprintf("must be at least 2 x %s, which is %s (%s)",
			nameMaxAge, short(c.View.MaxAge), l.source(nameMaxAge)))
	}
	l.checkLimits()
	l.checkListeners()
	l.checkGateway()
	l.checkKubernetes()
	l.checkAccess()
}

// checkLimits holds every part of the limit within it.
func (l *loader) checkLimits() {
	if !l.sound(nameLimit, nameLimitAlias) {
		return
	}
	limits := l.config.Limits
	if l.sound(nameStuckCap) && limits.StuckCap > limits.Total {
		l.between(nameStuckCap, fmt.Sprint(limits.StuckCap), l.withinLimit())
	}
	l.checkFailing()
	if !l.sound(namePoolLimits) {
		return
	}
	for _, pool := range slices.Sorted(maps.Keys(limits.Pools)) {
		if n := limits.Pools[pool]; n > limits.Total {
			l.between(namePoolLimits, fmt.Sprintf("%s=%d", pool, n), l.withinLimit())
		}
	}
}

func (l *loader) withinLimit() string { return "must be at most " + l.limitText() }

// limitText names the limit, its value and where it came from.
func (l *loader) limitText() string {
	name := nameLimit
	if _, own := l.from[nameLimit]; !own {
		if _, alias := l.from[nameLimitAlias]; alias {
			name = nameLimitAlias
		}
	}
	return fmt.Sprintf("%s, which is %d (%s)", name, l.config.Limits.Total, l.source(name))
}

// checkListeners refuses two listeners on one port of one host.
func (l *loader) checkListeners() {
	taken := map[string]string{}
	for _, at := range []struct{ name, address string }{
		{nameListen, l.config.Listen.API},
		{nameHealth, l.config.Listen.Health},
		{nameMetrics, l.config.Listen.Metrics},
		{nameGateway, l.config.Gateway.Listen},
	} {
		if at.address == "" || strings.HasSuffix(at.address, ":0") {
			continue // none, or any free port
		}
		if other, ok := taken[at.address]; ok && l.sound(at.name, other) {
			l.between(at.name, at.address, fmt.Sprintf("must differ from %s (%s)", other, l.source(other)))
		}
		taken[at.address] = at.name
	}
	l.checkLocal()
}

// checkLocal wants a port of its own for the local listener: the wildcard has that of
// loopback too, and the start would fail with less to say.
func (l *loader) checkLocal() {
	local := l.config.Listen.Local
	if local == "" || !l.sound(nameLocal) {
		return
	}
	for _, at := range []struct{ name, address string }{
		{nameListen, l.config.Listen.API},
		{nameHealth, l.config.Listen.Health},
		{nameMetrics, l.config.Listen.Metrics},
		{nameGateway, l.config.Gateway.Listen},
	} {
		if l.sound(at.name) && collide(local, at.address) {
			l.between(nameLocal, local, fmt.Sprintf("must have another port than %s, which is %s (%s)", at.name, quote(at.address), l.source(at.name)))
		}
	}
}

// atMost demands a <= b of two durations.
func (l *loader) atMost(aName string, a time.Duration, bName string, b time.Duration) {
	if l.sound(aName, bName) && a > b {
		l.between(aName, short(a), fmt.Sprintf("must be at most %s, which is %s (%s)", bName, short(b), l.source(bName)))
	}
}

// sound reports whether none of the named settings is at fault by itself.
func (l *loader) sound(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return l.broken[name] })
}

// between adds the fault of a rule between settings. It marks nothing as
// broken: each such rule is reported for itself.
func (l *loader) between(name, text, rule string) {
	l.faults = append(l.faults, &Fault{Setting: name, Value: text, Source: l.source(name), Rule: rule})
}
