package config

import (
	"fmt"
	"maps"
	"slices"
)

// checkRules holds the rules between settings. A rule is skipped when one of
// its settings is at fault by itself: one mistake, one message.
func (l *loader) checkRules() {
	c := &l.config
	l.checkIronic()
	if l.sound(nameLeaseTTL, namePollInterval) && c.Leases.TTL < 2*c.View.PollInterval {
		l.between(nameLeaseTTL, c.Leases.TTL, "must be at least 2 x %s", l.which(namePollInterval, c.View.PollInterval))
	}
	if l.sound(nameLimit) {
		l.checkLimits()
	}
	l.checkListeners()
	l.checkGateway()
	l.checkKubernetes()
	l.checkAccess()
	l.checkDisruption()
}

// checkIronic wants to know where Ironic is. An Ironic resource wins over the endpoint, as in
// BMO; what was given beside it does nothing. BMO's ConfigMap may have its name for BMO alone:
// without a cluster the endpoint counts.
func (l *loader) checkIronic() {
	to, on := &l.config.Ironic, bool(l.config.Kubernetes.On) || !l.sound(nameKubernetes)
	switch {
	case to.Name == "" && !l.given(nameEndpoint) && !on: // with a cluster BMO's own counts
		l.fault(nameEndpoint, "", "", "must be set: %s", ironicURL.text)
		l.broken[nameEndpoint] = true
	case to.Name == "" || !l.sound(nameIronic):
	case !on && !l.given(nameEndpoint):
		l.between(nameIronic, to.Name, "needs %s=on: that Ironic resource says where Ironic is; or set %s", nameKubernetes, nameEndpoint)
	case !on:
		l.warnf("%s=%s (%s) is not followed without %s=on: %s (%s) counts", nameIronic, to.Name, l.source(nameIronic),
			nameKubernetes, nameEndpoint, l.source(nameEndpoint))
		to.Name = ""
	default:
		idle := l.idle(func(s setting) bool { return s.name == nameEndpoint || s.name == nameAuthRoot || s.name == nameCACert })
		if idle != "" {
			l.warnf("%s=%s (%s) wins, as in BMO: that Ironic resource and its Secrets say where Ironic is; without effect: %s",
				nameIronic, to.Name, l.source(nameIronic), idle)
		}
		to.Endpoint = ""
	}
}

// checkLimits holds every part of the limit within it.
func (l *loader) checkLimits() {
	total := l.config.Limits.Total
	pools := l.config.Limits.Pools
	for _, pool := range slices.Sorted(maps.Keys(pools)) {
		if n := pools[pool]; n > total && l.sound(namePoolLimits) {
			l.between(namePoolLimits, fmt.Sprintf("%s=%d", pool, n), "must be at most %s", l.which(nameLimit, total))
		}
	}
}

// listener is one address of ours.
type listener struct{ name, address string }

func (c Config) listeners() []listener {
	return []listener{{nameListen, c.Listen.API}, {nameHealth, c.Listen.Health}, {nameMetrics, c.Listen.Metrics}, {nameGateway, c.Gateway.Listen}}
}

// checkListeners refuses two listeners on one port of one host: the wildcard has that of
// loopback too, and the start would fail with less to say.
func (l *loader) checkListeners() {
	all := l.config.listeners()
	local := l.config.Listen.Local
	for i, at := range all {
		if local != "" && l.sound(nameLocal, at.name) && collide(local, at.address) {
			l.between(nameLocal, local, "must have another port than %s", l.which(at.name, quote(at.address)))
		}
		for _, other := range all[:i] {
			if l.sound(at.name, other.name) && collide(at.address, other.address) {
				l.between(at.name, at.address, "must differ from %s (%s)", other.name, l.source(other.name))
			}
		}
	}
}

// checkGateway holds the rules between the gateway's settings. They mean nothing
// without a gateway.
func (l *loader) checkGateway() {
	g := l.config.Gateway
	if g.Listen == "" || !l.sound(nameGateway) {
		return
	}
	l.needs(nameGatewayCert, g.CertFile, nameGatewayKey, g.KeyFile)
	l.needs(nameGatewayKey, g.KeyFile, nameGatewayCert, g.CertFile)
	// A key without its certificate has been told already.
	if g.KeyFile == "" {
		l.needs(nameGatewayCA, g.ClientCAFile, nameGatewayCert, g.CertFile)
	}
	if to := l.config.Ironic.Endpoint; to != "" && l.sound(nameEndpoint) && leadsTo(to, g.Listen) {
		l.between(nameEndpoint, maskURL(to), "must name Ironic itself, and this is the gateway: %s is %s (%s); only BMO's %s names the gateway",
			nameGateway, quote(g.Listen), l.source(nameGateway), nameEndpoint)
	}
}

// checkKubernetes holds the rules between the settings of the cluster.
func (l *loader) checkKubernetes() {
	k, h := l.config.Kubernetes, l.config.Holdoff
	elects, mapped := k.Leader.Elect && l.sound(nameElect), h.ConfigMap != "" && l.sound(nameHoldMap)
	filed := h.File != "" && l.sound(nameHoldFile)
	if !bool(k.On) && l.sound(nameKubernetes) {
		if elects {
			l.between(nameElect, true, "needs %s=on", nameKubernetes)
		}
	}
	if mapped && !k.Leader.Elect && l.sound(nameElect) {
		l.between(nameHoldMap, h.ConfigMap, "needs %s=true, for the Lease says who writes it; one replica without it keeps holds by %s", nameElect, nameHoldFile)
	}
	if mapped && filed {
		l.between(nameHoldMap, h.ConfigMap, "must not be set beside %s (%s): holds are kept in one place", nameHoldFile, l.source(nameHoldFile))
	}
	if elects && filed {
		l.between(nameHoldFile, h.File, "must not be set with %s: another replica that becomes leader does not know its holds; %s is for that",
			nameElect, nameHoldMap)
	}
}

// checkAccess holds the rules of access to the API and to /metrics: tokens travel by TLS
// alone, and somebody has to know them.
func (l *loader) checkAccess() {
	a, at := l.config.Access, l.config.Listen
	l.needs(nameAPICert, a.CertFile, nameAPIKey, a.KeyFile)
	l.needs(nameAPIKey, a.KeyFile, nameAPICert, a.CertFile)
	l.needs(nameMetricsCert, a.MetricsCertFile, nameMetricsKey, a.MetricsKeyFile)
	l.needs(nameMetricsKey, a.MetricsKeyFile, nameMetricsCert, a.MetricsCertFile)
	if !l.sound(nameAccess) {
		return
	}
	reached := fmt.Sprintf("can be reached from elsewhere, so %s=%s (%s) ", nameAccess, a.Mode, l.source(nameAccess))
	if l.sound(nameListen) && l.config.Guarded() {
		name, text, why := nameAccess, string(a.Mode), ""
		if a.Mode == AccessAuto {
			name, text, why = nameListen, at.API, reached+"means kubernetes, which "
		}
		l.checkGuard(name, text, why, nameAPICert, a.CertFile, nameAPIKey, a.KeyFile, "")
	}
	if l.sound(nameMetrics) && l.config.MetricsGuarded() {
		remedy := fmt.Sprintf("; 127.0.0.1:8444 needs neither, and %s=open lets everybody read it", nameAccess)
		l.checkGuard(nameMetrics, at.Metrics, reached+"asks for a token, which ",
			nameMetricsCert, a.MetricsCertFile, nameMetricsKey, a.MetricsKeyFile, remedy)
	}
}

// checkGuard holds what a listener needs that asks for tokens; name and why tell what makes it do so.
func (l *loader) checkGuard(name, text, why, certName, cert, keyName, key, remedy string) {
	// One of the two without the other has been told already.
	if cert == "" && key == "" && l.sound(certName, keyName) {
		l.between(name, text, "%sneeds %s and %s: tokens do not travel in the clear%s", why, certName, keyName, remedy)
	}
	if !bool(l.config.Kubernetes.On) && l.sound(nameKubernetes) {
		l.between(name, text, "%sneeds %s=on: it is the cluster that knows users and rights%s", why, nameKubernetes, remedy)
	}
}

// needs demands that b is set where a is.
func (l *loader) needs(aName, a, bName, b string) {
	if l.sound(aName, bName) && a != "" && b == "" {
		l.between(aName, a, "needs %s too, which is not set", bName)
	}
}

// which is a setting in the rule of another.
func (l *loader) which(name string, value any) string {
	return fmt.Sprintf("%s, which is %s (%s)", name, asText(value), l.source(name))
}

// sound reports whether none of the named settings is at fault by itself.
func (l *loader) sound(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return l.broken[name] })
}

// between adds the fault of a rule between settings. It marks nothing as
// broken: each such rule is reported for itself.
func (l *loader) between(name string, value any, rule string, args ...any) {
	l.fault(name, asText(value), l.source(name), rule, args...)
}
