package sizing

import (
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

const mostWindows = 64

// note keeps what a window has shown.
func (l *Limiter) note(now time.Time, w *window, r *result) {
	kept := Window{
		At: now.Round(0).UTC(), Limit: l.Limit(), Occupied: w.occupied, Booting: math.Round(10*w.load()) / 10,
		Up: r.up, Lost: r.lost + r.late, Full: w.full(l.Limit()),
	}
	if r.compared > 0 {
		kept.Slower = math.Round(100*math.Exp(r.slow)) / 100
	}
	l.history = append(l.history, kept)
	l.history = l.history[max(0, len(l.history)-mostWindows):]
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

// Advice returns what l would do where it may not.
func (l *Limiter) Advice(time.Time) Advice { return Advice{} }
