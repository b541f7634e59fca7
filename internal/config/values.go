package config

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ruleError is a rule that a text breaks, where that is more than the setting's own.
type ruleError string

func (e ruleError) Error() string { return string(e) }

// errUnreadable is a text that the type of the setting cannot have.
var errUnreadable = errors.New("cannot be read")

// reader is how texts of one type are read, and what they must be. The readers of viper's decoder take more than
// an operator can mean: 010 for eight, "" for 0, t for true.
type reader struct {
	kind, must string // for --help, and completing "must be "
	read       func(string) (any, error)
}

func reads[T any](kind, must string, read func(string) (T, error)) reader {
	return reader{kind, must, func(text string) (any, error) { return read(text) }}
}

// readers are those of all types but texts.
var readers = map[reflect.Type]reader{
	reflect.TypeFor[bool]():                     reads("boolfunc", "true or false, on or off", parseBool),
	reflect.TypeFor[int]():                      reads("number", "a whole number ", strconv.Atoi),
	reflect.TypeFor[float64]():                  reads("number", "a number ", parseDecimal),
	reflect.TypeFor[time.Duration]():            reads("duration", "a duration with its unit, ", parseDuration),
	reflect.TypeFor[[]string]():                 reads("list", "namespaces with commas between them", namespaces),
	reflect.TypeFor[MediaLimit]():               reads("word", "exempt, counted, or a whole number 1..100000", parseMedia),
	reflect.TypeFor[cipherNames]():              reads("list", ciphersMust, parseCiphers),
	reflect.TypeFor[budgetText]():               reads("list", budgetsMust, parseBudgets),
	reflect.TypeFor[map[string]int]():           reads("list", pools.must, pools.read),
	reflect.TypeFor[map[string]float64]():       reads("list", weights.must, weights.read),
	reflect.TypeFor[map[string]time.Duration](): reads("list", hostHolds.must, hostHolds.read),
}

// readText is what text says as a value of type t.
func readText(t reflect.Type, text string) (reflect.Value, error) {
	own, ok := readers[t]
	if !ok {
		return reflect.ValueOf(text).Convert(t), nil
	}
	value, err := own.read(text)
	return reflect.ValueOf(value), err
}

// asText is the text of a value as readText reads it.
func asText(value any) string {
	switch v := value.(type) {
	case time.Duration:
		return short(v)
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

// short prints 90m as 1h30m and not as 1h30m0s.
func short(d time.Duration) string {
	if d == Never {
		return neverWord
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// pairing reads name=value pairs, each name once.
type pairing[V any] struct {
	must  string                      // what the pairs are, with an example
	name  func(string) (string, bool) // in its one spelling, and whether it is good
	value func(string) (V, error)
}

func (p pairing[V]) read(text string) (map[string]V, error) {
	all := map[string]V{}
	for pair := range strings.SplitSeq(text, ",") {
		given, number, _ := strings.Cut(pair, "=")
		name, good := p.name(strings.TrimSpace(given))
		v, err := p.value(strings.TrimSpace(number))
		if !good || err != nil {
			return nil, ruleError(fmt.Sprintf("must be %s; %s is not", p.must, quote(pair)))
		}
		if _, twice := all[name]; twice {
			return nil, ruleError(fmt.Sprintf("must have each name once, %q comes twice", name))
		}
		all[name] = v
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
		value: func(text string) (int, error) { return within(strconv.Atoi, text, 1, maxLimit) },
	}
	// A weight of 0 would be a namespace that never gets a slot.
	weights = pairing[float64]{
		must:  "namespace=weight pairs such as prod=3,dev=0.5 with weights 0.01..100",
		name:  func(given string) (string, bool) { return given, namespaceName.MatchString(given) },
		value: func(text string) (float64, error) { return within(parseDecimal, text, 0.01, 100) },
	}
	// Ironic's name of the host namespace/name is namespace~name.
	hostHolds = pairing[time.Duration]{
		must: "namespace/name=duration pairs such as metal3/worker-1=48h,metal3/lab=0",
		name: func(given string) (string, bool) {
			namespace, host, _ := strings.Cut(strings.Replace(given, "~", "/", 1), "/")
			return namespace + "/" + host, namespaceName.MatchString(namespace) && objectName.MatchString(host)
		},
		value: HoldLength,
	}
)

func within[V cmp.Ordered](read func(string) (V, error), text string, low, high V) (V, error) {
	v, err := read(text)
	if v < low || v > high {
		err = errUnreadable
	}
	return v, err
}
