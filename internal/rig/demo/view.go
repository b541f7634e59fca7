package demo

import (
	"fmt"
	"io"
	"time"
)

// view shows how the storm goes on.
type view interface {
	show(*meter) // is called often and keeps nothing of it
	end(*meter)  // shows the last sample, of which the summary tells
}

func newView(s *stage, m *meter, out Output) view {
	if out.Terminal {
		return newLive(s, out.Stderr)
	}
	return &lines{to: out.Stderr, speed: s.opt.Speed, next: m.first.at}
}

// lines is the progress for logs and pipes.
type lines struct {
	to    io.Writer
	speed float64
	next  time.Time
	shown time.Time // the sample of the last line
}

const lineEvery = 3 * time.Second

func (l *lines) show(m *meter) {
	if m.last.at.Before(l.next) {
		return
	}
	l.print(m)
}

func (l *lines) print(m *meter) {
	l.shown, l.next = m.last.at, m.last.at.Add(lineEvery)
	p := progressOf(m, l.speed)
	fmt.Fprintf(l.to, "%8s  slots %d/%d  working %d (peak %d)  waiting %d  provisioned %d/%d  given up %d\n",
		p.simulated, p.occupied, p.limit, p.working, p.peak, p.waiting, p.done, p.hosts, p.gaveUp)
}

func (l *lines) end(m *meter) {
	if !m.last.at.Equal(l.shown) {
		l.print(m)
	}
}

// progress is what both views show.
type progress struct {
	simulated                      time.Duration
	occupied, limit, working, peak int
	booting, waiting, delayed      int
	done, hosts, gaveUp            int
}

func progressOf(m *meter, speed float64) progress {
	s := m.last
	p := progress{
		simulated: time.Duration(s.at.Sub(m.first.at).Seconds() * speed * float64(time.Second)).Round(time.Second),
		occupied:  m.taken(s), limit: m.limit, working: s.truth.Working, peak: s.truth.PeakWorking,
		booting: s.truth.Booting, done: provisioned(s), hosts: len(s.hosts), gaveUp: gaveUp(s),
	}
	if s.slots != nil {
		p.limit = s.slots.Total.Limit // in force
	}
	for _, h := range s.hosts {
		if h.Waiting() {
			p.waiting++
		}
		if h.Delayed {
			p.delayed++
		}
	}
	return p
}
