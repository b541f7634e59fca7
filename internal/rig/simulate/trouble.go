package simulate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// TroubleKind is what befalls a site.
type TroubleKind string

// The troubles.
const (
	// TroubleThrottle: the throttle is killed, and started again after For.
	TroubleThrottle TroubleKind = "throttle"
	// TroubleBMO: the operator is killed, and started again after For.
	TroubleBMO TroubleKind = "bmo"
	// TroubleIronic: Ironic's API cannot be reached for For; hosts go on working.
	TroubleIronic TroubleKind = "ironic"
)

// Trouble befalls the site At after the storm's begin, For so long.
type Trouble struct {
	Kind    TroubleKind
	At, For time.Duration
}

// String writes a trouble as ParseTrouble reads it.
func (t Trouble) String() string { return fmt.Sprintf("%s@%v+%v", t.Kind, t.At, t.For) }

// ParseTrouble reads KIND@AT+FOR, such as bmo@1h+5m.
func ParseTrouble(text string) (Trouble, error) {
	kind, rest, ok := strings.Cut(text, "@")
	at, length, also := strings.Cut(rest, "+")
	if !ok || !also {
		return Trouble{}, fmt.Errorf("%q: must be KIND@AT+FOR, such as bmo@1h+5m", text)
	}
	t := Trouble{Kind: TroubleKind(kind)}
	var err error
	if t.At, err = time.ParseDuration(at); err != nil {
		return Trouble{}, fmt.Errorf("%q: AT %q must be a duration, such as 1h", text, at)
	}
	if t.For, err = time.ParseDuration(length); err != nil {
		return Trouble{}, fmt.Errorf("%q: FOR %q must be a duration, such as 5m", text, length)
	}
	if t.For == 0 {
		return Trouble{}, fmt.Errorf("%q: FOR must be above 0", text)
	}
	if err := t.validate(); err != nil {
		return Trouble{}, fmt.Errorf("%q: %w", text, err)
	}
	return t, nil
}

var troubleKinds = []TroubleKind{TroubleThrottle, TroubleBMO, TroubleIronic}

// longestTrouble keeps sums of durations far from overflowing.
const longestTrouble = 10_000 * time.Hour

func (t Trouble) validate() error {
	switch {
	case !slices.Contains(troubleKinds, t.Kind):
		return fmt.Errorf("%q must be throttle, bmo or ironic%s", t.Kind, didYouMean(t.Kind, troubleKinds))
	case t.At < 0 || t.For < 0 || t.At > longestTrouble || t.For > longestTrouble:
		return errors.New("durations must not be negative, nor above 10000h")
	}
	return nil
}

// befall begins trouble i. Two of one kind may overlap: the later end counts.
func (s *sim) befall(i int) {
	t := s.opt.Troubles[i]
	switch t.Kind {
	case TroubleThrottle:
		s.throttleDown++
		s.remember()
		if s.watch != nil {
			s.watch.life++
		}
	case TroubleBMO:
		s.bmo.kill()
	case TroubleIronic:
		s.ironicDown++
	}
	s.after(t.For, func() { s.fail(s.relieve(i)) })
}

// relieve ends trouble i.
func (s *sim) relieve(i int) error {
	switch s.opt.Troubles[i].Kind {
	case TroubleThrottle:
		if s.throttleDown--; s.throttleDown == 0 && s.watch != nil {
			return s.startThrottle()
		}
	case TroubleBMO:
		s.bmo.begin()
	case TroubleIronic:
		s.ironicDown--
	}
	return nil
}
