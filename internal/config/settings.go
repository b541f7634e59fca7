package config

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// envPrefix is put before every environment name that is ours alone.
const envPrefix = "IRONIC_THROTTLE_"

// setting is one field of Config that is one.
type setting struct {
	key   string   // in the file and in viper
	names []string // in the environment; the first is the one of messages and of docs/settings.md
	def   string   // text of the default; "" = unset
	help  string
	needs []string // keys
	rule  rule

	basic, restart, lenient, common bool

	kind  reflect.Type
	index []int // of the field in Config
}

// settings are all of them, in the order of the fields of Config.
var settings = settingsOf(reflect.TypeFor[Config](), nil)

func settingsOf(t reflect.Type, at []int) (all []setting) {
	for i := range t.NumField() {
		field, index := t.Field(i), slices.Concat(at, []int{i})
		if _, ok := field.Tag.Lookup("set"); ok {
			all = append(all, newSetting(field, index))
		} else if field.Type.Kind() == reflect.Struct {
			all = append(all, settingsOf(field.Type, index)...)
		}
	}
	return all
}

func newSetting(field reflect.StructField, index []int) setting {
	tag := field.Tag
	has := func(key string) bool {
		_, ok := tag.Lookup(key)
		return ok
	}
	s := setting{
		key: tag.Get("set"), def: tag.Get("def"), help: tag.Get("help"), needs: strings.Fields(tag.Get("needs")),
		basic: has("basic"), restart: has("restart"), lenient: has("lenient"), common: has("common"),
		rule: ruleOf(field.Type, tag.Get("is")), kind: field.Type, index: index,
	}
	s.names = strings.Fields(tag.Get("env"))
	if len(s.names) == 0 {
		s.names = []string{envPrefix + upperSnake(s.key)}
	}
	return s
}

var capital = regexp.MustCompile("[A-Z]")

// upperSnake is leaseTtl as LEASE_TTL.
func upperSnake(key string) string { return strings.ToUpper(capital.ReplaceAllString(key, "_$0")) }

// named is the setting with a key; the tests see that there is one.
func named(key string) setting {
	return settings[slices.IndexFunc(settings, func(s setting) bool { return s.key == key })]
}

func (s setting) name() string { return s.names[0] }

// short is the name of s without our prefix.
func (s setting) short() string { return strings.TrimPrefix(s.name(), envPrefix) }

// flag is the name of s on the command line, without the dashes.
func (s setting) flag() string { return strings.ReplaceAll(strings.ToLower(s.short()), "_", "-") }

func (s setting) field(c *Config) reflect.Value {
	return reflect.ValueOf(c).Elem().FieldByIndex(s.index)
}

// text is the value of s in c as messages may show it, "" where it is not set.
func (s setting) text(c Config) string {
	value := s.field(&c)
	text := asText(value.Interface())
	if _, err := s.rule.read(text); err != nil && value.IsZero() {
		return ""
	}
	return s.shown(text)
}

// shown is text as messages may show it.
func (s setting) shown(text string) string {
	if s.key == "ironicEndpoint" {
		return maskURL(text)
	}
	return text
}

// read makes a value of text, or says what is wrong with it.
func (s setting) read(text string) (reflect.Value, error) {
	text = strings.TrimSpace(text)
	if text == "" && s.def == "" {
		return reflect.Zero(s.kind), nil
	}
	value, err := s.rule.read(text)
	if own := ruleError(""); err != nil && !errors.As(err, &own) {
		err = ruleError("must be " + s.rule.must)
	}
	return reflect.ValueOf(value), err
}

// Default is the configuration with nothing set. Ironic.Endpoint has no
// default, so Load would refuse it; tests and the demo fill it in.
func Default() Config {
	var c Config
	for _, s := range settings {
		value, _ := s.read(s.def) // the tests read each default
		s.field(&c).Set(value)
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

// AddFlags registers a flag for every setting, hidden where it is advanced. Values are not
// checked when they are parsed but by Load, which then reports all faults together.
func AddFlags(fs *pflag.FlagSet) {
	for _, s := range settings {
		f := fs.VarPF(&rawFlag{s.def, s.rule.kind}, s.flag(), "", fmt.Sprintf("%s [env %s]", s.help, s.name()))
		f.Hidden = !s.basic
		if s.kind.Kind() == reflect.Bool {
			f.NoOptDefVal = "true"
		}
	}
}

// ShowAdvanced makes the help of fs show the advanced settings, and nothing else.
func ShowAdvanced(fs *pflag.FlagSet) {
	fs.VisitAll(func(f *pflag.Flag) { f.Hidden = !f.Hidden })
}

// rawFlag keeps the text of a flag. viper reads numbers and switches by itself where the
// type is one that it knows, and takes what is none for 0: the kinds of rules are others.
type rawFlag struct{ text, kind string }

func (f *rawFlag) String() string { return f.text }
func (f *rawFlag) Type() string   { return f.kind }
func (f *rawFlag) Set(text string) error {
	f.text = text
	return nil
}
