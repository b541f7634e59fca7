package draw

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Span is a closed range of durations from which one is drawn evenly. The zero
// value draws 0. It is a pflag value: "2m-6m", or "30s" for a fixed one.
type Span struct{ Min, Max time.Duration }

// String writes the span as Set reads it.
func (s Span) String() string {
	if s.Min == s.Max {
		return s.Min.String()
	}
	return s.Min.String() + "-" + s.Max.String()
}

// Type names the kind of value in a command's help.
func (s Span) Type() string { return "span" }

var errSpan = errors.New("must be a duration or a range MIN-MAX, such as 10m-60m")

// Set reads "MIN-MAX" or one duration.
func (s *Span) Set(text string) error {
	low, high, ranged := strings.Cut(text, "-")
	if !ranged {
		high = low
	}
	least, errLeast := time.ParseDuration(strings.TrimSpace(low))
	most, errMost := time.ParseDuration(strings.TrimSpace(high))
	read := Span{Min: least, Max: most}
	if errLeast != nil || errMost != nil || read.Validate() != nil {
		return errSpan
	}
	*s = read
	return nil
}

// Validate tells what is wrong with the span.
func (s Span) Validate() error {
	if s.Min < 0 || s.Max < s.Min {
		return fmt.Errorf("%s: want 0 <= minimum <= maximum", s)
	}
	return nil
}
