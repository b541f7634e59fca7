package config

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// hold reads the length of a hold.
func hold(text string) (time.Duration, bool) {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	return d, err == nil && d >= 0
}

// tooLong is a duration in all but its size.
var tooLong = regexp.MustCompile(`^\+?([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`)

// HoldLength reads a hold as the settings do; the error names the rule.
func HoldLength(text string) (time.Duration, error) {
	d, ok := hold(text)
	switch {
	case ok:
		return d, nil
	case tooLong.MatchString(strings.TrimSpace(text)):
		return 0, ruleError(fmt.Sprintf("must be a duration of at most %dh", math.MaxInt64/int64(time.Hour)))
	}
	return 0, must(holdValue{})
}

// hostHoldsValue is a list of namespace/name=duration pairs.
type hostHoldsValue struct{ p *map[string]time.Duration }

func (v hostHoldsValue) set(text string) error {
	hosts := map[string]time.Duration{}
	for pair := range strings.SplitSeq(text, ",") {
		host, length, found := strings.Cut(pair, "=")
		host = strings.TrimSpace(host)
		switch {
		case !found:
			return must(v)
		case !hostName(host):
			return ruleError(fmt.Sprintf("must name hosts as namespace/name, %s is none", quote(host)))
		}
		d, ok := hold(length)
		if !ok {
			return ruleError(fmt.Sprintf("must give each host a duration with its unit, such as %s, or 0; %s has %s", holdExample, host, quote(strings.TrimSpace(length))))
		}
		if _, twice := hosts[host]; twice {
			return ruleError(fmt.Sprintf("must name each host once, %q comes twice", host))
		}
		hosts[host] = d
	}
	*v.p = hosts
	return nil
}

func (v hostHoldsValue) String() string {
	var pairs []string
	for _, host := range slices.Sorted(maps.Keys(*v.p)) {
		pairs = append(pairs, host+"="+short((*v.p)[host]))
	}
	return strings.Join(pairs, ",")
}
func (v hostHoldsValue) kind() string { return "list" }
func (v hostHoldsValue) rule() string {
	return "namespace/name=duration pairs such as metal3/worker-1=48h,metal3/lab=0"
}

// objectName is what Kubernetes lets a BareMetalHost be called.
var objectName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

func hostName(text string) bool {
	namespace, name, found := strings.Cut(text, "/")
	return found && namespaceName.MatchString(namespace) && objectName.MatchString(name)
}

// maxQuota bounds a quota that is a number of hosts.
const maxQuota = 1_000_000

// quotaValue is a number of hosts or a percentage of them, kept as text.
type quotaValue struct{ p *string }

func (v quotaValue) set(text string) error {
	text = strings.TrimSpace(text)
	digits, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(digits)
	most := maxQuota
	if percent {
		most = 100
	}
	if err != nil || strings.Trim(digits, "0123456789") != "" || n > most {
		return must(v)
	}
	*v.p = text
	return nil
}
func (v quotaValue) String() string { return *v.p }
func (v quotaValue) kind() string   { return "quota" }
func (v quotaValue) rule() string {
	return fmt.Sprintf("a whole percentage 0%%..100%% or a whole number of hosts 0..%d", maxQuota)
}

// numberValue is a decimal number.
type numberValue struct {
	p        *float64
	min, max float64
}

func (v numberValue) set(text string) error {
	text = strings.TrimSpace(text)
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !decimal.MatchString(text) || n < v.min || n > v.max {
		return must(v)
	}
	*v.p = n
	return nil
}
func (v numberValue) String() string { return strconv.FormatFloat(*v.p, 'f', -1, 64) }
func (v numberValue) kind() string   { return "number" }
func (v numberValue) rule() string   { return fmt.Sprintf("a number %v..%v", v.min, v.max) }
