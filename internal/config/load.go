package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/ironic-throttle/ironic-throttle/internal/plainfile"
)

// Sources is what Load looks at beside the environment of the process.
type Sources struct {
	// Flags were registered with AddFlags and parsed; nil means none given.
	Flags *pflag.FlagSet
	// ReadFile reads the config file; nil reads from disk, at most 1 MiB.
	ReadFile func(path string) ([]byte, error)
	// Exists tells whether something lies at the path of a setting, which decides
	// about a warning; nil looks on disk.
	Exists func(path string) bool
}

func (src Sources) read(path string) ([]byte, error) {
	if src.ReadFile != nil {
		return src.ReadFile(path)
	}
	const longest = 1 << 20
	return plainfile.Read(path, longest)
}

func (src Sources) exists(path string) bool {
	if src.Exists != nil {
		return src.Exists(path)
	}
	_, err := os.Stat(path)
	return err == nil
}

// Load reads all sources, checks everything and returns the configuration, or
// every fault that it found, each a *Fault, joined. Warnings stop nothing; they
// are returned with an error too.
func Load(src Sources) (Config, []Warning, error) {
	l := &loader{v: viper.New(), config: Default(), from: map[string]string{}, broken: map[string]bool{}}
	l.bind(src.Flags)
	l.readFile(l.v.GetString("config"), src)
	l.decode()
	l.config.derive()
	l.config.Kubernetes.findPod()
	l.checkNames(os.Environ())
	l.check(src)
	if len(l.faults) > 0 {
		return Config{}, l.warnings, errors.Join(l.faults...)
	}
	return l.config, l.warnings, nil
}

// loader is one run of Load.
type loader struct {
	v      *viper.Viper
	config Config

	from   map[string]string // where each setting was given, by key
	broken map[string]bool   // settings whose own value is at fault, by key

	warnings []Warning
	faults   []error
}

// bind lets viper read the flags that were given, and the environment; there an empty
// value is an unset one, as BMO has it.
func (l *loader) bind(flags *pflag.FlagSet) {
	for _, s := range settings {
		_ = l.v.BindEnv(append([]string{s.key}, s.names...)...) // fails without a key
		isGiven := func(name string) bool { return os.Getenv(name) != "" }
		if i := slices.IndexFunc(s.names, isGiven); i == 0 {
			l.from[s.key] = "environment"
		} else if i > 0 {
			l.from[s.key] = "environment, as " + s.names[i]
		}
		if flags == nil {
			continue
		}
		if f := flags.Lookup(s.flag()); f != nil && f.Changed {
			_ = l.v.BindPFlag(s.key, f) // fails without a flag
			l.from[s.key] = "flag --" + s.flag()
		}
	}
}

// decode reads each value that was given. One that breaks its rule leaves the default, and is told.
func (l *loader) decode() {
	for _, s := range settings {
		if !l.given(s.key) || l.broken[s.key] {
			continue
		}
		text := l.v.GetString(s.key)
		value, err := s.read(text)
		switch {
		case err == nil:
			s.field(&l.config).Set(value)
		case s.lenient:
			l.warnf("%s=%s (%s) ignored: %v", s.name(), quote(s.shown(text)), l.source(s.key), err)
		default:
			l.broken[s.key] = true
			l.fault(s.name(), s.shown(text), l.source(s.key), "%v", err)
		}
	}
}

// fault adds what is wrong with one setting.
func (l *loader) fault(name, value, source, rule string, args ...any) {
	l.faults = append(l.faults, &Fault{Setting: name, Value: value, Source: source, Rule: fmt.Sprintf(rule, args...)})
}

func (l *loader) warnf(format string, args ...any) {
	l.warnings = append(l.warnings, Warning(fmt.Sprintf(format, args...)))
}

// source tells where the value of a setting came from.
func (l *loader) source(key string) string { return cmp.Or(l.from[key], "default") }

// given reports whether somebody gave the setting.
func (l *loader) given(key string) bool { return l.from[key] != "" }

// Reload loads src again and returns what is to be in force from now on: c with
// the settings that may change while running (see docs/settings.md) taken from
// src. Others that changed are named in a warning and stay. With an error c is
// returned unchanged: a broken file changes nothing.
func (c Config) Reload(src Sources) (Config, []Warning, error) {
	loaded, warnings, err := Load(src)
	if err != nil {
		return c, warnings, err
	}
	next := c
	next.FileSum = loaded.FileSum
	for _, s := range settings {
		was, is := s.text(c), s.text(loaded)
		// A new password leaves the masked text as it was.
		changed := was != is || s.key == "ironicEndpoint" && c.Ironic.Endpoint != loaded.Ironic.Endpoint
		switch {
		case !s.restart:
			s.field(&next).Set(s.field(&loaded))
		case changed:
			warnings = append(warnings, Warning(fmt.Sprintf(
				"%s changed from %s to %s: needs a restart, %s stays in force", s.name(), quote(was), quote(is), quote(was))))
		}
	}
	next.derive()
	return next, warnings, nil
}
