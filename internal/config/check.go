package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// check holds the rules between settings. A rule is skipped when one of
// its settings is at fault by itself: one mistake, one message.
func (l *loader) check() {
	c := &l.config
	l.checkIronic()
	l.atMost("pollInterval", c.View.PollInterval, "maxStale", c.View.MaxStale)
	l.atMost("linger", c.Leases.Linger, "startupSettle", c.Leases.StartupSettle)
	if l.sound("leaseTtl", "pollInterval") && c.Leases.TTL < 2*c.View.PollInterval {
		l.between("leaseTtl", "must be at least 2 x %s", l.which("pollInterval"))
	}
	if l.sound("maxConcurrentProvisioningHosts") {
		l.checkLimits()
	}
	l.checkListeners()
	l.checkGateway()
	l.checkKubernetes()
	l.checkAccess()
}

// checkIronic wants to know where Ironic is. An Ironic resource wins over the endpoint, as in
// BMO; what was given beside it does nothing. BMO's ConfigMap may have its name for BMO alone:
// without a cluster the endpoint counts.
func (l *loader) checkIronic() {
	to, on := &l.config.Ironic, l.config.Kubernetes.On || !l.sound("kubernetes")
	switch {
	case to.Name == "" && !l.given("ironicEndpoint") && !on: // with a cluster BMO's own counts
		l.fault("IRONIC_ENDPOINT", "", "", "must be set: %s", named("ironicEndpoint").rule.must)
		l.broken["ironicEndpoint"] = true
	case to.Name == "" || !l.sound("ironicName"):
	case !on && !l.given("ironicEndpoint"):
		l.between("ironicName", "needs %s=on: that Ironic resource says where Ironic is; or set IRONIC_ENDPOINT", kubernetes)
	case !on:
		l.warnf("%s is not followed without %s=on: IRONIC_ENDPOINT (%s) counts", l.in("ironicName"), kubernetes, l.source("ironicEndpoint"))
		to.Name = ""
	default:
		var idle []string
		for _, key := range []string{"ironicEndpoint", "metal3AuthRootDir", "ironicCacertFile"} {
			if l.given(key) {
				idle = append(idle, fmt.Sprintf("%s (%s)", named(key).name(), l.source(key)))
			}
		}
		if idle != nil {
			l.warnf("%s wins, as in BMO: that Ironic resource and its Secrets say where Ironic is; without effect: %s",
				l.in("ironicName"), strings.Join(idle, ", "))
		}
		to.Endpoint = ""
	}
}

var kubernetes = envPrefix + "KUBERNETES"

// checkLimits holds every part of the limit within it.
func (l *loader) checkLimits() {
	limits := l.config.Limits
	total := l.which("maxConcurrentProvisioningHosts")
	for _, pool := range slices.Sorted(maps.Keys(limits.Pools)) {
		if n := limits.Pools[pool]; n > limits.Total {
			l.fault(named("poolLimits").name(), fmt.Sprintf("%s=%d", pool, n), l.source("poolLimits"), "must be at most %s", total)
		}
	}
}

// checkListeners refuses two listeners on one port of one host: the wildcard has that of
// loopback too, and the start would fail with less to say.
func (l *loader) checkListeners() {
	keys := []string{"listenAddress", "healthListenAddress", "metricsListenAddress", "gatewayListenAddress", "localListenAddress"}
	for i, key := range keys {
		for _, other := range keys[:i] {
			if l.sound(key, other) && collide(named(key).text(l.config), named(other).text(l.config)) {
				l.between(key, "must differ from %s (%s)", named(other).name(), l.source(other))
			}
		}
	}
}

// checkGateway holds the rules between the gateway's settings. They mean nothing
// without a gateway.
func (l *loader) checkGateway() {
	g := l.config.Gateway
	if g.Listen == "" {
		return
	}
	l.needs("gatewayTlsCertFile", "gatewayTlsKeyFile")
	l.needs("gatewayTlsKeyFile", "gatewayTlsCertFile")
	// A key without its certificate has been told already.
	if g.KeyFile == "" {
		l.needs("gatewayClientCaFile", "gatewayTlsCertFile")
	}
	if to := l.config.Ironic.Endpoint; to != "" && leadsTo(to, g.Listen) {
		l.between("ironicEndpoint", "must name Ironic itself, and this is the gateway: %s; only BMO's IRONIC_ENDPOINT names the gateway",
			l.in("gatewayListenAddress"))
	}
}

// checkKubernetes holds the rules between the settings of the cluster.
func (l *loader) checkKubernetes() {
	k, h := l.config.Kubernetes, l.config.Holdoff
	elects := k.Leader.Elect
	off := !k.On && l.sound("kubernetes")
	if elects && off {
		l.between("leaderElect", "needs %s=on", kubernetes)
	}
	if l.config.Disruption.On() && off {
		l.between("disruption", "needs %s=on: plans are made of nodes, pods and machines", kubernetes)
	}
	if h.ConfigMap != "" && !elects && l.sound("leaderElect") {
		l.between("holdoffConfigmap", "needs %s=true, for the Lease says who writes it; one replica without it keeps holds by %s",
			named("leaderElect").name(), named("holdoffFile").name())
	}
	if h.ConfigMap != "" && h.File != "" {
		l.between("holdoffConfigmap", "must not be set beside %s: holds are kept in one place", l.in("holdoffFile"))
	}
	if elects && h.File != "" {
		l.between("holdoffFile", "must not be set with %s: another replica that becomes leader does not know its holds; %s is for that",
			named("leaderElect").name(), named("holdoffConfigmap").name())
	}
	// What a leader granted before it knew that it leads no more must have begun when the
	// next one grants its first slot.
	if elects && l.sound("startupSettle") && LeaseRenewDeadline > l.config.Leases.StartupSettle {
		l.between("startupSettle", "must be at least %s, with %s", short(LeaseRenewDeadline), named("leaderElect").name())
	}
}

// checkAccess holds the rules of access to the API and to /metrics: tokens travel by TLS
// alone, and somebody has to know them.
func (l *loader) checkAccess() {
	l.needs("apiTlsCertFile", "apiTlsKeyFile")
	l.needs("apiTlsKeyFile", "apiTlsCertFile")
	l.needs("metricsTlsCertFile", "metricsTlsKeyFile")
	l.needs("metricsTlsKeyFile", "metricsTlsCertFile")
	if !l.sound("apiAccess") {
		return
	}
	reached := "can be reached from elsewhere, so " + l.in("apiAccess") + " "
	if l.config.Guarded() {
		key, why := "apiAccess", ""
		if l.config.Access.Mode == AccessAuto {
			key, why = "listenAddress", reached+"means kubernetes, which "
		}
		l.checkGuard(key, why, "apiTlsCertFile", "apiTlsKeyFile", "")
	}
	if l.config.MetricsGuarded() {
		remedy := fmt.Sprintf("; 127.0.0.1:8444 needs neither, and %s=open lets every client read it", named("apiAccess").name())
		l.checkGuard("metricsListenAddress", reached+"asks for a token, which ", "metricsTlsCertFile", "metricsTlsKeyFile", remedy)
	}
}

// checkGuard holds what a listener needs that asks for tokens; name and why tell what makes it do so.
func (l *loader) checkGuard(key, why, cert, certKey, remedy string) {
	// One of the two without the other has been told already.
	if !l.on(cert) && !l.on(certKey) && l.sound(cert, certKey) {
		l.between(key, "%sneeds %s and %s: tokens do not travel in the clear%s", why, named(cert).name(), named(certKey).name(), remedy)
	}
	if !l.config.Kubernetes.On && l.sound("kubernetes") {
		l.between(key, "%sneeds %s=on: it is the cluster that knows users and rights%s", why, kubernetes, remedy)
	}
}

// needs demands that b is set where a is.
func (l *loader) needs(a, b string) {
	if l.sound(a, b) && l.on(a) && !l.on(b) {
		l.between(a, "needs %s too, which is not set", named(b).name())
	}
}

// atMost demands a <= b.
func (l *loader) atMost(aKey string, a time.Duration, bKey string, b time.Duration) {
	if l.sound(aKey, bKey) && a > b {
		l.between(aKey, "must be at most %s", l.which(bKey))
	}
}

// warn tells of what stops nothing and may not be meant.
func (l *loader) warn(src Sources) {
	l.warnLimits()
	l.warnIdle()
	c := l.config
	if c.Holdoff.anywhere() && c.Holdoff.File == "" && c.Holdoff.ConfigMap == "" && l.sound("holdoffFile", "holdoffConfigmap") {
		l.warnf("failed hosts are held and neither %s nor %s is set: a restart ends or lengthens their holds",
			named("holdoffFile").name(), named("holdoffConfigmap").name())
	}
	l.warnGateway(src)
	l.warnAccess()
	if c.Disruption.Mode == DisruptionExecute && c.Mode == Observe {
		l.warnf("%s carries nothing out while %s: no host waits then, and planned work would not either", l.in("disruption"), l.in("mode"))
	}
}

// warnIdle tells of settings that do nothing as the others are.
func (l *loader) warnIdle() {
	for _, s := range settings {
		if !l.given(s.key) || l.v.GetString(s.key) == "" || !l.sound(s.key) || !l.sound(s.needs...) || len(s.needs) == 0 {
			continue
		}
		var names []string
		for _, key := range s.needs {
			names = append(names, named(key).name())
		}
		if !slices.ContainsFunc(s.needs, l.on) {
			l.warnf("%s (%s) has no effect without %s", s.name(), l.source(s.key), strings.Join(names, " or "))
		}
	}
}

// warnLimits compares the limit with what BMO and Ironic do by themselves.
func (l *loader) warnLimits() {
	if !l.sound("maxConcurrentProvisioningHosts") {
		return
	}
	limit, workers := l.config.Limits.Total, l.config.BMOConcurrency
	if workers > limit {
		l.warnf("%s", TooManyWorkers(workers, limit))
	}
	if ironic := ironicCap(limit); ironic != "" {
		l.warnf("the limit of %d is greater than Ironic's own default %s: Ironic refuses what is above it", limit, ironic)
	}
}

// TooManyWorkers says that BMO has more workers than there are slots.
func TooManyWorkers(workers, limit int) string {
	return fmt.Sprintf("BMO_CONCURRENCY=%d is greater than the limit of %d: more workers than slots", workers, limit)
}

// Ironic's defaults of [conductor]max_concurrent_deploy and _clean, in nodes.
const (
	ironicDeploys = 250
	ironicCleans  = 50
)

func ironicCap(limit int) string {
	switch {
	case limit > ironicDeploys:
		return fmt.Sprintf("max_concurrent_deploy=%d and max_concurrent_clean=%d", ironicDeploys, ironicCleans)
	case limit > ironicCleans:
		return fmt.Sprintf("max_concurrent_clean=%d", ironicCleans)
	}
	return ""
}

// warnGateway tells of a gateway that opens more than was perhaps meant.
func (l *loader) warnGateway(src Sources) {
	g, to := l.config.Gateway, l.config.Ironic
	if g.Listen == "" || localOnly(g.Listen) {
		return
	}
	open := l.in("gatewayListenAddress") + " can be reached from elsewhere without"
	if g.CertFile == "" && l.sound("gatewayTlsCertFile", "gatewayTlsKeyFile") {
		l.warnf("%s TLS (%s): what it carries, such as passwords, can be read and changed on the way", open, named("gatewayTlsCertFile").name())
	}
	// Ironic sees our certificate through https only. Where Ironic has to be found, that may be so.
	found := to.Name != "" || to.Endpoint == ""
	ours := (found || strings.HasPrefix(strings.ToLower(to.Endpoint), "https:")) && to.ClientCertFile != "" && src.exists(to.ClientCertFile)
	if g.ClientCAFile == "" && ours && l.sound("gatewayClientCaFile") {
		l.warnf("%s %s: every client that reaches it acts towards Ironic with our certificate (%s)", open, named("gatewayClientCaFile").name(), l.in("ironicClientCertFile"))
	}
}

// warnAccess tells of an API that everybody may use, and of metrics that everybody may read.
func (l *loader) warnAccess() {
	c := l.config
	if !l.sound("apiAccess") {
		return
	}
	if c.Listen.Metrics != "" && !c.MetricsGuarded() && !localOnly(c.Listen.Metrics) {
		l.warnf("%s can be reached from elsewhere with %s: every client that reaches it may read /metrics", l.in("metricsListenAddress"), l.in("apiAccess"))
	}
	if c.Listen.API == "" || c.Guarded() || localOnly(c.Listen.API) {
		return
	}
	exposed := ""
	if c.Access.CertFile == "" {
		exposed = ", and what they send and get can be read and changed on the way (" + named("apiTlsCertFile").name() + " is not set)"
	}
	l.warnf("%s can be reached from elsewhere with %s: every client that reaches it may take slots, release holds and change breakers%s",
		l.in("listenAddress"), l.in("apiAccess"), exposed)
}
