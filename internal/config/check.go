package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// between is a rule between settings. It is skipped when a setting that it names is at fault by itself: one
// mistake, one message.
type between struct {
	key    string // of the setting at fault; "" = a warning
	broken bool
	says   string // {key} is the name of a setting, {key=} its name, value and source
}

// check holds the rules between settings, and tells of what stops nothing and may not be meant.
func (l *loader) check(src Sources) {
	all := slices.Concat(l.times(), l.ironic(), l.cluster(), l.listeners(), l.access(), l.gateway(src))
	for _, r := range all {
		if said := l.expand(r); r.broken && said != "" && r.key != "" {
			s := named(r.key)
			value, source := s.text(l.config), l.source(r.key)
			if value == "" {
				source = ""
			}
			l.fault(s.name(), value, source, "%s", said)
		}
	}
	for _, r := range all {
		if said := l.expand(r); r.broken && said != "" && r.key == "" {
			l.warnf("%s", said)
		}
	}
	l.warnLimits()
	l.warnIdle()
	if to := &l.config.Ironic; to.Name != "" && l.config.Kubernetes.On {
		to.Endpoint = "" // as in BMO the Ironic resource wins
	} else {
		to.Name = ""
	}
}

var mention = regexp.MustCompile(`\{([a-zA-Z0-9]+)(=?)\}`)

// expand is what r says; "" where a setting that it names is at fault by itself.
func (l *loader) expand(r between) string {
	skip := l.broken[r.key]
	said := mention.ReplaceAllStringFunc(r.says, func(text string) string {
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

func (l *loader) times() []between {
	c := l.config
	above := false
	for _, n := range c.Limits.Pools {
		above = above || n > c.Limits.Total
	}
	return []between{
		{"leaseTtl", c.Leases.TTL < 2*c.View.PollInterval, "must be at least 2 x {pollInterval=}"},
		{"poolLimits", above, "must have no group above {maxConcurrentProvisioningHosts=}"},
	}
}

// ironic: an Ironic resource wins over the endpoint, as in BMO. BMO's ConfigMap may have its name for BMO alone:
// without a cluster the endpoint counts.
func (l *loader) ironic() []between {
	to, on := l.config.Ironic, l.config.Kubernetes.On
	idle := ""
	for _, key := range []string{"ironicEndpoint", "metal3AuthRootDir", "ironicCacertFile"} {
		if l.given(key) {
			idle += ", {" + key + "}"
		}
	}
	return []between{
		{"ironicEndpoint", to.Name == "" && to.Endpoint == "" && !on,
			"must be set to Ironic's URL; or set {kubernetes}=on, to find it as BMO does or by {ironicName}"},
		{"ironicName", to.Name != "" && to.Endpoint == "" && !on,
			"needs {kubernetes}=on: that Ironic resource says where Ironic is; or set {ironicEndpoint}"},
		{"ironicEndpoint", leadsTo(to.Endpoint, l.config.Gateway.Listen) && (to.Name == "" || !on),
			"must name Ironic itself, and this is the gateway: {gatewayListenAddress=}; only BMO's IRONIC_ENDPOINT " +
				"names the gateway"},
		{"", to.Name != "" && to.Endpoint != "" && !on,
			"{ironicName=} is not followed without {kubernetes}=on: {ironicEndpoint=} counts"},
		{"", to.Name != "" && idle != "" && on,
			"{ironicName=} wins, as in BMO; without effect: " + strings.TrimPrefix(idle, ", ")},
	}
}

func (l *loader) cluster() []between {
	c := l.config
	h, elects, on := c.Holdoff, c.Kubernetes.Leader.Elect, c.Kubernetes.On
	return []between{
		{"leaderElect", elects && !on, "needs {kubernetes}=on"},
		{"disruption", c.Disruption.On() && !on, "needs {kubernetes}=on: plans are made of nodes, pods and machines"},
		{"state", h.ConfigMap != "" && !elects,
			"needs {leaderElect}=true: the Lease says which replica writes the ConfigMap; one replica without it " +
				"keeps its state in a file"},
		{"state", elects && h.File != "",
			"must be configmap:NAME with {leaderElect}: another replica that becomes leader does not have the file"},
		{"", h.anywhere() && h.State == "",
			"failed hosts are held and {state} is not set: a restart ends or lengthens their holds"},
		{"", c.Disruption.Mode == DisruptionExecute && c.Mode == Observe,
			"{disruption=} carries nothing out while {mode=}: no host waits then, and planned work would not either"},
	}
}

// listeners: the wildcard has the ports of loopback too, and the start would fail with less to say.
func (l *loader) listeners() (all []between) {
	keys := []string{"listenAddress", "healthProbeBindAddress", "metricsBindAddress", "gatewayListenAddress"}
	for i, key := range keys {
		for _, other := range keys[:i] {
			same := collide(named(key).text(l.config), named(other).text(l.config))
			all = append(all, between{key, same, "must differ from {" + other + "=}"})
		}
		local := key != "listenAddress" && collide(named(key).text(l.config), l.config.Listen.Local)
		all = append(all, between{key, local,
			"must differ from " + localAPI + ", where the API is for this machine as {listenAddress=} is beyond it"})
	}
	return all
}

// access to the API and to /metrics: tokens travel by TLS alone, and somebody has to know them.
func (l *loader) access() []between {
	c := l.config
	a, on := c.Access, c.Kubernetes.On
	const (
		tls     = "needs {tlsCertDir}: tokens do not travel in the clear"
		knows   = "needs {kubernetes}=on: it is the cluster that knows users and rights"
		reached = "can be reached from elsewhere, so {apiAccess=} "
		metrics = reached + "asks for a token, which needs "
		local   = "; 127.0.0.1:8087 with kubectl port-forward needs neither, and {apiAccess}=open lets every client in"
		remedy  = "; 127.0.0.1:8444 needs neither, and {apiAccess}=open lets every client read it"
	)
	auto, asks := c.Guarded() && a.Mode == AccessAuto, a.Mode == AccessKubernetes
	open := beyond(c.Listen.API) && !c.Guarded()
	return []between{
		{"apiAccess", asks && a.CertDir == "", tls},
		{"apiAccess", asks && !on, knows},
		{"listenAddress", auto && a.CertDir == "", reached + "means kubernetes, which " + tls + local},
		{"listenAddress", auto && !on, reached + "means kubernetes, which " + knows + local},
		{"metricsBindAddress", c.MetricsGuarded() && a.CertDir == "",
			metrics + "{tlsCertDir}: tokens do not travel in the clear" + remedy},
		{"metricsBindAddress", c.MetricsGuarded() && !on,
			metrics + "{kubernetes}=on: it is the cluster that knows users and rights" + remedy},
		{"", beyond(c.Listen.Metrics) && !c.MetricsGuarded(),
			"{metricsBindAddress=} can be reached from elsewhere with {apiAccess=}: every client that reaches it " +
				"may read /metrics"},
		{"", open,
			"{listenAddress=} can be reached from elsewhere with {apiAccess=}: every client that reaches it " +
				"may take slots, release holds and change breakers"},
		{"", open && a.CertDir == "",
			"{listenAddress=} has no TLS ({tlsCertDir}): what it carries can be read and changed on the way"},
	}
}

// gateway: it may open more than was meant. Ironic sees our certificate through https only; where Ironic has to be
// found, that may be so.
func (l *loader) gateway(src Sources) []between {
	g, to, dir := l.config.Gateway, l.config.Ironic, l.config.Access.CertDir
	https := to.Name != "" || to.Endpoint == "" || strings.HasPrefix(strings.ToLower(to.Endpoint), "https:")
	ours := https && beyond(g.Listen) && to.ClientCertFile != "" && src.exists(to.ClientCertFile)
	return []between{
		{"", beyond(g.Listen) && dir == "",
			"{gatewayListenAddress=} can be reached from elsewhere without TLS ({tlsCertDir}): " +
				"what it carries, such as passwords, can be read and changed on the way"},
		{"", ours && !(dir != "" && src.exists(filepath.Join(dir, "client-ca.crt"))),
			"{gatewayListenAddress=} can be reached from elsewhere, and {tlsCertDir} has no client-ca.crt: every " +
				"client acts towards Ironic with our certificate, {ironicClientCertFile=}"},
	}
}

// warnIdle tells of settings that do nothing as the others are.
func (l *loader) warnIdle() {
	for _, s := range settings {
		on := func(key string) bool {
			return l.broken[key] || !slices.Contains([]string{"", "off", "false", "0s"}, named(key).text(l.config))
		}
		if l.given(s.key) && l.v.GetString(s.key) != "" && len(s.needs) > 0 && !slices.ContainsFunc(s.needs, on) {
			needs := strings.Join(s.needs, "} or {")
			l.warnf("%s", l.expand(between{says: "{" + s.key + "=} has no effect without {" + needs + "}"}))
		}
	}
}

// warnLimits compares the limit with what BMO and Ironic do by themselves: by default Ironic has
// [conductor]max_concurrent_deploy=250 and max_concurrent_clean=50.
func (l *loader) warnLimits() {
	limit, workers := l.config.Limits.Total, l.config.BMOConcurrency
	ironic := ""
	switch {
	case l.broken["maxConcurrentProvisioningHosts"]:
		return
	case limit > 250:
		ironic = "max_concurrent_deploy=250 and max_concurrent_clean=50"
	case limit > 50:
		ironic = "max_concurrent_clean=50"
	}
	if workers > limit {
		l.warnf("%s", TooManyWorkers(workers, limit))
	}
	if ironic != "" {
		l.warnf("the limit of %d is greater than Ironic's own default %s: Ironic refuses what is above it",
			limit, ironic)
	}
}

// TooManyWorkers says that BMO has more workers than there are slots.
func TooManyWorkers(workers, limit int) string {
	return fmt.Sprintf("BMO_CONCURRENCY=%d is greater than the limit of %d: more workers than slots", workers, limit)
}
