package simulate

import (
	"slices"
	"time"
)

// Estimates says how good the times were that waiting hosts were told. A host counts once for each
// slot that it was told a time for and got.
type Estimates struct {
	// EstimatedWaits were told a time.
	EstimatedWaits int `json:"estimatedWaits"`
	// EstimateHalf is the part of these that took no longer than the first time they were told,
	// which half should; EstimateMost those that took at most what nine of ten should.
	EstimateHalf float64 `json:"estimateHalf"`
	EstimateMost float64 `json:"estimateMost"`
	// EstimateMostLater is EstimateMost over all that a host was told while it waited.
	EstimateMostLater float64 `json:"estimateMostLater"`
	// EstimatePlaces are the same by the place in the queue at which the first time was told.
	EstimatePlaces []PlaceEstimate `json:"estimatePlaces"`
}

// PlaceEstimate is of the hosts that were told a first time at places up to UpTo; 0 is any place beyond the others.
type PlaceEstimate struct {
	UpTo  int     `json:"upTo"`
	Waits int     `json:"waits"`
	Half  float64 `json:"half"`
	Most  float64 `json:"most"`
}

var placeBounds = [...]int{1, 3, 10, 40}

// toldEach is how far the estimates are apart that are looked at: hosts are told one at each ask.
const toldEach = 5 * time.Minute

// told is one estimate: until when the slot should come.
type told struct {
	at, half, most int64
	place          int
}

// estimateMeter compares what hosts are told with what comes.
type estimateMeter struct {
	told   map[*host][]told              // since the host began to wait
	places [len(placeBounds) + 1]covered // by the place of the first estimate
	later  float64
}

// covered counts waits, and those that took no longer than what was told.
type covered struct{ waits, half, most int }

// tells is a host being told when its slot may come, in seconds; 0 is that nobody knows.
func (m *estimateMeter) tells(h *host, now int64, place, half, most int) {
	all := m.told[h]
	if half == 0 || len(all) > 0 && now-all[len(all)-1].at < int64(toldEach) {
		return
	}
	if m.told == nil {
		m.told = map[*host][]told{}
	}
	second := int64(time.Second)
	m.told[h] = append(all, told{at: now, half: now + int64(half)*second, most: now + int64(most)*second, place: place})
}

// comes is the slot of h.
func (m *estimateMeter) comes(h *host, now int64) {
	all := m.told[h]
	if len(all) == 0 {
		return
	}
	m.told[h] = all[:0]
	i, _ := slices.BinarySearch(placeBounds[:], all[0].place)
	c := &m.places[i]
	c.waits++
	if now <= all[0].half {
		c.half++
	}
	if now <= all[0].most {
		c.most++
	}
	true90 := 0
	for _, t := range all {
		if now <= t.most {
			true90++
		}
	}
	m.later += float64(true90) / float64(len(all))
}

func (m *estimateMeter) result() Estimates {
	var e Estimates
	var sum covered
	for i, c := range m.places {
		sum.waits, sum.half, sum.most = sum.waits+c.waits, sum.half+c.half, sum.most+c.most
		p := PlaceEstimate{Waits: c.waits, Half: part(c.half, c.waits), Most: part(c.most, c.waits)}
		if i < len(placeBounds) {
			p.UpTo = placeBounds[i]
		}
		e.EstimatePlaces = append(e.EstimatePlaces, p)
	}
	if sum.waits == 0 {
		return Estimates{}
	}
	e.EstimatedWaits, e.EstimateHalf, e.EstimateMost = sum.waits, part(sum.half, sum.waits), part(sum.most, sum.waits)
	e.EstimateMostLater = m.later / float64(sum.waits)
	return e
}

func part(of, all int) float64 {
	if all == 0 {
		return 0
	}
	return float64(of) / float64(all)
}
