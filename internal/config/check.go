package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/internal/nearest"
)

// must checks a rule: the first of keys is wrong unless it holds. Each %s in says is one of the other keys.
func (l *loader) must(holds bool, says string, keys ...string) {
	if said := l.about(says, keys[1:]); !holds && said != "" && !l.broken[keys[0]] {
		l.fault(keys[0], named(keys[0]).text(l.config), said)
	}
}

// warn warns of settings that the operator may not have meant. Each %s in says is one of keys.
func (l *loader) warn(doubt bool, says string, keys ...string) {
	if said := l.about(says, keys); doubt && said != "" {
		l.warnings = append(l.warnings, said)
	}
}

// about writes settings with their values and sources into a text. It returns "" if one of them is wrong by itself: one
// mistake gives one message.
func (l *loader) about(says string, keys []string) string {
	var all []any
	for _, key := range keys {
		if l.broken[key] {
			return ""
		}
		s := named(key)
		all = append(all, fmt.Sprintf("%s=%s (%s)", s.names[0], s.text(l.config), l.from[key]))
	}
	return fmt.Sprintf(says, all...)
}

// check checks the rules between settings.
func (l *loader) check() {
	c := l.config
	to, on, elects, gateway := c.Ironic, c.Kubernetes.On, c.Kubernetes.Leader.Elect, c.Gateway.Listen
	l.must(to.Endpoint != "" || on, "must be set to Ironic's URL; or set IRONIC_THROTTLE_KUBERNETES=on, to find it as "+
		"BMO does or by IRONIC_NAME", "ironicEndpoint")
	l.must(!leadsTo(to.Endpoint, gateway) || to.Name != "" && on, "must name Ironic itself, and this is the gateway: %s; "+
		"only BMO's IRONIC_ENDPOINT names the gateway", "ironicEndpoint", "gatewayListenAddress")
	l.must(c.Leases.TTL >= 2*c.View.PollInterval, "must be at least 2 x %s", "leaseTtl", "pollInterval")
	l.must(c.Leases.TTL >= c.Leases.Linger, "must be at least %s", "leaseTtl", "linger")
	most := slices.Max(append(slices.Collect(maps.Values(c.Limits.Pools)), 0))
	l.must(most <= c.Limits.Total, "must have no group above %s", "poolLimits", "maxConcurrentProvisioningHosts")
	l.must(c.Limits.Pools["virtual-media"] == 0, "must not name virtual-media: it has a setting of its own, "+
		"IRONIC_THROTTLE_VIRTUAL_MEDIA_LIMIT", "poolLimits")
	l.must(!elects || on, "needs IRONIC_THROTTLE_KUBERNETES=on", "leaderElect")
	l.must(!c.Disruption.On() || on, "needs IRONIC_THROTTLE_KUBERNETES=on: it has nodes and machines", "disruption")
	l.must(c.Holdoff.ConfigMap == "" || elects, "needs IRONIC_THROTTLE_LEADER_ELECT=true: the Lease says which replica "+
		"writes the ConfigMap; one replica without it keeps its state in a file", "state")
	l.must(!elects || c.Holdoff.File == "", "must be configmap:NAME with %s: another replica that becomes leader does "+
		"not have the file", "state", "leaderElect")
	l.checkAccess()
	l.warn(c.BMOConcurrency > c.Limits.Total, TooManyWorkers(c.BMOConcurrency, c.Limits.Total))
	l.warn(c.Limits.Total > 50, "%s is greater than Ironic's own default max_concurrent_clean=50 (for deployments "+
		"max_concurrent_deploy=250): Ironic refuses what is above it", "maxConcurrentProvisioningHosts")
	held := slices.Max(append(slices.Collect(maps.Values(c.Holdoff.Hosts)), c.Holdoff.Timeout))
	l.warn(held > 0 && c.Holdoff.State == "", "failed hosts are held and IRONIC_THROTTLE_STATE is not set: a restart "+
		"ends or lengthens their holds")
	l.warn(held == 0 && c.Holdoff.Stage == "remediate" && !on, "%s has no effect with %s: IRONIC_THROTTLE_HOLDOFF_HOSTS "+
		"holds no host, and without IRONIC_THROTTLE_KUBERNETES no annotation does", "holdoffStage", "failedHostHoldoff")
	l.warn(c.Disruption.Mode == DisruptionExecute && c.Mode == Observe, "%s carries nothing out while %s: no host waits "+
		"then, and planned work would not either", "disruption", "mode")
	l.warn(to.Name != "" && to.Endpoint != "" && on, "%s wins, as in BMO; without effect: IRONIC_ENDPOINT", "ironicName")
	l.warn(to.Name != "" && to.Endpoint != "" && !on, "%s has no effect without IRONIC_THROTTLE_KUBERNETES: BMO goes "+
		"where it leads, the throttle to %s", "ironicName", "ironicEndpoint")
	if to.Name != "" && on {
		l.config.Ironic.Endpoint = ""
	} else {
		l.config.Ironic.Name = "" // BMO's ConfigMap may have it for BMO alone
	}
}

// checkAccess makes sure that tokens travel only by TLS and that a cluster can check them, and warns of a gateway that
// opens more than the operator may have meant. The throttle shows Ironic its certificate only by https; if it has to
// find Ironic first, it may.
func (l *loader) checkAccess() {
	c := l.config
	dir, asks, gateway := c.Access.CertDir, c.Access.Mode == AccessKubernetes, c.Gateway.Listen
	ready := dir != "" && c.Kubernetes.On
	const (
		needs = "needs IRONIC_THROTTLE_TLS_CERT_DIR (tokens must not travel in the clear) and " +
			"IRONIC_THROTTLE_KUBERNETES=on (the cluster knows users and rights)"
		reached = "can be reached from elsewhere, so with %s it asks for a token, and " + needs +
			"; 127.0.0.1 with kubectl port-forward needs neither, and IRONIC_THROTTLE_API_ACCESS=open lets every client in"
	)
	l.must(!asks || ready, needs, "apiAccess")
	l.must(asks || !c.Guarded() || ready, reached, "listenAddress", "apiAccess")
	l.must(!c.MetricsGuarded() || ready, reached, "metricsBindAddress", "apiAccess")
	l.warn(beyond(c.Listen.API) && !c.Guarded(), "%s can be reached from elsewhere with %s: every client that reaches it "+
		"may take slots, release holds and change breakers", "listenAddress", "apiAccess")
	l.warn(beyond(gateway) && dir == "", "%s can be reached from elsewhere without TLS (IRONIC_THROTTLE_TLS_CERT_DIR): "+
		"what it carries, such as passwords, can be read and changed on the way", "gatewayListenAddress")
	to := c.Ironic
	https := to.Name != "" || !strings.HasPrefix(to.Endpoint, "http:")
	ours := https && to.ClientCertFile != "" && l.Exists(to.ClientCertFile)
	l.warn(beyond(gateway) && ours && (dir == "" || !l.Exists(filepath.Join(dir, "client-ca.crt"))),
		"%s can be reached from elsewhere, and IRONIC_THROTTLE_TLS_CERT_DIR has no client-ca.crt: every client acts towards "+
			"Ironic with our certificate, %s", "gatewayListenAddress", "ironicClientCertFile")
}

// TooManyWorkers says that BMO has more workers than there are slots.
func TooManyWorkers(workers, limit int) string {
	return fmt.Sprintf("BMO_CONCURRENCY=%d is greater than the limit of %d: more workers than slots", workers, limit)
}

// serviceLink matches what Kubernetes puts into the environment of every pod for a Service, such as one
// called ironic-throttle.
var serviceLink = regexp.MustCompile(
	`^` + prefix + `(\w+_)?(SERVICE_HOST=|SERVICE_PORT(_\w+)?=|PORT=\w+://|PORT_\d+_(TCP|UDP|SCTP))`)

// checkNames refuses names in the environment that are nearly those of settings, because nobody would read them. With
// the ConfigMap of BMO and Ironic the environment has their names too, so only the names with prefix and that of the
// limit are compared. Its faults show no values, which may be secrets.
func (l *loader) checkNames() {
	const limit, typo = "MAX_CONCURRENT_PROVISIONING_HOSTS", 2
	known := []string{prefix + "URL", prefix + "TOKEN_FILE", prefix + "CA_FILE"} // of the client commands
	ours, meant, bare := []string{limit}, []string{limit}, []string{}
	for _, s := range settings {
		name, short := s.names[0], s.short()
		known, ours, meant = append(known, s.names...), append(ours, prefix+short), append(meant, name)
		if name != short && !s.has("common") && os.Getenv(name) == "" { // with a value under its own name, there is no mistake
			bare = append(bare, short)
		}
	}
	for _, entry := range os.Environ() {
		name, text, _ := strings.Cut(entry, "=")
		if text == "" || slices.Contains(known, name) || serviceLink.MatchString(entry) {
			continue
		}
		near, away := nearest.Word(name, ours)
		switch short, prefixed := strings.CutPrefix(name, prefix); {
		case slices.Contains(bare, name):
			l.wrong(name, "environment", "is not read: the name is "+prefix+name)
		case away <= typo || prefixed && away <= len(short)/2:
			l.wrong(name, "environment", "is not a setting; did you mean "+meant[slices.Index(ours, near)]+"?")
		case prefixed:
			l.wrong(name, "environment", "is not a setting")
		}
	}
}
