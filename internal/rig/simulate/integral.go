package simulate

// gated is a clock that runs only while its gate is open. Sums over a part of the
// time are then integrals over such a clock, and nobody has to settle them when the
// gate moves.
type gated struct {
	open         bool
	total, since int64
}

func (g *gated) set(open bool, now int64) {
	if g.open == open {
		return
	}
	g.total, g.open, g.since = g.at(now), open, now
}

func (g *gated) at(now int64) int64 {
	if g.open {
		return g.total + now - g.since
	}
	return g.total
}

// integral is the sum of a whole number over a clock.
type integral struct{ value, sum, last int64 }

func (i *integral) set(value, clock int64) {
	i.sum += i.value * (clock - i.last)
	i.value, i.last = value, clock
}

func (i *integral) at(clock int64) int64 { return i.sum + i.value*(clock-i.last) }
