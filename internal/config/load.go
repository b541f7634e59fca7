package config

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"

	"github.com/ironic-throttle/ironic-throttle/internal/nearest"
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

// filled is src without gaps.
func (src Sources) filled() Sources {
	if src.Flags = cmp.Or(src.Flags, &pflag.FlagSet{}); src.ReadFile == nil {
		src.ReadFile = func(path string) ([]byte, error) { return plainfile.Read(path, 1<<20) }
	}
	if src.Exists == nil {
		src.Exists = func(path string) bool { _, err := os.Stat(path); return err == nil }
	}
	return src
}

// loader is one run of Load.
type loader struct {
	Sources
	v        *viper.Viper
	config   Config
	from     map[string]string // where each setting was given, by key
	broken   map[string]bool   // settings whose own value is at fault, by key
	warnings []string
	faults   []error
}

// Load reads all sources, checks everything and returns the configuration, or every fault that it found, joined: each
// names setting, value, source and rule. Warnings stop nothing; they are returned with an error too.
func Load(src Sources) (Config, []string, error) {
	l := &loader{src.filled(), viper.New(), Default(), map[string]string{}, map[string]bool{}, nil, nil}
	l.bind()
	l.readFile()
	l.decode()
	l.config.derive()
	l.checkNames()
	l.check()
	if len(l.faults) > 0 {
		return Config{}, l.warnings, errors.Join(l.faults...)
	}
	return l.config, l.warnings, nil
}

// bind lets viper read the flags that were given, and the environment; there an empty
// value is an unset one, as BMO has it.
func (l *loader) bind() {
	for _, s := range settings {
		l.v.SetDefault(s.key, s.def)
		l.from[s.key] = "default"
		_ = l.v.BindEnv(append([]string{s.key}, s.names...)...) // fails without a key
		switch i := slices.IndexFunc(s.names, func(name string) bool { return os.Getenv(name) != "" }); {
		case i == 0:
			l.from[s.key] = "environment"
		case i > 0:
			l.from[s.key] = "environment, as " + s.names[i]
		}
		if f := l.Flags.Lookup(s.flag()); f != nil && f.Changed {
			_ = l.v.BindPFlag(s.key, f) // fails without a flag
			l.from[s.key] = "flag --" + s.flag()
		}
	}
}

// readFile gives viper what is in the config file, where one is named; flag and environment win over it. viper's own
// readers fold the case of keys, let a doubled key win, and read 010 as eight, which it is not in the environment. A
// file can hold a password, so no fault repeats what is in it and no setting.
func (l *loader) readFile() {
	path := l.v.GetString("config")
	if path == "" {
		return
	}
	body, err := l.ReadFile(path)
	l.config.FileText = string(body)
	pairs, bad := parse(body)
	if err = cmp.Or(err, bad); err != nil {
		l.fault("config", path, "cannot be read: "+err.Error())
	}
	var keys []string
	for _, s := range settings[1:] { // the first is the path of the file
		keys = append(keys, s.key)
	}
	lines := map[string]int{}
	for pair := range slices.Chunk(pairs, 2) {
		key, line := pair[0].Value, pair[0].Line
		source := fmt.Sprintf("file %s, line %d", path, line)
		switch {
		case lines[key] > 0: // the second value would silently win
			l.wrong(strconv.Quote(key), source, fmt.Sprintf("must come once, and is in line %d too", lines[key]))
		case !slices.Contains(keys, key):
			says := "is not a setting"
			if near, away := nearest.Word(key, keys); away <= len(key)/2 {
				says += "; did you mean " + near + "?"
			}
			l.wrong(strconv.Quote(key), source, says)
		default:
			l.take(named(key), pair[1], source)
		}
		lines[key] = line
	}
}

// parse reads a file into the keys and values of a table; JSON is YAML too.
func parse(body []byte) ([]*yaml.Node, error) {
	var doc yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(body))
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF): // nothing, or comments alone
		return nil, nil
	case err != nil:
		return nil, err
	case doc.Content[0].Kind != yaml.MappingNode && doc.Content[0].ShortTag() != "!!null":
		return nil, errors.New("it must be a table of settings, key: value")
	case !errors.Is(d.Decode(new(yaml.Node)), io.EOF):
		return nil, errors.New("it must hold one YAML document")
	}
	return doc.Content[0].Content, nil
}

// take gives viper the text of a value, as it stands in the file.
func (l *loader) take(s setting, value *yaml.Node, source string) {
	var text string
	must, err := "must be a single value, not a list or a table: "+s.rule.must, value.Decode(&text)
	if err != nil && s.Type.Kind() == reflect.Map {
		must = "must be " + s.rule.must + "; or a table of such pairs"
		text, err = pairsOf(value)
	}
	if err != nil {
		l.broken[s.key] = true
		l.wrong(s.names[0], source, must)
	} else if text != "" && l.from[s.key] == "default" {
		l.from[s.key] = source
		_ = l.v.MergeConfigMap(map[string]any{s.key: text}) // never fails
	}
}

// pairsOf are the name=value pairs of a table. None of its texts may be more than one pair.
func pairsOf(n *yaml.Node) (string, error) {
	n = cmp.Or(n.Alias, n)
	if n.Kind != yaml.MappingNode {
		return "", errors.New("not a table")
	}
	var all []string
	for pair := range slices.Chunk(n.Content, 2) {
		var name, value string
		err := errors.Join(pair[0].Decode(&name), pair[1].Decode(&value))
		if err != nil || strings.ContainsAny(name+value, "=,") {
			return "", errors.New("not a pair")
		}
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return strings.Join(all, ","), nil
}

// decode reads each value. One that breaks its rule leaves the default, and is told.
func (l *loader) decode() {
	for _, s := range settings {
		text := l.v.GetString(s.key)
		switch err := s.set(&l.config, text); {
		case err == nil:
		case s.has("lenient"):
			l.warnings = append(l.warnings, fmt.Sprintf("%s=%.100q (%s) ignored: %v", s.names[0], text, l.from[s.key], err))
		default:
			l.fault(s.key, s.shown(text), err.Error())
		}
	}
}

// fault tells what is wrong with the value of a setting, "" where it has none.
func (l *loader) fault(key, value, rule string) {
	what, source := named(key).names[0], l.from[key]
	if value != "" {
		what += fmt.Sprintf("=%.100q", value)
	} else if source == "default" {
		source = "unset"
	}
	l.broken[key] = true
	l.wrong(what, source, rule)
}

func (l *loader) wrong(what, source, rule string) {
	l.faults = append(l.faults, fmt.Errorf("%s (%s): %s", what, source, rule))
}

// Reload loads src again and returns what is to be in force from now on: c with the settings that may change while
// running taken from src. Others that changed are named in a warning and stay. With an error c is returned unchanged: a
// broken file changes nothing.
func (c Config) Reload(src Sources) (Config, []string, error) {
	loaded, warnings, err := Load(src)
	if err != nil {
		return c, warnings, err
	}
	next := c
	next.FileText = loaded.FileText
	for _, s := range settings {
		was, is := s.field(&next), s.field(&loaded)
		if !s.has("restart") {
			was.Set(is)
		} else if !reflect.DeepEqual(was.Interface(), is.Interface()) { // a new password looks the same
			warnings = append(warnings, fmt.Sprintf("%s changed from %q to %q: needs a restart, %[2]q stays in force",
				s.names[0], s.text(c), s.text(loaded)))
		}
	}
	next.derive()
	return next, warnings, nil
}

// watchEvery is how often Watch reads the file. viper's own watch ends the process where inotify has no
// instance left, takes files that are half written, and cannot be stopped.
const watchEvery = 5 * time.Second

// Watch reads the config file every 5 s until ctx ends and calls apply, one call after the other, for each content that
// differs from the one before, the first time from the one that c was read from. A content counts when two reads in a
// row have found it, so that a file that is just being written does not. With an error c is what was in force before.
// Without a config file it returns at once.
func Watch(ctx context.Context, c Config, src Sources, apply func(c Config, warnings []string, err error)) {
	if c.File == "" {
		return
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	src = src.filled()
	told, latest := c.FileText, c.FileText // or an error
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		body, err := src.ReadFile(c.File)
		if err == nil && len(bytes.TrimSpace(body)) == 0 {
			// It would bring all the defaults back, and is most likely one that somebody is about to write.
			err = errors.New("it is empty now: what was in force stays")
		}
		seen := string(body)
		if err != nil {
			seen = err.Error()
		}
		steady := seen == latest
		if latest = seen; steady && seen != told {
			told = seen
			found := src
			found.ReadFile = func(string) ([]byte, error) { return body, err }
			var warnings []string
			c, warnings, err = c.Reload(found)
			apply(c, warnings, err)
		}
	}
}
