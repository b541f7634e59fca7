package config

import (
	"reflect"
	"strings"
)

// envPrefix is put before every environment name that is ours alone.
const envPrefix = "IRONIC_THROTTLE_"

// setting is one row of the table.
type setting struct {
	name    string // in the environment, in messages and in docs/settings.md: it can be pasted
	second  string // another name in the environment that is read, and shown nowhere; "" = none
	def     string // text of the default; "" = unset
	defNote string // shown instead of def where the default is computed
	rule    rule
	help    string
	basic   bool   // most operators meet it; the others are advanced
	hot     bool   // a reload of the file changes it
	lenient bool   // as BMO reads it: what cannot be read is a warning, not a fault
	noFile  bool   // cannot stand in the file
	common  bool   // others have variables of that name too: without the prefix it may be theirs
	pairs   string // an example, where the value is name=value pairs and may be a table in the file
}

// short is the name of s without our prefix.
func (s setting) short() string { return strings.TrimPrefix(s.name, envPrefix) }

// shared reports whether the name of s has no prefix: it is not ours alone.
func (s setting) shared() bool { return s.short() == s.name }

// flag is the name of s on the command line, without the dashes.
func (s setting) flag() string {
	return strings.ReplaceAll(strings.ToLower(s.short()), "_", "-")
}

// key is the name of s in the file, in viper and in the tag of its field.
func (s setting) key() string { return keyOf(s.name) }

func keyOf(name string) string {
	words := strings.Split(strings.ToLower(strings.TrimPrefix(name, envPrefix)), "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// shown is text as messages may show it.
func (s setting) shown(text string) string {
	if s.name == nameEndpoint {
		return maskURL(text)
	}
	return text
}

// format is a value of s as text; one that is not set breaks the rule, and is "".
func (s setting) format(value any) string {
	if reflect.ValueOf(value).IsZero() && !s.rule.holds(value) {
		return ""
	}
	return s.shown(asText(value))
}
