package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// asText is the text of a value as its rule reads it.
func asText(value any) string {
	switch v := value.(type) {
	case time.Duration:
		if v == Never {
			return neverWord
		}
		return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(v.String())
	case []string:
		return strings.Join(v, ",")
	}
	all := reflect.ValueOf(value)
	if all.Kind() != reflect.Map {
		return fmt.Sprint(value)
	}
	var pairs []string
	for name, v := range all.Seq2() {
		pairs = append(pairs, name.String()+"="+asText(v.Interface()))
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ",")
}

// sortedSet are the words of a list with commas, each once.
func sortedSet(text string) []string {
	words := strings.Split(text, ",")
	for i := range words {
		words[i] = strings.TrimSpace(words[i])
	}
	slices.Sort(words)
	return slices.DeleteFunc(slices.Compact(words), func(word string) bool { return word == "" })
}

func namespaces(text string) ([]string, error) {
	names := sortedSet(text)
	if slices.ContainsFunc(names, func(name string) bool { return !namespaceName.MatchString(name) }) {
		return nil, errUnreadable
	}
	return names, nil
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "on":
		return true, nil
	case "false", "off":
		return false, nil
	}
	return false, errUnreadable
}

// decimalText is a number as people write it: no exponent, no sign, no infinity.
var decimalText = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

func parseDecimal(text string) (float64, error) {
	if !decimalText.MatchString(text) {
		return 0, errUnreadable
	}
	return strconv.ParseFloat(text, 64)
}

// Never is a duration without end, where a setting can have one.
const Never time.Duration = -1

const neverWord = "Never"

func parseDuration(text string) (time.Duration, error) {
	if strings.EqualFold(text, neverWord) {
		return Never, nil
	}
	d, err := time.ParseDuration(text)
	if d < 0 { // Never has no other name
		err = errUnreadable
	}
	return d, err
}

const holdText = "a duration with its unit, such as 48h or 1.5h, or 0, up to 2562047h"

// HoldLength reads a hold as the settings do; the error names the rule.
func HoldLength(text string) (time.Duration, error) {
	d, err := parseDuration(strings.TrimSpace(text))
	if err != nil || d < 0 {
		return 0, ruleError("must be " + holdText)
	}
	return d, nil
}

// pairing reads name=value pairs, each name once.
type pairing[V any] struct {
	must  string                      // what the pairs are, with an example
	name  func(string) (string, bool) // in its one spelling, and whether it is good
	value rule
}

func (p pairing[V]) read(text string) (map[string]V, error) {
	all := map[string]V{}
	for pair := range strings.SplitSeq(text, ",") {
		given, number, _ := strings.Cut(pair, "=")
		name, good := p.name(strings.TrimSpace(given))
		v, err := p.value.read(strings.TrimSpace(number))
		if !good || err != nil {
			return nil, ruleError(fmt.Sprintf("must be %s; %s is not", p.must, quote(pair)))
		}
		if _, twice := all[name]; twice {
			return nil, ruleError(fmt.Sprintf("must have each name once, %q comes twice", name))
		}
		all[name], _ = v.(V)
	}
	return all, nil
}

var (
	// Ironic folds the case of conductor groups; the pool virtual-media is that of VIRTUAL_MEDIA_LIMIT.
	pools = pairing[int]{
		must: "group=slots pairs such as rack1=8,rack2=12 with slots 1..100000, " +
			"and groups of a-z, 0-9, '-', '_', '.', not virtual-media",
		name: func(given string) (string, bool) {
			folded := strings.ToLower(given)
			return folded, groupName.MatchString(folded) && folded != "virtual-media"
		},
		value: slotsRule,
	}
	slotsRule = ranged("number", "a whole number ", strconv.Atoi, "1..100000")
	// A weight of 0 would be a namespace that never gets a slot.
	weights = pairing[float64]{
		must:  "namespace=weight pairs such as prod=3,dev=0.5 with weights 0.01..100",
		name:  func(given string) (string, bool) { return given, namespaceName.MatchString(given) },
		value: ranged("number", "a number ", parseDecimal, "0.01..100"),
	}
	// Ironic's name of the host namespace/name is namespace~name.
	hostHolds = pairing[time.Duration]{
		must: "namespace/name=duration pairs such as metal3/worker-1=48h,metal3/lab=0",
		name: func(given string) (string, bool) {
			namespace, host, _ := strings.Cut(strings.Replace(given, "~", "/", 1), "/")
			return namespace + "/" + host, namespaceName.MatchString(namespace) && objectName.MatchString(host)
		},
		value: reads("", "", HoldLength),
	}
)
