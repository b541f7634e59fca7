package config

import (
	"fmt"
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
		{"ironicEndpoint", to.Name == "" && to.Endpoint == "" && !on, "must be set to Ironic's URL; or set {kubernetes}=on, to find it as BMO does or by {ironicName}"},
		{"ironicName", to.Name != "" && to.Endpoint == "" && !on, "needs {kubernetes}=on: that Ironic resource says where Ironic is; or set {ironicEndpoint}"},
		{"ironicEndpoint", leadsTo(to.Endpoint, l.config.Gateway.Listen) && to.Name == "",
			"must name Ironic itself, and this is the gateway: {gatewayListenAddress=}; only BMO's IRONIC_ENDPOINT names the gateway"},
		{"", to.Name != "" && to.Endpoint != "" && !on, "{ironicName=} is not followed without {kubernetes}=on: {ironicEndpoint=} counts"},
		{"", to.Name != "" && idle != "" && on, "{ironicName=} wins, as in BMO; without effect: " + strings.TrimPrefix(idle, ", ")},
	}
}

func (l *loader) cluster() []between {
	c := l.config
	h, elects, on := c.Holdoff, c.Kubernetes.Leader.Elect, c.Kubernetes.On
	return []between{
		{"leaderElect", elects && !on, "needs {kubernetes}=on"},
		{"disruption", c.Disruption.On() && !on, "needs {kubernetes}=on: plans are made of nodes, pods and machines"},
		{"holdoffConfigmap", h.ConfigMap != "" && !elects,
			"needs {leaderElect}=true: the Lease says which replica writes it; one replica without it keeps holds by {holdoffFile}"},
		{"holdoffConfigmap", h.ConfigMap != "" && h.File != "", "must not be set beside {holdoffFile=}: holds are kept in one place"},
		{"holdoffFile", elects && h.File != "",
			"must not be set with {leaderElect}: another replica that becomes leader does not know its holds; {holdoffConfigmap} is for that"},
		{"", h.anywhere() && h.File == "" && h.ConfigMap == "",
			"failed hosts are held and neither {holdoffFile} nor {holdoffConfigmap} is set: a restart ends or lengthens their holds"},
		{"", c.Disruption.Mode == DisruptionExecute && c.Mode == Observe,
			"{disruption=} carries nothing out while {mode=}: no host waits then, and planned work would not either"},
	}
}

// listeners: the wildcard has the ports of loopback too, and the start would fail with less to say.
func (l *loader) listeners() (all []between) {
	keys := []string{"listenAddress", "healthListenAddress", "metricsListenAddress", "gatewayListenAddress", "localListenAddress"}
	for i, key := range keys {
		for _, other := range keys[:i] {
			same := collide(named(key).text(l.config), named(other).text(l.config))
			all = append(all, between{key, same, "must differ from {" + other + "=}"})
		}
	}
	return all
}

// access to the API and to /metrics: tokens travel by TLS alone, and somebody has to know them.
func (l *loader) access() []between {
	c := l.config
	a, on := c.Access, c.Kubernetes.On
	const (
		tls     = "needs {apiTlsCertFile} and {apiTlsKeyFile}: tokens do not travel in the clear"
		knows   = "needs {kubernetes}=on: it is the cluster that knows users and rights"
		reached = "can be reached from elsewhere, so {apiAccess=} "
		metrics = reached + "asks for a token, which needs "
		local   = "; 127.0.0.1:8087 with kubectl port-forward needs neither, and {apiAccess}=open lets every client in"
		remedy  = "; 127.0.0.1:8444 needs neither, and {apiAccess}=open lets every client read it"
	)
	auto, asks := c.Guarded() && a.Mode == AccessAuto, a.Mode == AccessKubernetes
	open := beyond(c.Listen.API) && !c.Guarded()
	return []between{
		{"apiTlsCertFile", a.CertFile != "" && a.KeyFile == "", "needs {apiTlsKeyFile} too, which is not set"},
		{"apiTlsKeyFile", a.KeyFile != "" && a.CertFile == "", "needs {apiTlsCertFile} too, which is not set"},
		{"metricsTlsCertFile", a.MetricsCertFile != "" && a.MetricsKeyFile == "", "needs {metricsTlsKeyFile} too, which is not set"},
		{"metricsTlsKeyFile", a.MetricsKeyFile != "" && a.MetricsCertFile == "", "needs {metricsTlsCertFile} too, which is not set"},
		{"apiAccess", asks && a.CertFile+a.KeyFile == "", tls},
		{"apiAccess", asks && !on, knows},
		{"listenAddress", auto && a.CertFile+a.KeyFile == "", reached + "means kubernetes, which " + tls + local},
		{"listenAddress", auto && !on, reached + "means kubernetes, which " + knows + local},
		{"metricsListenAddress", c.MetricsGuarded() && a.MetricsCertFile+a.MetricsKeyFile == "",
			metrics + "{metricsTlsCertFile} and {metricsTlsKeyFile}: tokens do not travel in the clear" + remedy},
		{"metricsListenAddress", c.MetricsGuarded() && !on, metrics + "{kubernetes}=on: it is the cluster that knows users and rights" + remedy},
		{"", beyond(c.Listen.Metrics) && !c.MetricsGuarded(), "{metricsListenAddress=} " + "can be reached from elsewhere with {apiAccess=}: every client that reaches it may read /metrics"},
		{"", open, "{listenAddress=} can be reached from elsewhere with {apiAccess=}: every client that reaches it may take slots, release holds and change breakers"},
		{"", open && a.CertFile == "", "{listenAddress=} has no TLS ({apiTlsCertFile}): what it carries can be read and changed on the way"},
	}
}

// gateway: it may open more than was meant. Ironic sees our certificate through https only; where Ironic has to be
// found, that may be so.
func (l *loader) gateway(src Sources) []between {
	g, to := l.config.Gateway, l.config.Ironic
	https := to.Name != "" || to.Endpoint == "" || strings.HasPrefix(strings.ToLower(to.Endpoint), "https:")
	ours := https && beyond(g.Listen) && to.ClientCertFile != "" && src.exists(to.ClientCertFile)
	return []between{
		{"gatewayTlsCertFile", g.Listen != "" && g.CertFile != "" && g.KeyFile == "", "needs {gatewayTlsKeyFile} too, which is not set"},
		{"gatewayTlsKeyFile", g.Listen != "" && g.KeyFile != "" && g.CertFile == "", "needs {gatewayTlsCertFile} too, which is not set"},
		{"gatewayClientCaFile", g.Listen != "" && g.ClientCAFile != "" && g.CertFile+g.KeyFile == "", "needs {gatewayTlsCertFile} too, which is not set"},
		{"", beyond(g.Listen) && g.CertFile == "", "{gatewayListenAddress=} can be reached from elsewhere without TLS ({gatewayTlsCertFile}): " +
			"what it carries, such as passwords, can be read and changed on the way"},
		{"", ours && g.ClientCAFile == "", "{gatewayListenAddress=} can be reached from elsewhere without {gatewayClientCaFile}: " +
			"every client that reaches it acts towards Ironic with our certificate, {ironicClientCertFile=}"},
	}
}

// warnIdle tells of settings that do nothing as the others are.
func (l *loader) warnIdle() {
	for _, s := range settings {
		on := func(key string) bool {
			return l.broken[key] || !slices.Contains([]string{"", "off", "false", "0s"}, named(key).text(l.config))
		}
		if l.given(s.key) && l.v.GetString(s.key) != "" && len(s.needs) > 0 && !slices.ContainsFunc(s.needs, on) {
			said := between{"", true, "{" + s.key + "=} has no effect without {" + strings.Join(s.needs, "} or {") + "}"}
			l.warnf("%s", l.expand(said))
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
		l.warnf("the limit of %d is greater than Ironic's own default %s: Ironic refuses what is above it", limit, ironic)
	}
}

// TooManyWorkers says that BMO has more workers than there are slots.
func TooManyWorkers(workers, limit int) string {
	return fmt.Sprintf("BMO_CONCURRENCY=%d is greater than the limit of %d: more workers than slots", workers, limit)
}
