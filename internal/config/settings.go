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

// prefix begins every environment name that only the throttle has.
const prefix = "IRONIC_THROTTLE_"

// setting is one field of Config with the tags of a setting.
type setting struct {
	reflect.StructField // its Index begins at Config
	key, def, help      string
	names               []string // in the environment; messages and docs/settings.md use the first
	rule                rule
}

var capital = regexp.MustCompile("[A-Z]")

// settings has all settings, in the order of the fields of Config.
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

// named returns the setting with a key; the tests see that there is one.
func named(key string) setting {
	return settings[slices.IndexFunc(settings, func(s setting) bool { return s.key == key })]
}

// has reports whether s has a tag.
func (s setting) has(tag string) bool {
	_, ok := s.Tag.Lookup(tag)
	return ok
}

// short returns the name of s without prefix.
func (s setting) short() string { return strings.TrimPrefix(s.names[0], prefix) }

// flag returns the name of s on the command line, without the dashes.
func (s setting) flag() string { return strings.ReplaceAll(strings.ToLower(s.short()), "_", "-") }

func (s setting) field(c *Config) reflect.Value {
	return reflect.ValueOf(c).Elem().FieldByIndex(s.Index)
}

// text returns the value of s in c as messages may show it, "" if it is not set.
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

// shown returns text as messages may show it: a URL may hold credentials.
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

// Default returns the configuration with nothing set. Load would refuse it, because Ironic.Endpoint has no default.
func Default() Config {
	var c Config
	for _, s := range settings {
		_ = s.set(&c, s.def) // the tests read each default
	}
	c.derive()
	return c
}

// Effective returns each setting by its file key, as text and without secrets, for /v1/status.
func (c Config) Effective() map[string]string {
	m := map[string]string{}
	for _, s := range settings {
		m[s.key] = s.text(c)
	}
	return m
}

// kind returns what the help calls the values of s.
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

// AddFlags registers a flag for every setting; --help shows the basic ones. Load checks the values, not the parser, so
// that it can report all faults together.
func AddFlags(fs *pflag.FlagSet) {
	for _, s := range settings {
		f := fs.VarPF(&rawFlag{s.def, s.kind()}, s.flag(), "", fmt.Sprintf("%s [env %s]", s.help, s.names[0]))
		f.Hidden = !s.has("basic")
		if s.Type.Kind() == reflect.Bool {
			f.Value, f.NoOptDefVal = &rawFlag{s.def, "boolfunc"}, "true"
		}
	}
}

// rawFlag keeps the text of a flag. Viper would read flags of the types that it knows by itself, and take a text that
// is no number for 0. So rawFlag has types that it does not know.
type rawFlag struct{ text, kind string }

func (f *rawFlag) String() string        { return f.text }
func (f *rawFlag) Set(text string) error { f.text = text; return nil }
func (f *rawFlag) Type() string          { return f.kind }
