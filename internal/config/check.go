package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// check holds the rules between settings, and tells of what stops nothing and may not be meant.
func (l *loader) check(src Sources) {
	l.checkIronic()
	l.checkCluster()
	l.checkAccess(src)
	l.warnLimits()
	l.warnIdle()
	if to := &l.config.Ironic; to.Name != "" && l.config.Kubernetes.On {
		to.Endpoint = "" // as in BMO the Ironic resource wins
	} else {
		to.Name = "" // BMO's ConfigMap may have it for BMO alone
	}
}

// must is a rule between settings: the one with the key is at fault unless it holds. In says {key} is the name of a
// setting, and {key=} its name, value and source.
func (l *loader) must(key string, holds bool, says string) {
	if holds || l.broken[key] {
		return
	}
	if said := l.expand(says); said != "" {
		s := named(key)
		value, source := s.text(l.config), l.source(key)
		if value == "" {
			source = ""
		}
		l.fault(s.name(), value, source, "%s", said)
	}
}

// warn tells the operator where doubt is so. In says settings are written as in must.
func (l *loader) warn(doubt bool, says string) {
	if said := l.expand(says); doubt && said != "" {
		l.warnf("%s", said)
	}
}

var mention = regexp.MustCompile(`\{([a-zA-Z0-9]+)(=?)\}`)

// expand writes out the settings in a text; "" where one of them is at fault by itself: one mistake, one message.
func (l *loader) expand(text string) string {
	skip := false
	said := mention.ReplaceAllStringFunc(text, func(text string) string {
		key, whole := strings.CutSuffix(strings.Trim(text, "{}"), "=")
		s := named(key)
		skip = skip || l.broken[key]
		if !whole {
			return s.name()
		}
		return fmt.Sprintf("%s=%s (%s)", s.name(), s.text(l.config), l.source(key))
	})
	if skip {
		return ""
	}
	return said
}

func (l *loader) checkIronic() {
	to, on := l.config.Ironic, l.config.Kubernetes.On
	l.must("ironicEndpoint", to.Endpoint != "" || on,
		"must be set to Ironic's URL; or set {kubernetes}=on, to find it as BMO does or by {ironicName}")
	l.must("ironicEndpoint", !leadsTo(to.Endpoint, l.config.Gateway.Listen) || to.Name != "" && on,
		"must name Ironic itself, and this is the gateway: {gatewayListenAddress=}; only BMO's IRONIC_ENDPOINT "+
			"names the gateway")
	l.warn(to.Name != "" && to.Endpoint != "" && on,
		"{ironicName=} wins, as in BMO; without effect: {ironicEndpoint}")
}

func (l *loader) checkCluster() {
	c := l.config
	h, elects, on := c.Holdoff, c.Kubernetes.Leader.Elect, c.Kubernetes.On
	l.must("leaseTtl", c.Leases.TTL >= 2*c.View.PollInterval, "must be at least 2 x {pollInterval=}")
	for _, n := range c.Limits.Pools {
		if n > c.Limits.Total {
			l.must("poolLimits", false, "must have no group above {maxConcurrentProvisioningHosts=}")
			break
		}
	}
	l.must("leaderElect", !elects || on, "needs {kubernetes}=on")
	l.must("disruption", !c.Disruption.On() || on, "needs {kubernetes}=on: plans are made of nodes, pods and machines")
	l.must("state", h.ConfigMap == "" || elects,
		"needs {leaderElect}=true: the Lease says which replica writes the ConfigMap; one replica without it "+
			"keeps its state in a file")
	l.must("state", !elects || h.File == "",
		"must be configmap:NAME with {leaderElect}: another replica that becomes leader does not have the file")
	l.warn(h.anywhere() && h.State == "",
		"failed hosts are held and {state} is not set: a restart ends or lengthens their holds")
	l.warn(c.Disruption.Mode == DisruptionExecute && c.Mode == Observe,
		"{disruption=} carries nothing out while {mode=}: no host waits then, and planned work would not either")
}

// checkAccess: tokens travel by TLS alone, and somebody has to know them. A gateway that others reach may open more
// than was meant. Ironic sees our certificate through https only; where Ironic has to be found, that may be so.
func (l *loader) checkAccess(src Sources) {
	c := l.config
	dir, asks, gateway := c.Access.CertDir, c.Access.Mode == AccessKubernetes, c.Gateway.Listen
	ready := dir != "" && c.Kubernetes.On
	const (
		needs   = "needs {tlsCertDir} (tokens must not travel in the clear) and {kubernetes}=on (the cluster knows users and rights)"
		reached = "can be reached from elsewhere, so with {apiAccess=} it asks for a token, and " + needs + "; 127.0.0.1:"
		neither = " needs neither, and {apiAccess}=open lets every client in"
	)
	l.must("apiAccess", !asks || ready, needs)
	l.must("listenAddress", asks || !c.Guarded() || ready, reached+"8087 with kubectl port-forward"+neither)
	l.must("metricsBindAddress", !c.MetricsGuarded() || ready, reached+"8444"+neither)
	l.warn(beyond(c.Listen.API) && !c.Guarded(),
		"{listenAddress=} can be reached from elsewhere with {apiAccess=}: every client that reaches it may take slots, "+
			"release holds and change breakers")
	l.warn(beyond(gateway) && dir == "",
		"{gatewayListenAddress=} can be reached from elsewhere without TLS ({tlsCertDir}): what it carries, such as "+
			"passwords, can be read and changed on the way")
	to := c.Ironic
	https := to.Name != "" || to.Endpoint == "" || strings.HasPrefix(strings.ToLower(to.Endpoint), "https:")
	ours := https && to.ClientCertFile != "" && src.exists(to.ClientCertFile)
	l.warn(beyond(gateway) && ours && (dir == "" || !src.exists(filepath.Join(dir, "client-ca.crt"))),
		"{gatewayListenAddress=} can be reached from elsewhere, and {tlsCertDir} has no client-ca.crt: every "+
			"client acts towards Ironic with our certificate, {ironicClientCertFile=}")
}

// warnIdle tells of settings that do nothing as the others are.
func (l *loader) warnIdle() {
	for _, s := range settings {
		on := func(key string) bool {
			return l.broken[key] || !slices.Contains([]string{"", "off", "false", "0s"}, named(key).text(l.config))
		}
		idle := l.given(s.key) && l.v.GetString(s.key) != "" && len(s.needs) > 0 && !slices.ContainsFunc(s.needs, on)
		l.warn(idle, "{"+s.key+"=} has no effect without {"+strings.Join(s.needs, "} or {")+"}")
	}
}

// warnLimits compares the limit with what BMO and Ironic do by themselves: by default Ironic has
// [conductor]max_concurrent_deploy=250 and max_concurrent_clean=50.
func (l *loader) warnLimits() {
	limit, workers, ironic := l.config.Limits.Total, l.config.BMOConcurrency, "max_concurrent_clean=50"
	if limit > 250 {
		ironic = "max_concurrent_deploy=250 and " + ironic
	}
	if l.broken["maxConcurrentProvisioningHosts"] {
		return
	}
	if workers > limit {
		l.warnf("%s", TooManyWorkers(workers, limit))
	}
	if limit > 50 {
		l.warnf("the limit of %d is greater than Ironic's own default %s: Ironic refuses what is above it",
			limit, ironic)
	}
}

// TooManyWorkers says that BMO has more workers than there are slots.
func TooManyWorkers(workers, limit int) string {
	return fmt.Sprintf("BMO_CONCURRENCY=%d is greater than the limit of %d: more workers than slots", workers, limit)
}
