package config

import (
	"errors"
	"fmt"
)

// Load reads all sources, checks everything and returns the configuration, or
// every fault that it found, each a *Fault, joined. Warnings stop nothing; they
// are returned with an error too (LH-1, LH-18, LH-20, LH-32).
func Load(src Sources) (Config, []Warning, error) {
	l := &loader{rows: table(), config: Default(), from: map[string]given{}, broken: map[string]bool{}}
	l.gather(src)
	l.parse()
	l.limitAlias()
	l.warnUnprefixed(src)
	l.checkRules()
	l.warnLimits()
	l.warnHoldoff()
	l.warnGateway(src.Exists)
	l.warnKubernetes()
	l.warnAccess()
	if len(l.faults) > 0 {
		return Config{}, l.warnings, errors.Join(l.faults...)
	}
	return l.config, l.warnings, nil
}

// loader is one run of Load.
type loader struct {
	rows   []setting
	config Config

	from   map[string]given // the winning value of each setting that was given
	broken map[string]bool  // settings whose own value is at fault

	warnings []Warning
	faults   []error
}

func (l *loader) fault(f *Fault) {
	l.broken[f.Setting] = true
	l.faults = append(l.faults, f)
}

// gather finds the winning value of each setting: flag, environment, file.
func (l *loader) gather(src Sources) {
	flags := fromFlags(l.rows, src.Flags)
	env, faults := fromEnviron(l.rows, src.Environ)
	l.faults = append(l.faults, faults...)

	layers := []layer{env, flags}
	path, named := flags[nameConfig]
	if !named {
		path, named = env[nameConfig]
	}
	if named && path.text != "" {
		file, sum, faults := fromFile(l.rows, path.text, src.ReadFile)
		l.config.FileSum = sum
		l.faults = append(l.faults, faults...)
		layers = []layer{file, env, flags}
	}
	for _, lay := range layers {
		for name, g := range lay {
			l.from[name] = g
		}
	}
}

// parse reads each given value by the rule of its own row.
func (l *loader) parse() {
	for _, s := range l.rows {
		g, ok := l.from[s.name]
		if !ok || s.name == nameLimitAlias {
			continue
		}
		l.parseOne(s, g)
	}
}

func (l *loader) parseOne(s setting, g given) {
	v := s.value(&l.config)
	err := v.set(g.text)
	switch {
	case err == nil:
	case s.lenient:
		l.warnings = append(l.warnings, warnf("%s=%s (%s) ignored: %v", s.name, quote(g.text), g.source, err))
	default:
		text := g.text
		if s.name == nameEndpoint {
			text = maskURL(text)
		}
		l.fault(&Fault{Setting: s.name, Value: text, Source: g.source, Rule: err.Error()})
	}
}

// limitAlias reads PROVISIONING_LIMIT where our own name is not given, and
// tells when both are and differ: then our own name counts (LH-1).
func (l *loader) limitAlias() {
	g, ok := l.from[nameLimitAlias]
	if !ok {
		return
	}
	own, both := l.from[nameLimit]
	limit := l.config.Limits.Total
	for _, s := range l.rows {
		if s.name == nameLimitAlias {
			l.parseOne(s, g)
		}
	}
	if !both {
		return
	}
	alias := l.config.Limits.Total
	l.config.Limits.Total = limit
	if alias != limit && !l.broken[nameLimit] && !l.broken[nameLimitAlias] {
		l.warnings = append(l.warnings, warnf("%s=%d (%s) and %s=%d (%s) differ: %d slots, the first one counts",
			nameLimit, limit, own.source, nameLimitAlias, alias, g.source, limit))
	}
}

// source tells where the value of a setting came from.
func (l *loader) source(name string) string {
	if g, ok := l.from[name]; ok {
		return g.source
	}
	return "default"
}

// warnLimits compares the limit with what BMO and Ironic do by themselves.
func (l *loader) warnLimits() {
	if l.broken[nameLimit] || l.broken[nameLimitAlias] {
		return
	}
	limit, workers := l.config.Limits.Total, l.config.BMOConcurrency
	if workers > limit {
		l.warnings = append(l.warnings, warnf("%s=%d is greater than the limit of %d: more workers than slots",
			nameConcurrency, workers, limit))
	}
	if ironic := ironicCap(limit); ironic != "" {
		l.warnings = append(l.warnings, warnf("the limit of %d is greater than Ironic's own default %s: Ironic refuses what is above it",
			limit, ironic))
	}
}

// Ironic's defaults of [conductor]max_concurrent_deploy and _clean, in nodes.
const (
	ironicDeploys = 250
	ironicCleans  = 50
)

func ironicCap(limit int) string {
	switch {
	case limit > ironicDeploys:
		return fmt.Sprintf("max_concurrent_deploy=%d and max_concurrent_clean=%d", ironicDeploys, ironicCleans)
	case limit > ironicCleans:
		return fmt.Sprintf("max_concurrent_clean=%d", ironicCleans)
	}
	return ""
}
