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

// Sources is what Load reads besides the environment of the process.
type Sources struct {
	// Flags has the flags of AddFlags, parsed; nil: none.
	Flags *pflag.FlagSet
	// ReadFile reads the config file; nil reads from disk, at most 1 MiB.
	ReadFile func(path string) ([]byte, error)
	// Exists reports whether the path of a setting exists, for warnings; nil looks on disk.
	Exists func(path string) bool
}

// filled returns src with the defaults of its fields.
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
	from     map[string]string // the source of each setting, by key
	broken   map[string]bool   // the settings whose own value is wrong, by key
	warnings []string
	faults   []error
}

// Load reads all sources, checks everything and returns the configuration, or an error that joins all faults: each
// names setting, value, source and rule. Load returns warnings, which stop nothing, with an error too.
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

// bind lets viper read the given flags, and the environment. An empty value there is an unset one, as in BMO.
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

// readFile gives viper the settings of the config file, if there is one; flags and environment win over it. Viper's own
// readers fold the case of keys, take the second of two equal keys, and read 010 as eight, which it is not in the
// environment. The file may hold a password, so faults repeat nothing of it but keys and values of settings.
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

// parse returns the keys and values of the table in a file, by turns. JSON is YAML too.
func parse(body []byte) ([]*yaml.Node, error) {
	var doc yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(body))
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF): // nothing, or only comments
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

// pairsOf returns the name=value pairs of a table. No key or value of the table may contain another pair.
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

// decode reads each value. One that breaks its rule leaves the default, and is a fault or a warning.
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

// fault notes what is wrong with the value of a setting; a value of "" stands for none.
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

// Reload loads src again and returns c with the new values of the settings that need no restart. A warning names each
// other setting that has changed and stays as it was. With an error Reload returns c unchanged: a broken file changes
// nothing.
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

// watchEvery is the time between two reads of the file. Viper's own watch ends the process if inotify has no instance
// left, takes files that are half written, and cannot be stopped.
const watchEvery = 5 * time.Second

// Watch reads the config file every 5 s until ctx ends and calls apply, one call after the other, for each text that
// differs from the last one, at first from c.FileText. A text counts if two reads in a row found it, so that Watch
// takes no file that is half written. With an error, apply gets the settings that were in force before. Without a
// config file Watch returns at once.
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
			// An empty file would set all defaults again; most likely somebody is about to write it.
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
