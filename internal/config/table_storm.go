package config

import "time"

// Names that more than their row speaks of.
const (
	nameHoldoff    = envPrefix + "FAILED_HOST_HOLDOFF"
	nameHoldStage  = envPrefix + "HOLDOFF_STAGE"
	nameHoldGrowth = envPrefix + "HOLDOFF_GROWTH"
	nameHoldHosts  = envPrefix + "HOLDOFF_HOSTS"
	nameHoldFile   = envPrefix + "HOLDOFF_FILE"
	nameHoldMap    = envPrefix + "HOLDOFF_CONFIGMAP"
)

// stormRows are the settings of the hold-off and of the breaker.
var stormRows = []setting{
	{name: nameHoldoff, hot: true, basic: true, rule: holdTime,
		help: "a failed host is left alone for this long before it is tried again; unset or 0 = not at all"},
	{name: nameHoldStage, def: "retry", hot: true, rule: oneOf(HoldRetry, HoldRemediate),
		help: "what is held: retry = the next try, remediate = BMO's deprovisioning before it too"},
	{name: nameHoldGrowth, def: "1", hot: true, rule: decimalWithin(1, 10),
		help: "each further failure in a row is held this many times as long"},
	{name: nameHoldHosts, hot: true, pairs: "metal3/worker-1=48h,metal3/lab=0", rule: hostPairs,
		help: "holds of single hosts, by namespace/name or namespace~name; 0 = never"},
	{name: nameHoldFile, basic: true, rule: filePath, help: "file that keeps the holds through a restart; unset = they are lost"},
	{name: nameHoldMap, rule: kubeName,
		help: "ConfigMap that keeps the holds instead of a file, for several replicas (with IRONIC_THROTTLE_LEADER_ELECT)"},
	{name: envPrefix + "MAX_FAILED", def: "100%", hot: true, rule: failedQuota,
		help: "failed or held hosts of a conductor group from which it is paused when there are more"},
	{name: envPrefix + "BREAKER_ENABLED", def: "true", basic: true, rule: yesNo, help: "many failures stop new hosts for a while"},
	{name: envPrefix + "BREAKER_THRESHOLD", def: "10", basic: true, rule: whole(2, 1000),
		help: "failures of different hosts that open the breaker of the whole Ironic"},
	{name: envPrefix + "BREAKER_RECOVERY_TIMEOUT", def: "15m", rule: span(time.Millisecond, 30*day),
		help: "an open breaker lets the first probes through after this"},
	{name: envPrefix + "BREAKER_RATE_LIMIT_PER_MINUTE", def: "0", rule: whole(0, 10_000),
		help: "hosts that may start within any 60 s; 0 = no limit"},
}
