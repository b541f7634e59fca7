package config

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// value is one setting inside a Config: it parses into it and prints from it.
// The error of set is the rule that the text breaks, without name or value.
type value interface {
	set(text string) error
	String() string
	kind() string // for --help and the docs
	rule() string // "" where any text will do
}

// ruleError says which rule a value breaks.
type ruleError string

func (e ruleError) Error() string { return string(e) }

// must makes the error of a value that breaks v's rule.
func must(v value) error { return ruleError("must be " + v.rule()) }

type intValue struct {
	p        *int
	min, max int
}

func (v intValue) set(text string) error {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < v.min || n > v.max {
		return must(v)
	}
	*v.p = n
	return nil
}
func (v intValue) String() string { return strconv.Itoa(*v.p) }
func (v intValue) kind() string   { return "int" }
func (v intValue) rule() string {
	if v.max == math.MaxInt {
		return fmt.Sprintf("a whole number >= %d", v.min)
	}
	return fmt.Sprintf("a whole number %d..%d", v.min, v.max)
}

// autoInt is Auto, or a number within bounds.
type autoInt struct{ intValue }

const autoWord = "auto"

func (v autoInt) set(text string) error {
	if strings.TrimSpace(text) == autoWord {
		*v.p = Auto
		return nil
	}
	if v.intValue.set(text) != nil {
		return must(v)
	}
	return nil
}
func (v autoInt) String() string {
	if *v.p == Auto {
		return autoWord
	}
	return v.intValue.String()
}
func (v autoInt) rule() string { return autoWord + " or " + v.intValue.rule() }

// optionalInt prints "" for 0, which stands for unset.
type optionalInt struct{ intValue }

func (v optionalInt) String() string {
	if *v.p == 0 {
		return ""
	}
	return v.intValue.String()
}

type durationValue struct {
	p         *time.Duration
	min, max  time.Duration
	zeroNever bool // 0 is allowed and means never
}

func (v durationValue) set(text string) error {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	switch {
	case err != nil:
		return must(v)
	case v.zeroNever && d == 0:
	case d < v.min || d > v.max:
		return must(v)
	}
	*v.p = d
	return nil
}
func (v durationValue) String() string { return short(*v.p) }
func (v durationValue) kind() string   { return "duration" }
func (v durationValue) rule() string {
	r := fmt.Sprintf("a duration with its unit, %s..%s", short(v.min), short(v.max))
	if v.zeroNever {
		r += ", or 0 for never"
	}
	return r
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

type boolValue struct{ p *bool }

func (v boolValue) set(text string) error {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true":
		*v.p = true
	case "false":
		*v.p = false
	default:
		return must(v)
	}
	return nil
}
func (v boolValue) String() string { return strconv.FormatBool(*v.p) }
func (v boolValue) kind() string   { return "bool" }
func (v boolValue) rule() string   { return "true or false" }

// wordValue is one word of a closed set.
type wordValue[T ~string] struct {
	p     *T
	words []T
}

func (v wordValue[T]) set(text string) error {
	w := T(strings.TrimSpace(text))
	if !slices.Contains(v.words, w) {
		return must(v)
	}
	*v.p = w
	return nil
}
func (v wordValue[T]) String() string { return string(*v.p) }
func (v wordValue[T]) kind() string   { return "word" }
func (v wordValue[T]) rule() string {
	words := make([]string, len(v.words))
	for i, w := range v.words {
		words[i] = string(w)
	}
	return "one of " + strings.Join(words, ", ")
}

type pathValue struct{ p *string }

func (v pathValue) set(text string) error {
	if strings.ContainsRune(text, 0) {
		return must(v)
	}
	*v.p = text
	return nil
}
func (v pathValue) String() string { return *v.p }
func (v pathValue) kind() string   { return "path" }
func (v pathValue) rule() string   { return "a path without NUL bytes" }

// addressValue is host:port, the host may be empty, the port a number.
type addressValue struct{ p *string }

func (v addressValue) set(text string) error {
	text = strings.TrimSpace(text)
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return must(v)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return must(v)
	}
	*v.p = text
	return nil
}
func (v addressValue) String() string { return *v.p }
func (v addressValue) kind() string   { return "address" }
func (v addressValue) rule() string   { return "host:port, such as 127.0.0.1:8087 or :8444" }

// optionalAddress is an address, or "" for no listener.
type optionalAddress struct{ addressValue }

func (v optionalAddress) set(text string) error {
	if strings.TrimSpace(text) == "" {
		*v.p = ""
		return nil
	}
	return v.addressValue.set(text)
}

// loopbackAddress is an address that other machines cannot reach, or "" for no listener.
type loopbackAddress struct{ optionalAddress }

func (v loopbackAddress) set(text string) error {
	var address string
	if err := (optionalAddress{addressValue{&address}}).set(text); err != nil || address != "" && !localOnly(address) {
		return ruleError("must be " + v.rule() + ": whoever reaches it may do everything")
	}
	*v.p = address
	return nil
}
func (v loopbackAddress) rule() string { return "host:port on loopback, such as 127.0.0.1:8088" }

// endpointValue is an http or https URL; its String hides the credentials.
type endpointValue struct{ p *string }

func (v endpointValue) set(text string) error {
	text = strings.TrimSpace(text)
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return must(v)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return must(v)
	}
	*v.p = text
	return nil
}
func (v endpointValue) String() string { return maskURL(*v.p) }
func (v endpointValue) kind() string   { return "url" }
func (v endpointValue) rule() string {
	return "an http:// or https:// URL with a host and without query or fragment"
}

// maskURL replaces what may be a secret in a URL: user and password, query and
// fragment. What cannot be read as a URL and might hold one is not shown at all.
func maskURL(text string) string {
	if !strings.ContainsAny(text, "@?#") {
		return text
	}
	const mask = "xxxxx"
	u, err := url.Parse(text)
	if err != nil || u.User == nil && strings.Contains(text, "@") {
		return "(hidden: may hold credentials)"
	}
	if u.User != nil {
		u.User = url.User(mask)
	}
	if u.RawQuery != "" {
		u.RawQuery = mask
	}
	if u.Fragment != "" {
		u.Fragment, u.RawFragment = mask, ""
	}
	return u.String()
}
