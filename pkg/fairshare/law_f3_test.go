package fairshare

import "fmt"

// F-3: a called host is overtaken by younger calls at most C' + B times before it is due, and from then its first ask after (older due + 1) releases is a yes, but for a failing host that gives way (F-11).
type overtakeLaw struct {
	calls   [maxGuests]openCall
	bound   int // the largest B so far
	foreign int
}

// openCall is one call as long as it is open.
type openCall struct {
	open, due bool
	overtaken int
	older     int // called before it when it became due
	releases  int // since
}

func (l *overtakeLaw) check(w *world) error {
	e := &w.event
	l.bound = max(l.bound, w.bound())
	if e.answer.Yes {
		if err := l.granted(w); err != nil {
			return err
		}
	}
	shrunk := w.foreign > l.foreign // the promise is for as long as slots come back
	l.foreign = w.foreign
	if e.swapped >= 0 { // other calls than before
		l.calls[e.swapped], l.calls[e.host] = openCall{open: true}, openCall{open: w.hosts[e.host].state == Called}
	}
	for i := range w.hosts {
		c := &l.calls[i]
		asks := e.verb == "ask" && i == e.host
		switch {
		case w.hosts[i].state != Called:
			if asks && c.open && !e.answer.Yes {
				return fmt.Errorf("host %d lost its call by asking", i)
			}
			c.open = false
		case !c.open:
			*c = openCall{open: true}
		case shrunk:
			c.releases = min(c.releases, 0) - w.cfg.Limit
		case e.verb == "release" && c.due:
			c.releases++
		case asks && c.due && c.releases > c.older && !w.givesWay(i):
			return fmt.Errorf("host %d, due since %d releases with %d due before it, was told no", i, c.releases, c.older)
		}
	}
	return nil
}

// granted counts who was overtaken. The call that was granted is as old as the one
// that its host had, or took over.
func (l *overtakeLaw) granted(w *world) error {
	host := w.event.host
	for i := range w.hosts {
		c := &l.calls[i]
		if !c.open || i == host || c.due {
			continue
		}
		if w.order(i) < w.order(host) {
			if c.overtaken++; c.overtaken > w.most+l.bound {
				return fmt.Errorf("host %d was overtaken %d times; most called %d, B %d", i, c.overtaken, w.most, l.bound)
			}
		}
		if c.due = w.grants >= w.due(i); !c.due {
			continue
		}
		for j := range w.hosts {
			if l.calls[j].open && j != host && w.order(j) < w.order(i) {
				c.older++
			}
		}
	}
	return nil
}

// bound is B as the scheduler has it now.
func (w *world) bound() int {
	switch t := w.turns.(type) {
	case *actual:
		return t.s.bound()
	case *model:
		return t.s.overtake()
	}
	return 0
}
