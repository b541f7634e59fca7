package config

import (
	"cmp"
	"errors"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rule says what the value of a setting must be. Its read takes no more than an operator can mean: viper's readers
// take 010 for eight, "" for 0, t for true.
type rule struct {
	kind, must string // of the value, for --help; completes "must be "
	read       func(string) (any, error)
}

// ruleError is a rule that a text breaks, where that is more than the setting's own.
type ruleError string

func (e ruleError) Error() string { return string(e) }

// errUnreadable is a text that breaks the rule of its setting.
var errUnreadable = errors.New("cannot be read")

func reads[T any](kind, must string, read func(string) (T, error)) rule {
	return rule{kind, must, func(text string) (any, error) { return read(text) }}
}

// ruleOf reads the tag "is": words with | between them, a range lo..hi whose ends are read as the setting
// is, a word and a range (0|1s..720h), or a name of textRules; "" where the type says all.
func ruleOf(t reflect.Type, is string) rule {
	if r, ok := typeRules[t]; ok {
		return r
	}
	if r, ok := textRules[is]; ok {
		return r
	}
	switch t {
	case reflect.TypeFor[int]():
		return ranged("number", "a whole number ", strconv.Atoi, is)
	case reflect.TypeFor[float64]():
		return ranged("number", "a number ", parseDecimal, is)
	case reflect.TypeFor[time.Duration]():
		return ranged("duration", "a duration with its unit, ", parseDuration, is)
	}
	words := strings.Split(is, "|")
	return textRule("word", "one of "+strings.Join(words, ", "), func(v string) bool { return slices.Contains(words, v) })
}

func ranged[V cmp.Ordered](kind, must string, read func(string) (V, error), is string) rule {
	word, span, special := strings.Cut(is, "|")
	if !special {
		span = is
	}
	from, to, _ := strings.Cut(span, "..")
	must += span
	switch {
	case to == "":
		must = strings.TrimSuffix(must, span) + ">= " + from
	case word == "0":
		must += ", or 0 for never"
	case special:
		must += ", or " + word
	}
	other, _ := read(word) // the tests read each word and end
	low, _ := read(from)
	high, _ := read(to)
	return reads(kind, must, func(text string) (V, error) {
		v, err := read(text)
		if !(special && v == other) && (v < low || to != "" && v > high) {
			err = errUnreadable
		}
		return v, err
	})
}

// typeRules are those of types that need no tag.
var typeRules = map[reflect.Type]rule{
	reflect.TypeFor[bool]():                     reads("boolfunc", "true or false", parseBool),
	reflect.TypeFor[[]string]():                 reads("list", "namespaces with commas between them", namespaces),
	reflect.TypeFor[cipherSuites]():             reads("list", ciphersMust, parseCiphers),
	reflect.TypeFor[budgetText]():               reads("list", budgetsMust, parseBudgets),
	reflect.TypeFor[map[string]int]():           reads("list", pools.must, pools.read),
	reflect.TypeFor[map[string]float64]():       reads("list", weights.must, weights.read),
	reflect.TypeFor[map[string]time.Duration](): reads("list", hostHolds.must, hostHolds.read),
}

// textRules are named in the tag "is".
var textRules = map[string]rule{
	"path":    textRule("path", "a path", matching(`^[^\x00]*$`)),
	"address": textRule("address", "host:port, such as 127.0.0.1:8087 or :8444", anAddress),
	"state":   textRule("state", "a path, or configmap: and a name of lower-case letters, digits, '-' and '.'", aState),
	"url":     textRule("url", "an http:// or https:// URL with a host and without query or fragment", aURL),
	"name":    textRule("name", "a name of lower-case letters, digits, '-' and '.'", objectName.MatchString),
	"deployment": textRule("deployment", "the name of a Deployment, or its namespace, '/' and its name",
		matching(`^([a-z0-9-]+/)?[a-z0-9][a-z0-9.-]*$`)),
	"quota": textRule("quota", "a whole percentage 0%..100% or a whole number of hosts 0..999999",
		matching(`^([0-9]{1,6}|[0-9]{1,2}%|100%)$`)),
	"price": textRule("price", "a number 0..999999999 without sign or exponent, such as 0.28",
		matching(`^[0-9]{1,9}(\.[0-9]+)?$`)),
	"hold":  reads("duration", holdText, HoldLength),
	"media": reads("word", "exempt, counted, or a whole number 1..100000", parseMedia),
}

func textRule(kind, must string, holds func(string) bool) rule {
	return reads(kind, must, func(text string) (string, error) {
		if !holds(text) {
			return text, errUnreadable
		}
		return text, nil
	})
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
