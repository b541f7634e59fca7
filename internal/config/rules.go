package config

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/nearest"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// rule says what the value of a setting must be. read takes only what an operator can mean: viper's readers take 010
// for eight, "" for 0, t for true. An error of read names the rule.
type rule struct {
	must string // completes "must be "
	read func(text string) (any, error)
}

func reads[V any](must string, read func(string) (V, bool)) rule {
	return rule{must, func(text string) (any, error) {
		v, ok := read(text)
		if !ok {
			return nil, errors.New("must be " + must)
		}
		return v, nil
	}}
}

// whole returns a function that reports whether expression matches a whole text.
func whole(expression string) func(string) bool {
	return regexp.MustCompile(`^(` + expression + `)$`).MatchString
}

func matching(must, expression string) rule {
	good := whole(expression)
	return reads(must, func(text string) (string, bool) { return text, good(text) })
}

// ranged returns the rule of values within span: lo..hi, or "0s or lo..hi".
func ranged[V cmp.Ordered](must string, read func(string) (V, error), span string) rule {
	ends, orZero := strings.CutPrefix(span, "0s or ")
	from, to, _ := strings.Cut(ends, "..")
	low, _ := read(from) // the tests read each end
	high, _ := read(to)
	return reads(must+span, func(text string) (V, bool) {
		v, err := read(text)
		return v, err == nil && (low <= v && v <= high || orZero && v == *new(V))
	})
}

func duration(span string) rule {
	return ranged("a duration with its unit, ", time.ParseDuration, span)
}

func number(text string) (float64, error) { return strconv.ParseFloat(text, 64) }

// list returns the words of a text between commas or spaces, sorted, each once.
func list(text string) []string {
	all := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	slices.Sort(all)
	return slices.Compact(all)
}

// pairs returns the rule of name=value pairs. It folds the case of names, as Ironic does for conductor groups, and
// reads namespace~name, the name of the host's node in Ironic, as namespace/name.
func pairs[V any](must, names string, value rule) rule {
	good := whole(names)
	return rule{must, func(text string) (any, error) {
		all := map[string]V{}
		for pair := range strings.SplitSeq(text, ",") {
			name, given, _ := strings.Cut(pair, "=")
			name = strings.Replace(strings.ToLower(strings.TrimSpace(name)), "~", "/", 1)
			v, err := value.read(strings.TrimSpace(given))
			if _, twice := all[name]; twice {
				return nil, fmt.Errorf("must have each name once; %.100q comes twice", name)
			}
			if err != nil || !good(name) {
				return nil, fmt.Errorf("must be %s; %.100q is not", must, pair)
			}
			all[name], _ = v.(V)
		}
		return all, nil
	}}
}

// HoldLength reads a hold as the settings do; the error names the rule.
func HoldLength(text string) (time.Duration, error) {
	v, err := hold.read(strings.TrimSpace(text))
	length, _ := v.(time.Duration)
	return length, err
}

var (
	hold       = duration("0s..2562047h")
	switches   = map[string]bool{"true": true, "on": true, "false": false, "off": false}
	namespaces = whole(`(` + namespace + `(,|$))*`)
	media      = whole(MediaExempt + `|counted|0*[1-9][0-9]{0,4}|100000`)
	address    = whole(`([^:\[\]\s]*|\[[0-9a-fA-F:.]+(%[^\[\]\s]+)?\]):[0-9]+`)
)

const suites = "names of safe cipher suites with commas between them"

// The names that Kubernetes allows for a namespace, and for an object such as a BareMetalHost.
const (
	namespace = `[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?`
	object    = `[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?`
)

// ruleOf reads the tag "is": a range lo..hi of values of the field's type, a name in rules, or words with | between
// them. Without the tag, rules has the type.
func ruleOf(field reflect.StructField) rule {
	is := field.Tag.Get("is")
	if r, ok := rules[cmp.Or(is, field.Type.String())]; ok {
		return r
	}
	switch field.Type {
	case reflect.TypeFor[int]():
		return ranged("a whole number ", strconv.Atoi, is)
	case reflect.TypeFor[float64]():
		return ranged("a number ", number, is)
	case reflect.TypeFor[time.Duration]():
		return duration(is)
	}
	return matching("one of "+strings.ReplaceAll(is, "|", ", "), is)
}

// rules are named in the tag "is", or as the type of a field without it.
var rules = map[string]rule{
	"path":       matching("a path", `[^\x00]*`),
	"state":      matching("a path without ':', or configmap: and the name of a ConfigMap", `[^:\x00]+|configmap:`+object),
	"name":       matching("a name of lower-case letters, digits, '-' and '.'", object),
	"deployment": matching("the name of a Deployment, or its namespace, '/' and its name", `(`+namespace+`/)?`+object),
	"quota": matching("a whole percentage 0%..100% or a whole number of hosts 0..999999",
		`[0-9]{1,6}|[0-9]{1,2}%|100%`),
	"address": reads("host:port with a port 0..65535, such as 127.0.0.1:8087 or :8444", func(text string) (string, bool) {
		_, err := strconv.ParseUint(text[strings.LastIndex(text, ":")+1:], 10, 16)
		return text, err == nil && address(text)
	}),
	// EXEMPT_VIRTUAL_MEDIA, the other name of the setting, takes true and false.
	"media": reads("exempt or true, counted or false, or a whole number 1..100000", func(text string) (string, bool) {
		text = strings.ToLower(text)
		if exempt, ok := switches[text]; ok {
			text = map[bool]string{true: MediaExempt, false: "counted"}[exempt]
		}
		return text, media(text)
	}),
	"url": reads("an http:// or https:// URL with a host and without query or fragment", func(text string) (string, bool) {
		u, err := url.Parse(text)
		good := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
		return text, good && !strings.ContainsAny(text, "?#")
	}),
	"bool": reads("true or false", func(text string) (on, ok bool) {
		on, ok = switches[strings.ToLower(text)]
		return on, ok
	}),
	"disruption.Span": reads("Never, or a duration such as 30m", func(text string) (d disruption.Span, ok bool) {
		err := d.UnmarshalText([]byte(text))
		return d, err == nil
	}),
	"namespaces": reads("namespaces with commas between them", func(text string) ([]string, bool) {
		return list(text), namespaces(strings.Join(list(text), ","))
	}),
	"ciphers": {suites + ", such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", func(text string) (any, error) {
		var known []string
		for _, suite := range tls.CipherSuites() {
			known = append(known, suite.Name)
		}
		for _, name := range list(text) {
			if near, _ := nearest.Word(name, known); near != name {
				return nil, fmt.Errorf("must be %s; %.100q is none, did you mean %s?", suites, name, near)
			}
		}
		return list(text), nil
	}},
	"budgets": {"whole percentages or numbers of hosts such as 10%,3,ready:2, or a JSON list of budgets such as " +
		`[{"nodes":"10%"},{"minReady":"2"},{"nodes":"0","schedule":"0 8 * * 1-5","duration":"10h",` +
		`"reasons":["Underutilized"]}]`, func(text string) (any, error) {
		_, err := budget.Parse(text)
		return text, err
	}},
	"map[string]int": pairs[int]("group=slots pairs such as rack1=8,rack2=12 with slots 1..100000, "+
		"and groups of a-z, 0-9, '-', '_', '.'", `[a-z0-9._-]{1,255}`, ranged("", strconv.Atoi, "1..100000")),
	// With a weight of 0, a namespace would never get a slot.
	"map[string]float64": pairs[float64]("namespace=weight pairs such as prod=3,dev=0.5 with weights 0.01..100",
		namespace, ranged("", number, "0.01..100")),
	"map[string]time.Duration": pairs[time.Duration]("namespace/name=duration pairs such as "+
		"metal3/worker-1=48h,metal3/lab=0", namespace+"/"+object, hold),
}
