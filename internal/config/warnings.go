package config

import (
	"fmt"
	"os"
	"strings"
)

// idle names those of these settings that were given, and where.
func (l *loader) idle(which func(setting) bool) string {
	var given []string
	for _, s := range table {
		if l.given(s.name) && l.text(s.name) != "" && which(s) {
			given = append(given, fmt.Sprintf("%s (%s)", s.name, l.source(s.name)))
		}
	}
	return strings.Join(given, ", ")
}

// warnHoldoff tells of holds that a restart would end, and of settings that do
// nothing as the others are.
func (l *loader) warnHoldoff() {
	h := l.config.Holdoff
	if !l.sound(nameHoldoff, nameHoldHosts) {
		return
	}
	if !h.anywhere() {
		for _, name := range []string{nameHoldStage, nameHoldGrowth} {
			if l.given(name) && l.sound(name) {
				l.warnf("%s=%s (%s) is without effect: no host is held without %s", name, quote(l.text(name)), l.source(name), nameHoldoff)
			}
		}
		return
	}
	if h.File == "" && h.ConfigMap == "" && l.sound(nameHoldFile, nameHoldMap) {
		l.warnf("failed hosts are held and neither %s nor %s is set: a restart ends or lengthens their holds", nameHoldFile, nameHoldMap)
	}
	if l.sound(nameHoldGrowth) && h.Growth > 1 && h.Timeout >= GrowthCap {
		l.warnf("%s=%v (%s) is without effect on %s: no hold grows beyond %s", nameHoldGrowth, h.Growth, l.source(nameHoldGrowth),
			l.which(nameHoldoff, h.Timeout), short(GrowthCap))
	}
}

// warnGateway tells of settings that do nothing without the gateway, and of a
// gateway that opens more than was perhaps meant.
func (l *loader) warnGateway(exists func(string) bool) {
	g, to := l.config.Gateway, l.config.Ironic
	if !l.sound(nameGateway) || localOnly(g.Listen) {
		return
	}
	if g.Listen == "" {
		isGateway := func(s setting) bool { return strings.HasPrefix(s.short(), "GATEWAY_") && s.name != nameGateway }
		if idle := l.idle(isGateway); idle != "" {
			l.warnf("without %s there is no gateway; without effect: %s", nameGateway, idle)
		}
		return
	}
	open := fmt.Sprintf("%s=%s (%s) can be reached from elsewhere without", nameGateway, quote(g.Listen), l.source(nameGateway))
	if g.CertFile == "" && l.sound(nameGatewayCert, nameGatewayKey) {
		l.warnf("%s TLS (%s): what it carries, such as passwords, can be read and changed on the way", open, nameGatewayCert)
	}
	if exists == nil {
		exists = onDisk
	}
	// Ironic sees our certificate through https only. Where Ironic has to be found, that may be so.
	found := to.Name != "" || to.Endpoint == ""
	ours := (found || strings.HasPrefix(strings.ToLower(to.Endpoint), "https:")) && to.ClientCertFile != "" && exists(to.ClientCertFile)
	if g.ClientCAFile == "" && ours && l.sound(nameGatewayCA) {
		l.warnf("%s %s: whoever reaches it acts towards Ironic with our certificate (IRONIC_CLIENT_CERT_FILE=%s)",
			open, nameGatewayCA, quote(to.ClientCertFile))
	}
}

func onDisk(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// warnKubernetes tells of settings that do nothing without a cluster.
func (l *loader) warnKubernetes() {
	k := l.config.Kubernetes
	if !l.sound(nameKubernetes) {
		return
	}
	isLease := func(s setting) bool { return strings.HasPrefix(s.short(), "LEADER_") && s.name != nameElect }
	isCluster := func(s setting) bool { return isLease(s) || s.name == nameOperator }
	if !k.On {
		if idle := l.idle(isCluster); idle != "" {
			l.warnf("without %s=on nothing is read from or written to a cluster; without effect: %s", nameKubernetes, idle)
		}
		return
	}
	if idle := l.idle(isLease); idle != "" && !k.Leader.Elect && l.sound(nameElect) {
		l.warnf("without %s=true there is no Lease, and this replica always decides; without effect: %s", nameElect, idle)
	}
}

// warnAccess tells of an API that everybody may use, and of metrics that everybody may read.
func (l *loader) warnAccess() {
	c := l.config
	if l.sound(nameAccess, nameMetrics) && c.Listen.Metrics != "" && !c.MetricsGuarded() && !localOnly(c.Listen.Metrics) {
		l.warnf("%s=%s (%s) can be reached from elsewhere with %s=%s (%s): whoever reaches it may read /metrics",
			nameMetrics, quote(c.Listen.Metrics), l.source(nameMetrics), nameAccess, string(c.Access.Mode), l.source(nameAccess))
	}
	if !l.sound(nameAccess, nameListen) || c.Listen.API == "" || c.Guarded() || localOnly(c.Listen.API) {
		return
	}
	exposed := ""
	if c.Access.CertFile == "" {
		exposed = ", and what they send and get can be read and changed on the way (" + nameAPICert + " is not set)"
	}
	l.warnf("%s=%s (%s) can be reached from elsewhere with %s=%s (%s): whoever reaches it may take slots, release holds and change breakers%s",
		nameListen, quote(c.Listen.API), l.source(nameListen), nameAccess, string(c.Access.Mode), l.source(nameAccess), exposed)
}
