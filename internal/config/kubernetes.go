package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Names of Kubernetes' settings that more than their row speaks of.
const (
	nameKubernetes    = envPrefix + "KUBERNETES"
	nameElect         = envPrefix + "LEADER_ELECT"
	nameLeaseDuration = envPrefix + "LEADER_LEASE_DURATION"
	nameRenewDeadline = envPrefix + "LEADER_RENEW_DEADLINE"
	nameRetryPeriod   = envPrefix + "LEADER_RETRY_PERIOD"
	nameHoldMap       = envPrefix + "HOLDOFF_CONFIGMAP"
	nameEvents        = envPrefix + "EVENTS"
	nameEventRate     = envPrefix + "EVENTS_PER_MINUTE"
	namePosition      = envPrefix + "ANNOTATE_POSITION"
)

// Kubernetes says what is read from the cluster that the hosts' BareMetalHosts are in,
// and what is written there. Without On the rest means nothing.
type Kubernetes struct {
	On         bool
	Kubeconfig string   // "" = as a pod, by its service account
	Watch      []string // namespaces whose BareMetalHosts are watched; empty = all
	Namespace  string   // ours, of the Lease and the ConfigMaps; "" = the service account's
	Identity   string   // our name in the Lease and in Events; "" = the host name

	Events           bool
	EventsPerMinute  int  // of all hosts together
	AnnotatePosition bool // waiting hosts carry their place in an annotation

	Leader Leader
}

// Leader says how several replicas agree on the one that decides (LH-27).
type Leader struct {
	Elect         bool
	LeaseName     string
	Duration      time.Duration // others may take a Lease that was not renewed for this long
	RenewDeadline time.Duration // a leader that could not renew for this long says no yes, and ends
	RetryPeriod   time.Duration
}

func kubernetesRows() []setting {
	duration := func(field func(*Config) *time.Duration) func(*Config) value {
		return func(c *Config) value { return durationValue{p: field(c), min: 100 * time.Millisecond, max: time.Hour} }
	}
	rows := []setting{
		{
			name: nameKubernetes, def: "off", help: "on = read BareMetalHosts, tell hosts by Events why they wait; needs rights in the cluster",
			value: func(c *Config) value { return switchValue{&c.Kubernetes.On} },
		},
		{
			name: "KUBECONFIG", help: "file that says how the cluster is reached; unset = as a pod, by its service account",
			value: func(c *Config) value { return pathValue{&c.Kubernetes.Kubeconfig} },
		},
		{
			name: "WATCH_NAMESPACE", help: "namespaces whose BareMetalHosts are watched, with commas; unset = all",
			value: func(c *Config) value { return namespacesValue{&c.Kubernetes.Watch} },
		},
		{
			name: "POD_NAMESPACE", help: "our own namespace, of the Lease and the ConfigMaps; unset = the service account's",
			value: func(c *Config) value { return objectValue{&c.Kubernetes.Namespace} },
		},
		{
			name: "POD_NAME", help: "our own name in the Lease and in Events; unset = the host name",
			value: func(c *Config) value { return objectValue{&c.Kubernetes.Identity} },
		},
		{
			name: nameEvents, def: "true", common: true, help: "hosts get Events that tell why they wait (with IRONIC_THROTTLE_KUBERNETES)",
			value: func(c *Config) value { return boolValue{&c.Kubernetes.Events} },
		},
		{
			name: nameEventRate, def: "300", help: "most Events a minute for all hosts together; each host gets at most one",
			value: func(c *Config) value { return intValue{&c.Kubernetes.EventsPerMinute, 1, 6000} },
		},
		{
			name: namePosition, def: "false", help: "waiting hosts carry their place in the annotation ironic-throttle.metal3.io/position",
			value: func(c *Config) value { return boolValue{&c.Kubernetes.AnnotatePosition} },
		},
		{
			name: nameElect, def: "false", help: "several replicas agree by a Lease on the one that decides; the others stand by",
			value: func(c *Config) value { return boolValue{&c.Kubernetes.Leader.Elect} },
		},
		{
			name: envPrefix + "LEADER_LEASE_NAME", def: "ironic-throttle", help: "name of that Lease",
			value: func(c *Config) value { return objectValue{&c.Kubernetes.Leader.LeaseName} },
		},
		{
			name: nameLeaseDuration, def: "15s", help: "a Lease that was not renewed for this long may be taken by another replica",
			value: duration(func(c *Config) *time.Duration { return &c.Kubernetes.Leader.Duration }),
		},
		{
			name: nameRenewDeadline, def: "10s", help: "a leader that could not renew its Lease for this long says no yes any more and ends; below IRONIC_THROTTLE_LEADER_LEASE_DURATION",
			value: duration(func(c *Config) *time.Duration { return &c.Kubernetes.Leader.RenewDeadline }),
		},
		{
			name: nameRetryPeriod, def: "1s", help: "pause between two tries to take or renew the Lease; 1.2 times of it are below IRONIC_THROTTLE_LEADER_RENEW_DEADLINE",
			value: duration(func(c *Config) *time.Duration { return &c.Kubernetes.Leader.RetryPeriod }),
		},
	}
	return rows
}

// checkKubernetes holds the rules between these settings.
func (l *loader) checkKubernetes() {
	k := l.config.Kubernetes
	if !k.On && l.sound(nameKubernetes) {
		if k.Leader.Elect && l.sound(nameElect) {
			l.between(nameElect, "true", "needs "+nameKubernetes+"=on")
		}
		if name := l.config.Holdoff.ConfigMap; name != "" && l.sound(nameHoldMap) {
			l.between(nameHoldMap, name, "needs "+nameKubernetes+"=on")
		}
	}
	if h := l.config.Holdoff; h.ConfigMap != "" && h.File != "" && l.sound(nameHoldMap, nameHoldFile) {
		l.between(nameHoldMap, h.ConfigMap, fmt.Sprintf("must not be set beside %s (%s): holds are kept in one place", nameHoldFile, l.source(nameHoldFile)))
	}
	e := k.Leader
	if l.sound(nameLeaseDuration) && (e.Duration < time.Second || e.Duration%time.Second != 0) {
		l.fault(&Fault{Setting: nameLeaseDuration, Value: short(e.Duration), Source: l.source(nameLeaseDuration), Rule: "must be whole seconds, as a Lease has them"})
	}
	if l.sound(nameRenewDeadline, nameLeaseDuration) && e.RenewDeadline >= e.Duration {
		l.between(nameRenewDeadline, short(e.RenewDeadline), fmt.Sprintf("must be below %s, which is %s (%s)",
			nameLeaseDuration, short(e.Duration), l.source(nameLeaseDuration)))
	}
	// What a leader said yes to before it knew that it leads no more must have begun when the
	// next one gives its first yes.
	if settle := l.config.Leases.StartupSettle; e.Elect && l.sound(nameElect, nameRenewDeadline, nameSettle) && e.RenewDeadline > settle {
		l.between(nameRenewDeadline, short(e.RenewDeadline), fmt.Sprintf("must be at most %s, which is %s (%s), with %s",
			nameSettle, short(settle), l.source(nameSettle), nameElect))
	}
	if h := l.config.Holdoff; e.Elect && h.File != "" && l.sound(nameElect, nameHoldFile) {
		l.between(nameHoldFile, h.File, "must not be set with "+nameElect+": another replica that becomes leader does not know its holds; "+nameHoldMap+" is for that")
	}
	if l.sound(nameRetryPeriod, nameRenewDeadline) && e.RetryPeriod*6/5 >= e.RenewDeadline {
		l.between(nameRetryPeriod, short(e.RetryPeriod), fmt.Sprintf("must be below %s / 1.2, which is %s (%s)",
			nameRenewDeadline, short(e.RenewDeadline), l.source(nameRenewDeadline)))
	}
}

// warnKubernetes tells of settings that do nothing without a cluster.
func (l *loader) warnKubernetes() {
	k := l.config.Kubernetes
	warn := func(format string, args ...any) { l.warnings = append(l.warnings, warnf(format, args...)) }
	if !l.sound(nameKubernetes) {
		return
	}
	if !k.On {
		idle := l.givenKubernetes(func(s setting) bool { return !s.shared() && s.name != nameKubernetes && s.name != nameElect })
		if len(idle) > 0 {
			warn("without %s=on nothing is read from or written to a cluster; without effect: %s", nameKubernetes, strings.Join(idle, ", "))
		}
		return
	}
	isLease := func(s setting) bool { return strings.HasPrefix(s.name, envPrefix+"LEADER_") && s.name != nameElect }
	if idle := l.givenKubernetes(isLease); len(idle) > 0 && !k.Leader.Elect && l.sound(nameElect) {
		warn("without %s=true there is no Lease, and this replica always decides; without effect: %s", nameElect, strings.Join(idle, ", "))
	}
	isRate := func(s setting) bool { return s.name == nameEventRate }
	if idle := l.givenKubernetes(isRate); len(idle) > 0 && !k.Events && l.sound(nameEvents) {
		warn("with %s=false (%s) there are no Events; without effect: %s", nameEvents, l.source(nameEvents), idle[0])
	}
}

// givenKubernetes names those of these settings that were given, and where.
func (l *loader) givenKubernetes(which func(setting) bool) []string {
	var given []string
	for _, s := range kubernetesRows() {
		if g, ok := l.from[s.name]; ok && g.text != "" && which(s) {
			given = append(given, fmt.Sprintf("%s (%s)", s.name, g.source))
		}
	}
	return given
}

// switchValue is on or off.
type switchValue struct{ p *bool }

func (v switchValue) set(text string) error {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "on", "true":
		*v.p = true
	case "off", "false":
		*v.p = false
	default:
		return must(v)
	}
	return nil
}

func (v switchValue) String() string {
	if *v.p {
		return "on"
	}
	return "off"
}
func (v switchValue) kind() string { return "word" }
func (v switchValue) rule() string { return "on or off" }

// namespacesValue is a list of namespaces.
type namespacesValue struct{ p *[]string }

func (v namespacesValue) set(text string) error {
	var all []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if !namespaceName.MatchString(name) {
			return ruleError(fmt.Sprintf("must be namespaces with commas between them, %s is none", quote(name)))
		}
		all = append(all, name)
	}
	slices.Sort(all)
	*v.p = slices.Compact(all)
	return nil
}
func (v namespacesValue) String() string { return strings.Join(*v.p, ",") }
func (v namespacesValue) kind() string   { return "list" }
func (v namespacesValue) rule() string   { return "namespaces with commas between them" }

// objectValue is the name of an object in the cluster.
type objectValue struct{ p *string }

func (v objectValue) set(text string) error {
	text = strings.TrimSpace(text)
	if text != "" && !objectName.MatchString(text) {
		return must(v)
	}
	*v.p = text
	return nil
}
func (v objectValue) String() string { return *v.p }
func (v objectValue) kind() string   { return "name" }
func (v objectValue) rule() string {
	return "a name of lower-case letters, digits, '-' and '.'"
}
