package draw

import (
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

// Set reads "MIN-MAX" or one duration.
func (s *Span) Set(text string) error {
	low, high, ranged := strings.Cut(text, "-")
	minimum, err := time.ParseDuration(strings.TrimSpace(low))
	if err != nil {
		return fmt.Errorf("span %q: want a duration or MIN-MAX: %w", text, err)
	}
	maximum := minimum
	if ranged {
		if maximum, err = time.ParseDuration(strings.TrimSpace(high)); err != nil {
			return fmt.Errorf("span %q: want a duration or MIN-MAX: %w", text, err)
		}
	}
	read := Span{Min: minimum, Max: maximum}
	if err := read.Validate(); err != nil {
		return fmt.Errorf("span %q: %w", text, err)
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
