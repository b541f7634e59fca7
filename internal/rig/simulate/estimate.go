package simulate

import "time"

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
}

// toldEach is how far the estimates are apart that are looked at: hosts are told one at each ask.
const toldEach = 5 * time.Minute

// told is one estimate: until when the slot should come.
type told struct{ at, half, most int64 }

// estimateMeter compares what hosts are told with what comes.
type estimateMeter struct {
	told              map[*host][]told // since the host began to wait
	waits, half, most int
	later             float64
}

// tells is a host being told when its slot may come, in seconds; 0 is that nobody knows.
func (m *estimateMeter) tells(h *host, now int64, half, most int) {
	all := m.told[h]
	if half == 0 || len(all) > 0 && now-all[len(all)-1].at < int64(toldEach) {
		return
	}
	if m.told == nil {
		m.told = map[*host][]told{}
	}
	second := int64(time.Second)
	m.told[h] = append(all, told{at: now, half: now + int64(half)*second, most: now + int64(most)*second})
}

// comes is the slot of h.
func (m *estimateMeter) comes(h *host, now int64) {
	all := m.told[h]
	if len(all) == 0 {
		return
	}
	m.told[h] = all[:0]
	m.waits++
	if now <= all[0].half {
		m.half++
	}
	if now <= all[0].most {
		m.most++
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
	if m.waits == 0 {
		return Estimates{}
	}
	n := float64(m.waits)
	return Estimates{
		EstimatedWaits: m.waits, EstimateHalf: float64(m.half) / n, EstimateMost: float64(m.most) / n, EstimateMostLater: m.later / n,
	}
}
