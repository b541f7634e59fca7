package config

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"
)

// ruleError is a rule that a text breaks, where that is more than the setting's own.
type ruleError string

func (e ruleError) Error() string { return string(e) }

// errUnreadable is a text that the type of the setting cannot have.
var errUnreadable = errors.New("cannot be read")

// unmarshal fills c with what v holds and returns what is wrong, by the key of the
// setting. Such a field stays as it was.
func unmarshal(v *viper.Viper, c *Config) map[string]error {
	wrong := map[string]error{}
	collect(v.Unmarshal(c, viper.DecodeHook(fromText), replace), wrong)
	return wrong
}

// replace lets a list take the place of a default instead of being laid over it.
func replace(d *mapstructure.DecoderConfig) { d.ZeroFields = true }

// collect takes a joined error of mapstructure apart.
func collect(err error, wrong map[string]error) {
	switch err := err.(type) { //nolint:errorlint // the tree is walked node by node
	case *mapstructure.DecodeError:
		wrong[err.Name()] = err
	case interface{ Unwrap() []error }:
		for _, e := range err.Unwrap() {
			collect(e, wrong)
		}
	case interface{ Unwrap() error }:
		collect(err.Unwrap(), wrong)
	}
}

// fromText is the decode hook: every source gives texts. mapstructure's own readers of
// numbers and switches take more than an operator can mean: 010 for eight, "" for 0, t for true.
func fromText(_, to reflect.Type, data any) (any, error) {
	text, ok := data.(string)
	if !ok {
		return data, nil
	}
	text = strings.TrimSpace(text)
	if v, ok := reflect.New(to).Interface().(encoding.TextUnmarshaler); ok {
		return v, v.UnmarshalText([]byte(text))
	}
	switch to {
	case reflect.TypeFor[int]():
		return strconv.Atoi(text)
	case reflect.TypeFor[float64]():
		return parseDecimal(text)
	case reflect.TypeFor[bool]():
		return parseBool(text)
	case reflect.TypeFor[[]string]():
		return sortedSet(text), nil
	case reflect.TypeFor[time.Duration]():
		return parseDuration(text)
	}
	return text, nil
}

// asText is the text of a value as fromText reads it.
func asText(value any) string {
	switch v := value.(type) {
	case time.Duration:
		return short(v)
	case []string:
		return strings.Join(v, ",")
	}
	return fmt.Sprint(value)
}

// sortedSet are the words of a list with commas, each once.
func sortedSet(text string) []string {
	var words []string
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true":
		return true, nil
	case "false":
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

// tooLong is a duration in all but its size.
var tooLong = regexp.MustCompile(`^\+?([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`)

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil && tooLong.MatchString(text) {
		return 0, ruleError(fmt.Sprintf("must be a duration of at most %dh", math.MaxInt64/int64(time.Hour)))
	}
	return d, err
}

// HoldLength reads a hold as the settings do; the error names the rule.
func HoldLength(text string) (time.Duration, error) {
	d, err := parseDuration(strings.TrimSpace(text))
	if errors.As(err, new(ruleError)) {
		return 0, err
	}
	if err != nil || d < 0 {
		return 0, ruleError("must be " + holdTime.text)
	}
	return d, nil
}

// short prints 90m as 1h30m and not as 1h30m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// toggle is on or off.
type toggle bool

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *toggle) UnmarshalText(text []byte) error {
	switch strings.ToLower(string(text)) {
	case "on", "true":
		*s = true
	case "off", "false":
		*s = false
	default:
		return errUnreadable
	}
	return nil
}

func (s toggle) String() string {
	if s {
		return "on"
	}
	return "off"
}
