package config

import (
	"fmt"
	"time"
)

// Names of the hold-off's settings that more than their row speaks of.
const (
	nameHoldoff       = envPrefix + "FAILED_HOST_HOLDOFF"
	nameHoldStage     = envPrefix + "HOLDOFF_STAGE"
	nameHoldGrowth    = envPrefix + "HOLDOFF_GROWTH"
	nameHoldGrowthCap = envPrefix + "HOLDOFF_GROWTH_CAP"
	nameHoldHosts     = envPrefix + "HOLDOFF_HOSTS"
	nameHoldFile      = envPrefix + "HOLDOFF_FILE"
)

// HoldStage says what of a failed host is held (BO-8).
type HoldStage string

// The stages.
const (
	HoldRetry     HoldStage = "retry"     // the next inspection or provisioning
	HoldRemediate HoldStage = "remediate" // the automatic deprovisioning before it too
)

// Holdoff says for how long failed hosts are left alone for a human to look at
// (docs/spec/hold-off.md).
type Holdoff struct {
	Timeout time.Duration // from the failure on; 0 = no host is held but those of Hosts (BO-1)
	Stage   HoldStage
	// Growth, 1..10, is the factor by which the hold of each further failure in a
	// row is longer; 1 = it is not. GrowthCap ends that, and shortens nothing (BO-5).
	Growth    float64
	GrowthCap time.Duration
	// Hosts have a time of their own, by namespace/name; 0 = never held.
	Hosts map[string]time.Duration
	// File keeps the holds through a restart; "" = they are in memory only (BO-16).
	File string
	// ConfigMap is the name that the ConfigMaps begin with which keep the holds where there
	// are several replicas; "" = none. It excludes File.
	ConfigMap string
	// MaxFailed hosts of a pool may have failed, or it is paused: a whole number or
	// percentage, "3" or "40%"; "100%" = never paused (BO-14).
	MaxFailed string
}

// anywhere reports whether any host could be held.
func (h Holdoff) anywhere() bool {
	for _, d := range h.Hosts {
		if d > 0 {
			return true
		}
	}
	return h.Timeout > 0
}

// holdoffRows are the settings of the hold-off (BO-13, BO-14).
func holdoffRows() []setting {
	return []setting{
		{
			name: nameHoldoff, hot: true, help: "a failed host is left alone for this long before it is tried again; unset or 0 = not at all",
			value: func(c *Config) value { return holdValue{&c.Holdoff.Timeout} },
		},
		{
			name: nameHoldStage, def: string(HoldRetry), hot: true, help: "what is held: retry = the next try, remediate = BMO's deprovisioning before it too",
			value: func(c *Config) value {
				return wordValue[HoldStage]{&c.Holdoff.Stage, []HoldStage{HoldRetry, HoldRemediate}}
			},
		},
		{
			name: nameHoldGrowth, def: "1", hot: true, help: "each further failure in a row is held this many times as long",
			value: func(c *Config) value { return numberValue{&c.Holdoff.Growth, 1, 10} },
		},
		{
			name: nameHoldGrowthCap, def: "48h", hot: true, help: "longest hold that IRONIC_THROTTLE_HOLDOFF_GROWTH makes",
			value: func(c *Config) value { return holdValue{&c.Holdoff.GrowthCap} },
		},
		{
			name: nameHoldHosts, hot: true, pairs: "metal3/worker-1=48h,metal3/lab=0", help: "holds of single hosts, by namespace/name; 0 = never",
			value: func(c *Config) value { return hostHoldsValue{&c.Holdoff.Hosts} },
		},
		{
			name: nameHoldFile, help: "file that keeps the holds through a restart; unset = they are lost",
			value: func(c *Config) value { return pathValue{&c.Holdoff.File} },
		},
		{
			name: nameHoldMap, help: "ConfigMaps that keep the holds instead of a file, for several replicas: the name that they begin with (with IRONIC_THROTTLE_KUBERNETES)",
			value: func(c *Config) value { return objectValue{&c.Holdoff.ConfigMap} },
		},
		{
			name: envPrefix + "MAX_FAILED", def: "100%", hot: true, help: "failed or held hosts of a conductor group from which it is paused when there are more",
			value: func(c *Config) value { return quotaValue{&c.Holdoff.MaxFailed} },
		},
	}
}

// warnHoldoff tells of holds that a restart would end, and of settings that do
// nothing as the others are.
func (l *loader) warnHoldoff() {
	h := l.config.Holdoff
	if !l.sound(nameHoldoff, nameHoldHosts) {
		return
	}
	warn := func(format string, args ...any) { l.warnings = append(l.warnings, warnf(format, args...)) }
	if !h.anywhere() {
		for _, name := range []string{nameHoldStage, nameHoldGrowth} {
			if g, ok := l.from[name]; ok && l.sound(name) {
				warn("%s=%s (%s) is without effect: no host is held without %s", name, quote(g.text), g.source, nameHoldoff)
			}
		}
		return
	}
	if h.File == "" && h.ConfigMap == "" && l.sound(nameHoldFile, nameHoldMap) {
		warn("failed hosts are held and neither %s nor %s is set: a restart ends or lengthens their holds", nameHoldFile, nameHoldMap)
	}
	if l.sound(nameHoldGrowth, nameHoldGrowthCap) && h.Growth > 1 && h.Timeout >= h.GrowthCap {
		warn("%s=%v (%s) is without effect on %s, which is %s (%s): that is not below %s, %s (%s)",
			nameHoldGrowth, h.Growth, l.source(nameHoldGrowth), nameHoldoff, short(h.Timeout), l.source(nameHoldoff),
			nameHoldGrowthCap, short(h.GrowthCap), l.source(nameHoldGrowthCap))
	}
}

// holdValue is the length of a hold. There is no longest one (BO-13).
type holdValue struct{ p *time.Duration }

func (v holdValue) set(text string) error {
	d, err := HoldLength(text)
	if err == nil {
		*v.p = d
	}
	return err
}
func (v holdValue) String() string { return short(*v.p) }
func (v holdValue) kind() string   { return "duration" }
func (v holdValue) rule() string {
	return fmt.Sprintf("a duration with its unit, such as %s, or 0", holdExample)
}

const holdExample = "48h or 1.5h"
