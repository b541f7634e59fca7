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
}

// estimateMeter compares what hosts are told first with what comes.
type estimateMeter struct {
	told              map[*host]told
	waits, half, most int
}

// told is until when the slot of a host should come.
type told struct{ half, most int64 }

// tells is a host being told when its slot may come, in seconds; 0 is that nobody knows.
func (m *estimateMeter) tells(h *host, now int64, half, most int) {
	if _, known := m.told[h]; half == 0 || known {
		return
	}
	if m.told == nil {
		m.told = map[*host]told{}
	}
	second := int64(time.Second)
	m.told[h] = told{half: now + int64(half)*second, most: now + int64(most)*second}
}

// comes is the slot of h.
func (m *estimateMeter) comes(h *host, now int64) {
	first, known := m.told[h]
	if !known {
		return
	}
	delete(m.told, h)
	m.waits++
	if now <= first.half {
		m.half++
	}
	if now <= first.most {
		m.most++
	}
}

func (m *estimateMeter) result() Estimates {
	if m.waits == 0 {
		return Estimates{}
	}
	all := float64(m.waits)
	return Estimates{m.waits, float64(m.half) / all, float64(m.most) / all}
}
