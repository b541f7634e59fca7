package config

import (
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// rule says what the value of a setting must be.
type rule struct {
	kind, must string // of the value, for --help; completes "must be "
	holds      func(reflect.Value) bool
}

// ruleOf reads the tag "is": words with | between them, a range lo..hi whose ends are read as the setting
// is, a word and a range (0|1s..720h), or a name of textRules; "" where the type says all.
func ruleOf(t reflect.Type, is string) rule {
	own, isRead := readers[t]
	text, named := textRules[is]
	switch {
	case named:
		return rule{is, text.must, func(v reflect.Value) bool { return text.holds(v.String()) }}
	case isRead && is == "":
		return rule{own.kind, own.must, func(reflect.Value) bool { return true }}
	case isRead:
		return rangeOf(t, is)
	}
	words := strings.Split(is, "|")
	return rule{"word", "one of " + strings.Join(words, ", "), func(v reflect.Value) bool {
		return slices.Contains(words, v.String())
	}}
}

func rangeOf(t reflect.Type, is string) rule {
	word, span, special := strings.Cut(is, "|")
	if !special {
		word, span = "", is
	}
	low, high, _ := strings.Cut(span, "..")
	must := readers[t].must + span
	switch {
	case is == "hold":
		low, must = "0", holdText
	case high == "":
		must = readers[t].must + ">= " + low
	case word == "0":
		must += ", or 0 for never"
	case special:
		must += ", or " + word
	}
	end := func(text string) float64 {
		v, _ := readText(t, text) // the tests read each end
		return size(v)
	}
	return rule{readers[t].kind, must, func(v reflect.Value) bool {
		n := size(v)
		return special && n == end(word) || n >= end(low) && (high == "" || n <= end(high))
	}}
}

// size is a number of any type. No setting has one that a float64 does not hold.
func size(v reflect.Value) float64 {
	if v.CanFloat() {
		return v.Float()
	}
	return float64(v.Int())
}

// textRules are the rules of texts, by their names in the tag "is".
var textRules = map[string]struct {
	must  string
	holds func(string) bool
}{
	"path":    {"a path without NUL bytes", matching(`^[^\x00]*$`)},
	"address": {"host:port, such as 127.0.0.1:8087 or :8444", anAddress},
	"state":   {"a path without NUL bytes, or configmap: and a name of lower-case letters, digits, '-' and '.'", aState},
	"url":     {"an http:// or https:// URL with a host and without query or fragment", aURL},
	"name":    {"a name of lower-case letters, digits, '-' and '.'", objectName.MatchString},
	"deployment": {"the name of a Deployment, or its namespace, '/' and its name",
		matching(`^([a-z0-9-]+/)?[a-z0-9][a-z0-9.-]*$`)},
	"quota": {"a whole percentage 0%..100% or a whole number of hosts 0..999999",
		matching(`^([0-9]{1,6}|[0-9]{1,2}%|100%)$`)},
	"price": {"a number 0..999999999 without sign or exponent, such as 0.28", matching(`^[0-9]{1,9}(\.[0-9]+)?$`)},
}

// objectName is what Kubernetes lets an object such as a BareMetalHost be called, namespaceName a namespace,
// and groupName what Ironic lets a conductor group.
var (
	objectName    = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
	namespaceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	groupName     = regexp.MustCompile(`^[a-z0-9._-]{1,255}$`)
)

func matching(pattern string) func(string) bool { return regexp.MustCompile(pattern).MatchString }

func aState(text string) bool {
	name, ok := strings.CutPrefix(text, inConfigMap)
	return !ok && !strings.Contains(text, "\x00") || ok && objectName.MatchString(name)
}

// anAddress: the host may be empty, the port is a number.
func anAddress(text string) bool {
	_, port := split(text)
	return port >= 0 && port <= 65535
}

func aURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && slices.Contains([]string{"http", "https"}, u.Scheme) &&
		u.RawQuery == "" && u.Fragment == ""
}
