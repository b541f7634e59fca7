package config

import "time"

const nameDisruption = envPrefix + "DISRUPTION"

// disruptionRows say how planned work is planned (docs/planned-work.md).
var disruptionRows = []setting{
	{name: nameDisruption, def: string(DisruptionOff), basic: true, rule: oneOf(DisruptionOff, DisruptionPlan, DisruptionExecute),
		help: "planned work: off; plan = say which hosts could be released or provisioned again, and change nothing; execute = do it too, " +
			"in pools whose annotation allows it (with IRONIC_THROTTLE_KUBERNETES)"},
	{name: nameDisruption + "_CONSOLIDATE_AFTER", def: neverWord, hot: true, rule: spanOrNeverWord(0),
		help: "a host is empty or under-used when for this long no pod has come to its node or gone"},
	{name: nameDisruption + "_BUDGETS", def: "10%,ready:1", hot: true, rule: budgetRule,
		help: "hosts of each pool that planned work may have out of service at once, and how many stay ready; the smallest budget counts"},
	{name: nameDisruption + "_TARIFF", hot: true, rule: tariffRule,
		help: "price of a kWh, in any currency; unset = watts have no price, and only leases are saved"},
}

// maxPlanned is the longest time that planned work can be told to look ahead or wait.
const maxPlanned = 10 * 366 * day

func spanOrNeverWord(min time.Duration) rule {
	r := span(min, maxPlanned)
	return is(r.kind, r.text+", or "+neverWord, func(s longSpan) bool { return s == Never || r.holds(time.Duration(s)) })
}

// Rules of planned work; what the type of the budgets reads has kept its own.
var (
	budgetRule = always[budgetText]("list", "whole percentages or numbers of hosts such as 10%,3,ready:2, or a JSON list of budgets such as "+
		`[{"nodes":"10%"},{"minReady":"2"},{"nodes":"0","schedule":"0 8 * * 1-5","duration":"10h","reasons":["Underutilized"]}]`)
	tariffRule = is("price", "a number 0..1000000000 without sign or exponent, such as 0.28", aPrice)
)
