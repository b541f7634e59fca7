package config

import (
	"fmt"
	"time"
)

// turnRows decide whose turn it is (docs/spec/fair-share.md).
func turnRows() []setting {
	auto := func(field func(*Config) *int, min, max int) func(*Config) value {
		return func(c *Config) value { return autoInt{intValue{field(c), min, max}} }
	}
	duration := func(field func(*Config) *time.Duration, min time.Duration) func(*Config) value {
		return func(c *Config) value { return durationValue{p: field(c), min: min, max: time.Hour} }
	}
	return []setting{
		{
			name: envPrefix + "CALL_AHEAD", def: autoWord, hot: true, help: "hosts called beyond the free slots, so that a slot is taken soon; auto follows how often hosts ask",
			value: auto(func(c *Config) *int { return &c.Turns.Ahead }, 0, 4096),
		},
		{
			name: envPrefix + "OVERTAKE_BOUND", def: autoWord, hot: true, help: "how often a called host may be overtaken before a slot is kept for it; auto = max(20, limit, 2 x IRONIC_THROTTLE_CALL_AHEAD)",
			value: auto(func(c *Config) *int { return &c.Turns.Overtake }, 1, 1_000_000),
		},
		{
			name: envPrefix + "REDEEM_AFTER", def: "2s", hot: true, help: "slots idle for this long go to whoever of a called tenant asks; less where slots are held for under 20 minutes",
			value: duration(func(c *Config) *time.Duration { return &c.Turns.RedeemAfter }, time.Millisecond),
		},
		{
			name: envPrefix + "CLAIM_WINDOW", def: "3m", hot: true, help: "a host silent for this long is passed over until it asks again, as long as its gap between two asks is not known",
			value: duration(func(c *Config) *time.Duration { return &c.Turns.ClaimWindow }, 10*time.Second),
		},
		{
			name: envPrefix + "FAILING_THRESHOLD", def: "2", hot: true, help: "errors from which a host is failing",
			value: func(c *Config) value { return intValue{&c.Turns.FailingThreshold, 1, 9} },
		},
		{
			name: nameFailingCap, def: autoWord, hot: true, help: "slots that failing hosts may hold while others want them, at most the limit; auto = ceil(limit/4)",
			value: auto(func(c *Config) *int { return &c.Turns.FailingCap }, 1, maxLimit),
		},
		{
			name: nameReserve, def: autoWord, hot: true, help: "slots that failing hosts always leave free, below the limit; auto = ceil(limit/10), 0 for a limit of 1",
			value: auto(func(c *Config) *int { return &c.Turns.FailingReserve }, 0, maxLimit-1),
		},
		{
			name: envPrefix + "TENANT_WEIGHTS", defNote: "all 1", hot: true, pairs: "prod=3,dev=0.5", help: "shares of namespaces; one that is not listed has 1",
			value: func(c *Config) value { return weightsValue{&c.Turns.Weights} },
		},
	}
}

// failingCap is what t.FailingCap comes to with limit slots.
func (t Turns) failingCap(limit int) int {
	if t.FailingCap != Auto {
		return t.FailingCap
	}
	return (limit + 3) / 4
}

// failingReserve is what t.FailingReserve comes to with limit slots.
func (t Turns) failingReserve(limit int) int {
	switch {
	case t.FailingReserve != Auto:
		return t.FailingReserve
	case limit == 1:
		return 0
	}
	return (limit + 9) / 10
}

// checkFailing holds both bounds of failing hosts, by themselves and together,
// within the limit (F-4).
func (l *loader) checkFailing() {
	if !l.sound(nameFailingCap, nameReserve) {
		return
	}
	limit, turns := l.config.Limits.Total, l.config.Turns
	most, reserve := turns.failingCap(limit), turns.failingReserve(limit)
	alone := false
	if most > limit {
		alone = true
		l.between(nameFailingCap, fmt.Sprint(most), l.withinLimit())
	}
	if reserve >= limit {
		alone = true
		l.between(nameReserve, fmt.Sprint(reserve), fmt.Sprintf("must be below %s", l.limitText()))
	}
	if !alone && limit > 1 && most+reserve > limit {
		l.between(nameFailingCap, fmt.Sprint(most), fmt.Sprintf("must be, with %s, which is %d (%s), at most %s",
			nameReserve, reserve, l.source(nameReserve), l.limitText()))
	}
}
