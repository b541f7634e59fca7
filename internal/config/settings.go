package config

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// prefix is put before every environment name that is ours alone.
const prefix = "IRONIC_THROTTLE_"

// setting is one field of Config that is one, as its tags say.
type setting struct {
	reflect.StructField // with the index from Config on
	key, def, help      string
	names               []string // in the environment; the first is the one of messages and of docs/settings.md
	rule                rule
}

var capital = regexp.MustCompile("[A-Z]")

// settings are all of them, in the order of the fields of Config.
var settings = settingsOf(reflect.TypeFor[Config](), nil)

func settingsOf(t reflect.Type, at []int) (all []setting) {
	for field := range t.Fields() {
		field.Index = slices.Concat(at, field.Index)
		if key := field.Tag.Get("set"); key != "" {
			env := prefix + strings.ToUpper(capital.ReplaceAllString(key, "_$0")) // leaseTtl: LEASE_TTL
			names := strings.Fields(cmp.Or(field.Tag.Get("env"), env))
			all = append(all, setting{field, key, field.Tag.Get("def"), field.Tag.Get("help"), names, ruleOf(field)})
		} else if field.Type.Kind() == reflect.Struct {
			all = append(all, settingsOf(field.Type, field.Index)...)
		}
	}
	return all
}

// named is the setting with a key; the tests see that there is one.
func named(key string) setting {
	return settings[slices.IndexFunc(settings, func(s setting) bool { return s.key == key })]
}

// has reports whether s has a tag.
func (s setting) has(tag string) bool {
	_, ok := s.Tag.Lookup(tag)
	return ok
}

// short is the name of s without our prefix.
func (s setting) short() string { return strings.TrimPrefix(s.names[0], prefix) }

// flag is the name of s on the command line, without the dashes.
func (s setting) flag() string { return strings.ReplaceAll(strings.ToLower(s.short()), "_", "-") }

func (s setting) field(c *Config) reflect.Value {
	return reflect.ValueOf(c).Elem().FieldByIndex(s.Index)
}

// text is the value of s in c as messages may show it, "" where it is not set.
func (s setting) text(c Config) string {
	value := s.field(&c)
	switch value.Kind() {
	case reflect.Map, reflect.Slice: // map[a:1 b:2] and [a b], in order
		return strings.NewReplacer("map[", "", "[", "", "]", "", ":", "=", " ", ",").Replace(fmt.Sprint(value))
	}
	if value.IsZero() && s.def == "" {
		return ""
	}
	return s.shown(fmt.Sprint(value))
}

var userinfo = regexp.MustCompile(`(?s)^(\w+://)?.*@`)

// shown is text as messages may show it: a URL may hold credentials.
func (s setting) shown(text string) string {
	switch {
	case s.key != "ironicEndpoint":
		return text
	case strings.ContainsAny(text, "?#"):
		return "(hidden: may hold credentials)"
	}
	return userinfo.ReplaceAllString(text, "${1}xxxxx@")
}

// set gives c the value that text stands for, or says what is wrong with it.
func (s setting) set(c *Config, text string) error {
	if text = strings.TrimSpace(text); text == "" && s.def == "" {
		s.field(c).SetZero()
		return nil
	}
	value, err := s.rule.read(text)
	if err == nil {
		s.field(c).Set(reflect.ValueOf(value))
	}
	return err
}

// Default is the configuration with nothing set. Ironic.Endpoint has no
// default, so Load would refuse it; tests and the demo fill it in.
func Default() Config {
	var c Config
	for _, s := range settings {
		_ = s.set(&c, s.def) // the tests read each default
	}
	c.derive()
	return c
}

// Effective returns every setting that is in force, by its file key, as text
// and without secrets: what /v1/status shows.
func (c Config) Effective() map[string]string {
	m := map[string]string{}
	for _, s := range settings {
		m[s.key] = s.text(c)
	}
	return m
}

// kind is what the help calls the values of s.
func (s setting) kind() string {
	is := s.Tag.Get("is")
	switch _, named := rules[is]; {
	case s.Type.String() == "time.Duration":
		return "duration"
	case s.Type.Kind() == reflect.Int || s.Type.Kind() == reflect.Float64:
		return "number"
	case s.Type.Kind() == reflect.Map:
		return "pairs"
	case named:
		return is
	}
	return "word"
}

// AddFlags registers a flag for every setting, hidden where it is advanced. Values are not
// checked when they are parsed but by Load, which then reports all faults together.
func AddFlags(fs *pflag.FlagSet) {
	for _, s := range settings {
		f := fs.VarPF(&rawFlag{s.def, s.kind()}, s.flag(), "", fmt.Sprintf("%s [env %s]", s.help, s.names[0]))
		f.Hidden = !s.has("basic")
		if s.Type.Kind() == reflect.Bool {
			f.Value, f.NoOptDefVal = &rawFlag{s.def, "boolfunc"}, "true"
		}
	}
}

// rawFlag keeps the text of a flag. viper reads numbers and switches by itself where the
// type is one that it knows, and takes what is none for 0: these types are others.
type rawFlag struct{ text, kind string }

func (f *rawFlag) String() string        { return f.text }
func (f *rawFlag) Set(text string) error { f.text = text; return nil }
func (f *rawFlag) Type() string          { return f.kind }
