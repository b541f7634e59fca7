package config

import (
	"math"
	"slices"
	"time"
)

// Names that more than their row speaks of.
const (
	nameLimit        = "MAX_CONCURRENT_PROVISIONING_HOSTS"
	nameConcurrency  = "BMO_CONCURRENCY"
	nameConfig       = envPrefix + "CONFIG"
	namePoolLimits   = envPrefix + "POOL_LIMITS"
	namePollInterval = envPrefix + "POLL_INTERVAL"
	nameLeaseTTL     = envPrefix + "LEASE_TTL"
	nameLinger       = envPrefix + "LINGER"
	nameMode         = envPrefix + "MODE"
)

// bmoLimit is BMO's own limit of hosts at work. The throttle may share a ConfigMap with BMO: so the variable is there, and
// says nothing about slots.
const bmoLimit = "PROVISIONING_LIMIT"

// table lists every setting, in the order of help and docs. A row added here is
// everywhere, and needs a field of Config with its key as tag.
var table = slices.Concat(limitRows, turnRows, stormRows, serveRows, kubernetesRows, disruptionRows, ironicRows)

var limitRows = []setting{
	{name: nameConfig, noFile: true, common: true, basic: true, rule: filePath, help: "config file (.yaml, .yml, .json or .toml)"},
	{name: nameMode, def: "enforce", hot: true, common: true, basic: true, rule: oneOf(Enforce, Observe),
		help: "enforce refuses; observe says yes and counts what it would have refused"},
	{name: envPrefix + "LOG_LEVEL", def: "info", common: true, basic: true, rule: oneOf("debug", "info", "warn", "error"),
		help: "least severe level that is logged"},
	{name: envPrefix + "LOG_FORMAT", def: "text", common: true, rule: oneOf("text", "json"), help: "format of the log on stderr"},
	{name: nameLimit, def: "20", hot: true, basic: true, rule: whole(1, maxLimit), help: "slots: hosts that may work at once"},
	{name: envPrefix + "LIMIT_MODE", def: "fixed", basic: true, rule: oneOf(LimitFixed, LimitAdaptive),
		help: "fixed: the limit is as it is set; adaptive: what is set is the highest one, and the throttle finds the limit below it from how boots go"},
	{name: nameConcurrency, lenient: true, rule: whole(1, math.MaxInt),
		help: "BMO's workers: compared with the limit; unset with " +
			"IRONIC_THROTTLE_KUBERNETES=on: as BMO's Deployment says"},
	{name: namePoolLimits, hot: true, pairs: "rack1=8,rack2=12", basic: true, rule: poolPairs,
		help: "slots of conductor groups, each within the total"},
	{name: envPrefix + "VIRTUAL_MEDIA_LIMIT", second: envPrefix + "EXEMPT_VIRTUAL_MEDIA", def: "exempt", hot: true, rule: mediaRule,
		help: "virtual-media hosts: exempt = not limited, counted = they take slots like all others, a number = that many slots of " +
			"their own, beside the total"},
	{name: envPrefix + "COUNT_MODE", def: "agent", rule: oneOf(CountAgent, CountBusy),
		help: "which busy nodes take a slot: agent = those with agent_url and our own, busy = all"},
	{name: envPrefix + "COUNT_EXTRA_STATES", def: "false", rule: yesNo,
		help: "servicing, service wait and the hold states count as busy too"},
	{name: envPrefix + "STUCK_AFTER", def: "90m", rule: spanOrNever(time.Second, 30*day),
		help: "a host that does not move for this long is written off"},
	{name: namePollInterval, def: "5s", common: true, rule: span(time.Second, time.Minute), help: "time between two polls of Ironic"},
	{name: nameLeaseTTL, def: "5m", rule: span(time.Second, day),
		help: "a granted host that never gets busy gives its slot back after this; at least 2 x IRONIC_THROTTLE_POLL_INTERVAL"},
	{name: nameLinger, def: "45s", rule: span(time.Millisecond, day), help: "a host between two phases keeps its slot this long"},
}

// turnRows decide whose turn it is (docs/behaviour.md).
var turnRows = []setting{
	{name: envPrefix + "TENANT_WEIGHTS", defNote: "all 1", hot: true, pairs: "prod=3,dev=0.5", rule: weightPairs,
		help: "shares of namespaces; one that is not listed has 1"},
}
