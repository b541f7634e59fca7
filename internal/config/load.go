package config

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// Load reads all sources, checks everything and returns the configuration, or
// every fault that it found, each a *Fault, joined. Warnings stop nothing; they
// are returned with an error too.
func Load(src Sources) (Config, []Warning, error) {
	l := newLoader(src.Flags)
	l.merge(l.text(nameConfig), src.ReadFile)
	l.decode()
	l.config.derive()
	l.config.Kubernetes.findPod()
	l.checkNames(os.Environ())
	l.checkRules()
	l.warnLimits()
	l.warnHoldoff()
	l.warnGateway(src.Exists)
	l.warnKubernetes()
	l.warnAccess()
	l.warnDisruption()
	if len(l.faults) > 0 {
		return Config{}, l.warnings, errors.Join(l.faults...)
	}
	return l.config, l.warnings, nil
}

// loader is one run of Load.
type loader struct {
	v      *viper.Viper
	config Config

	from   map[string]string // where each setting was given
	broken map[string]bool   // settings whose own value is at fault

	warnings []Warning
	faults   []error
}

func newLoader(flags *pflag.FlagSet) *loader {
	l := &loader{v: viper.New(), config: Default(), from: map[string]string{}, broken: map[string]bool{}}
	l.bind(flags)
	return l
}

// fault adds what is wrong with one setting.
func (l *loader) fault(name, value, source, rule string, args ...any) {
	l.faults = append(l.faults, &Fault{Setting: name, Value: value, Source: source, Rule: fmt.Sprintf(rule, args...)})
}

func (l *loader) warnf(format string, args ...any) {
	l.warnings = append(l.warnings, Warning(fmt.Sprintf(format, args...)))
}

// decode makes a Config of what viper has read, and holds each given value against the
// rule of its own row.
func (l *loader) decode() {
	wrong := unmarshal(l.v, &l.config)
	values := l.config.values()
	for _, s := range table {
		err := wrong[s.key()]
		if !l.given(s.name) || err == nil && s.rule.holds(values[s.key()]) {
			continue
		}
		own := ruleError("must be " + s.rule.text)
		_ = errors.As(err, &own) // says more, where there is one
		text := s.shown(l.text(s.name))
		if s.lenient {
			l.warnf("%s=%s (%s) ignored: %v", s.name, quote(text), l.source(s.name), own)
			continue
		}
		l.broken[s.name] = true
		l.fault(s.name, text, l.source(s.name), "%v", own)
	}
	if l.config.BMOConcurrency < 0 {
		l.config.BMOConcurrency = 0 // ignored, as was said
	}
}

// warnLimits compares the limit with what BMO and Ironic do by themselves.
func (l *loader) warnLimits() {
	if !l.sound(nameLimit) {
		return
	}
	limit, workers := l.config.Limits.Total, l.config.BMOConcurrency
	if text := os.Getenv(bmoLimit); text != "" && text != strconv.Itoa(limit) {
		l.warnf("%s=%s (environment) is a limit of BMO's own, which the throttle does not read; its limit is %s=%d (%s)",
			bmoLimit, quote(text), nameLimit, limit, l.source(nameLimit))
	}
	if workers > limit {
		l.warnf("%s", TooManyWorkers(workers, limit))
	}
	if ironic := ironicCap(limit); ironic != "" {
		l.warnf("the limit of %d is greater than Ironic's own default %s: Ironic refuses what is above it", limit, ironic)
	}
}

// TooManyWorkers says that BMO has more workers than there are slots.
func TooManyWorkers(workers, limit int) string {
	return fmt.Sprintf("%s=%d is greater than the limit of %d: more workers than slots", nameConcurrency, workers, limit)
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
