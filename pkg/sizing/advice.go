package sizing

import (
	"fmt"
	"math"
	"time"
)

// Window is what a window has shown, as it is kept.
type Window struct {
	At       time.Time `json:"at"` // its end
	Limit    int       `json:"limit"`
	Occupied int       `json:"occupied"` // slots, at most
	Booting  float64   `json:"booting"`  // hosts at once, on average
	Up       int       `json:"up"`
	Lost     int       `json:"lost"`
	// Slower is how many times as long boots took as without load; 0: not known.
	Slower float64 `json:"slower,omitempty"`
	Full   bool    `json:"full,omitempty"` // every slot was used, and hosts waited
}

// note keeps what a window has shown.
func (l *Limiter) note(now time.Time, w *window, r *result) {
	kept := Window{
		At: now.Round(0).UTC(), Limit: l.Limit(), Occupied: w.occupied, Booting: math.Round(10*w.load()) / 10,
		Up: r.up, Lost: r.lost, Full: w.full(l.Limit()),
	}
	if r.compared > 0 {
		kept.Slower = math.Round(100*math.Exp(r.slow)) / 100
	}
	l.history = append(l.history, kept)
	l.history = l.history[max(0, len(l.history)-keptWindows):]
}

// Verdict is what the evidence says of the limit in force.
type Verdict uint8

// The verdicts.
const (
	NotEnough Verdict = iota
	Raise
	Keep
	Lower
)

// Advice is the limit that the evidence speaks for.
type Advice struct {
	Verdict  Verdict
	Limit    int    // 0 with NotEnough
	Evidence string // a sentence without its full stop
}

// What advice goes by.
const (
	evidenceFor = 30 * 24 * time.Hour
	leastFull   = 2 // windows with every slot taken
	nearEnough  = 0.15
	growSmall   = 1.1
)

// Advice returns the limit that the evidence of the last 30 days speaks for (SZ-4).
func (l *Limiter) Advice(now time.Time) Advice {
	present := l.ceiling
	if l.adaptive {
		present = l.limit
	}
	if l.bad > 0 && now.Sub(l.badAt) < evidenceFor {
		return l.afterLosses(present)
	}
	full, boots, slower, booting := l.full(now, present)
	if full < leastFull {
		return Advice{Evidence: fmt.Sprintf("not enough evidence: %s while all %d slots were taken and hosts waited, some %d are needed",
			number(boots, "boot was timed", "boots were timed"), present, leastFull*newWindow(now, present).want)}
	}
	lost := fmt.Sprintf("of the last %d boots at %d slots none was lost", boots, present)
	if n := l.losses.count(); n > 0 {
		lost = fmt.Sprintf("of the last %d boots at %d slots %d were lost", boots, present, n)
	}
	switch {
	case slower > tooSlow:
		return Advice{Keep, present, fmt.Sprintf("boots take %.1f times as long as without load, with %.0f at once: more slots would gain next to nothing; %s", slower, booting, lost)}
	case slower > slowBad:
		return Advice{Raise, grown(present, growSmall), fmt.Sprintf("%s; they take %.1f times as long as without load, with %.0f at once: raise it in small steps", lost, slower, booting)}
	}
	return Advice{Raise, grown(present, growOn), lost + ", and they are as fast as with fewer: the site may stand more"}
}

func grown(limit int, by float64) int { return max(limit+1, int(math.Round(by*float64(limit)))) }

// afterLosses is the advice where some limit has lost boots.
func (l *Limiter) afterLosses(present int) Advice {
	text := fmt.Sprintf("boots were lost on %s with %d slots taken, %d worked on", l.badAt.UTC().Format("2 Jan 15:04"), l.bad, l.stood)
	switch {
	case l.adaptive, math.Abs(float64(present-l.stood)) <= nearEnough*float64(l.stood):
		return Advice{Keep, present, text}
	case present > l.stood:
		return Advice{Lower, l.stood, text}
	}
	return Advice{Raise, l.stood, text}
}

// full sums up the last windows that show what a limit of that size does: how many there are, their
// boots that came up, and how much slower these were with how many at once.
func (l *Limiter) full(now time.Time, limit int) (windows, boots int, slower, booting float64) {
	weight := 0
	for i := len(l.history) - 1; i >= 0 && windows < recentWindows; i-- {
		w := l.history[i]
		if !w.Full || now.Sub(w.At) > evidenceFor || float64(w.Occupied) < 0.8*float64(limit) || float64(w.Limit) > 1.25*float64(limit) {
			continue
		}
		windows++
		boots += w.Up
		booting += w.Booting
		if w.Slower > 0 {
			slower += float64(w.Up) * math.Log(w.Slower)
			weight += w.Up
		}
	}
	return windows, boots, math.Exp(slower / float64(max(1, weight))), booting / float64(max(1, windows))
}

const (
	keptWindows   = 16
	recentWindows = 6
)

// number is n with what it counts.
func number(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
