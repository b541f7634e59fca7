package draw

import (
	"errors"
	"strings"
	"time"
)

// Span is a closed range of durations. The zero value has only 0. It is a pflag value: "2m-6m", or "30s" for a fixed
// duration.
type Span struct{ Min, Max time.Duration }

// String returns the span as Set reads it.
func (s Span) String() string {
	if s.Min == s.Max {
		return s.Min.String()
	}
	return s.Min.String() + "-" + s.Max.String()
}

// Type implements pflag.Value.
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
	if errLeast != nil || errMost != nil || least < 0 || most < least {
		return errSpan
	}
	*s = Span{Min: least, Max: most}
	return nil
}
