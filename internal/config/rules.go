package config

import (
	"errors"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// rule says what the value of a setting must be.
type rule struct {
	kind  string // of the value, for --help
	must  string // completes "must be "
	holds func(reflect.Value) error
}

// no is the answer of a rule that is not kept.
func no(holds bool) error {
	if holds {
		return nil
	}
	return errUnreadable
}

// ruleOf reads the tag "is": words with | between them, a range lo..hi whose ends are read as the setting
// is, a word and a range (0|1s..720h), or a name of textRules; "" where the type says all.
func ruleOf(t reflect.Type, is string) rule {
	read := func(reflect.Value) error { return nil } // what could be read is good
	switch reflect.Zero(t).Interface().(type) {
	case bool:
		return rule{"boolfunc", "true or false, on or off", read}
	case MediaLimit:
		return rule{"word", "exempt, counted, or a whole number 1..100000", read}
	case map[string]int:
		return rule{"list", pools.must, read}
	case map[string]float64:
		return rule{"list", weights.must, read}
	case map[string]time.Duration:
		return rule{"list", hostHolds.must, read}
	case []string:
		return rule{"list", "namespaces with commas between them", func(v reflect.Value) error {
			names, _ := v.Interface().([]string)
			return no(!slices.ContainsFunc(names, func(name string) bool { return !namespaceName.MatchString(name) }))
		}}
	}
	if text, ok := textRules[is]; ok {
		return rule{is, text.must, func(v reflect.Value) error { return text.check(v.String()) }}
	}
	if t.Kind() == reflect.String {
		words := strings.Split(is, "|")
		return rule{"word", "one of " + strings.Join(words, ", "), func(v reflect.Value) error { return no(slices.Contains(words, v.String())) }}
	}
	return rangeOf(t, is)
}

func rangeOf(t reflect.Type, is string) rule {
	word, span, special := strings.Cut(is, "|")
	if !special {
		word, span = "", is
	}
	kind, must := "number", "a whole number "
	switch t {
	case reflect.TypeFor[float64]():
		must = "a number "
	case reflect.TypeFor[time.Duration]():
		kind, must = "duration", "a duration with its unit, "
	}
	low, high, _ := strings.Cut(span, "..")
	switch {
	case is == "hold":
		low, high, must = "0", "", holdText
	case high == "":
		must += ">= " + low
	default:
		must += span
	}
	switch word {
	case "":
	case "0":
		must += ", or 0 for never"
	default:
		must += ", or " + word
	}
	end := func(text string) float64 {
		v := reflect.New(t).Elem()
		_ = readText(v, text) // the tests read each end
		return size(v)
	}
	return rule{kind, must, func(v reflect.Value) error {
		n := size(v)
		return no(special && n == end(word) || n >= end(low) && (high == "" || n <= end(high)))
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
	check func(string) error
}{
	"path":       {"a path without NUL bytes", matching(`^[^\x00]*$`)},
	"address":    {"host:port, such as 127.0.0.1:8087 or :8444", anAddress},
	"loopback":   {"host:port on loopback, such as 127.0.0.1:8088", func(s string) error { return errors.Join(anAddress(s), no(localOnly(s))) }},
	"url":        {"an http:// or https:// URL with a host and without query or fragment", aURL},
	"name":       {"a name of lower-case letters, digits, '-' and '.'", matching(objectName.String())},
	"deployment": {"the name of a Deployment, or its namespace, '/' and its name", matching(`^([a-z0-9-]+/)?[a-z0-9][a-z0-9.-]*$`)},
	"quota":      {"a whole percentage 0%..100% or a whole number of hosts 0..999999", matching(`^([0-9]{1,6}|[0-9]{1,2}%|100%)$`)},
	"price":      {"a number 0..999999999 without sign or exponent, such as 0.28", matching(`^[0-9]{1,9}(\.[0-9]+)?$`)},
	"budgets": {"whole percentages or numbers of hosts such as 10%,3,ready:2, or a JSON list of budgets such as " +
		`[{"nodes":"10%"},{"minReady":"2"},{"nodes":"0","schedule":"0 8 * * 1-5","duration":"10h","reasons":["Underutilized"]}]`, areBudgets},
}

// objectName is what Kubernetes lets an object such as a BareMetalHost be called, namespaceName a namespace,
// and groupName what Ironic lets a conductor group.
var (
	objectName    = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
	namespaceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	groupName     = regexp.MustCompile(`^[a-z0-9._-]{1,255}$`)
)

func matching(pattern string) func(string) error {
	compiled := regexp.MustCompile(pattern)
	return func(text string) error { return no(compiled.MatchString(text)) }
}

// anAddress: the host may be empty, the port is a number.
func anAddress(text string) error {
	_, port := split(text)
	return no(port >= 0 && port <= 65535)
}

func aURL(text string) error {
	u, err := url.Parse(text)
	return no(err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && u.RawQuery == "" && u.Fragment == "")
}

func areBudgets(text string) error {
	if _, err := budget.Parse(text); err != nil {
		return ruleError(err.Error())
	}
	return nil
}
