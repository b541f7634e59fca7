package fairshare

import (
	"math"
	"time"
)

// Kind is a kind of work: slots for work of one kind are held for similar times.
type Kind uint8

// kinds is how many there are.
const kinds = 8

// The constants of the forecast were chosen with the standard storms of
// internal/rig/simulate, which hold what it promises.
const (
	heldWeight = 64                          // a slot's time counts as one in so many: what was long ago is forgotten
	priorSlots = 5                           // of a kind of which few slots have ended those of all kinds count as so many
	normal90   = 1.28                        // nine of ten values of a normal distribution are below mean + 1.28 deviations
	detours    = 1.15                        // hosts are overtaken, fail, and come back for their next work
	usualWidth = 1.3                         // for that reason nine of ten take longer than chance alone makes …
	earlyWidth = 3.4                         // … and while little is known: this by the root of how many slots of their kind have ended
	mostWidth  = usualWidth + earlyWidth*0.6 // a wider range says nothing
	foreseeing = time.Second                 // for so long what was worked out is used
)

// forecast is what was observed of granted slots, to tell hosts when theirs may come. Its size does
// not depend on how many hosts or slots there are.
type forecast struct {
	held   [kinds]held
	queued [kinds]int // hosts that wait or are called, by what they want
	// Granted slots that are held now, and the sum of the milliseconds at which they were given.
	running  int
	sinceSum int64

	// What follows from these, worked out anew now and then.
	at     time.Duration
	known  bool
	mean   float64 // seconds for which the hosts of the queue will hold their slots
	square float64 // mean of the squares of these
	width  float64 // by how much the nine of ten are more than chance alone makes
	loose  float64 // hosts from further back that get slots before
}

// held is for how long slots of one kind were held: decaying moments, in seconds.
type held struct {
	ended           int
	n, sum, squares float64
}

// Wants says what h asks for a slot for. Call it before Enqueue.
func (s *Scheduler) Wants(h *Host, k Kind) {
	if h.state == Holding || h.kind == k {
		return // a slot counts as what it was given for
	}
	if queues(h.state) {
		s.forecast.queued[h.kind]--
		s.forecast.queued[k]++
	}
	h.kind = k
}

func queues(state State) bool { return state == Waiting || state == Called }

// moved counts h, which goes from one state to another.
func (f *forecast) moved(h *Host, from, to State) {
	if queues(from) {
		f.queued[h.kind]--
	}
	if queues(to) {
		f.queued[h.kind]++
	}
	if from == Holding && h.granted {
		f.running--
		f.sinceSum -= h.since.Milliseconds()
	}
	if to == Holding && h.granted {
		f.running++
		f.sinceSum += h.since.Milliseconds()
	}
}

// add takes the time for which a slot was held.
func (h *held) add(d time.Duration) {
	const keep = 1 - 1.0/heldWeight
	t := max(d.Seconds(), 1)
	h.ended++
	h.n, h.sum, h.squares = h.n*keep+1, h.sum*keep+t, h.squares*keep+t*t
}

// foresee works out what follows from the observations.
func (s *Scheduler) foresee() {
	f := &s.forecast
	var all held
	for _, h := range f.held {
		all.n, all.sum, all.squares = all.n+h.n, all.sum+h.sum, all.squares+h.squares
	}
	f.at, f.known = s.now, false
	if s.ended < enoughEnded {
		return
	}
	mean, square := all.sum/all.n, all.squares/all.n
	queued := 0.0
	f.mean, f.square, f.width = 0, 0, 0
	for k, n := range f.queued {
		h, n := &f.held[k], float64(n)
		if n > 0 {
			queued += n
			f.mean += n * (h.sum + priorSlots*mean) / (h.n + priorSlots)
			f.square += n * (h.squares + priorSlots*square) / (h.n + priorSlots)
			f.width += n * earlyWidth / math.Sqrt(float64(h.ended+1))
		}
	}
	if queued == 0 {
		queued, f.mean, f.square, f.width = 1, mean, square, earlyWidth/math.Sqrt(float64(s.ended+1))
	}
	longer := 1 + f.unended(s.now, mean, square)/(all.sum+priorSlots*mean)
	f.mean, f.square = f.mean/queued*longer, f.square/queued*longer*longer
	f.width = usualWidth + f.width/queued
	f.known = f.width < mostWidth
	f.loose = float64(s.callAhead())
	if s.median > s.cfg.RedeemAfter { // called hosts come back late, and others redeem
		f.loose += float64(max(minOvertake, s.cfg.Limit)) / 2
	}
}

// unended is for how many seconds more than usual the slots that are held now have been held. The
// first slots to end are the shortest: without this a forecast at the begin of a storm is far too short.
func (f *forecast) unended(now time.Duration, mean, square float64) float64 {
	if f.running == 0 {
		return 0
	}
	age := (float64(now.Milliseconds()) - float64(f.sinceSum)/float64(f.running)) / 1000
	usual := square / mean / 2 // mean age of slots that are held, at a moment without meaning
	return float64(f.running) * max(0, age-usual)
}

// expect is when the host at a position may have its slot: half of such hosts have it within the first
// duration, nine of ten within the second. Both are Unmeasured where it is not known. To a
// capped host what is free now is no use, and the slots of its lane are few.
func (s *Scheduler) expect(position int, capped bool) (half, most time.Duration) {
	turns, slots := max(0, position-s.free), s.used()
	if capped {
		_, lane := s.failingUse()
		if n := max(1, position-s.lane[Healthy].waiting); n*slots > turns*lane {
			turns, slots = n, lane
		}
	}
	f := &s.forecast
	switch {
	case turns == 0:
		return 0, 0
	case !f.known:
		return Unmeasured, Unmeasured
	}
	behind := float64(max(0, s.Queued()-position))
	ends := float64(turns) - 0.5 + min(f.loose, behind/2) // slots that end before; of the first a part is over
	apart := float64(time.Second) / float64(slots)
	usual := detours * ends * f.mean
	unusual := (usual + normal90*math.Sqrt(ends*f.square)) * f.width
	return time.Duration(usual * apart), time.Duration(unusual*apart) + s.median/2
}

// used is how many slots hosts of this queue get one after the other: those of its limit, or fewer where
// hosts of other queues hold the total.
func (s *Scheduler) used() int {
	holding := s.lane[Healthy].holding + s.lane[Failing].holding
	if s.free == 0 && holding > 0 {
		return min(holding, s.cfg.Limit)
	}
	return s.cfg.Limit
}
