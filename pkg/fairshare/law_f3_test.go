package fairshare

import (
	"fmt"
	"testing"
)

// F-3: a called host is overtaken by younger calls at most C' + B times before it is due, and from then its first ask after (older due + 1) releases is a yes.
func TestF3_NobodyIsOvertakenForEver(t *testing.T) {
	t.Parallel()
	inWorlds(t, func(tr *traits) {
		// Slots come back by releases only; the hosts that wait are more than those slots.
		tr.foreign, tr.hosts, tr.limit = false, max(tr.hosts, 8), 1+tr.limit%4
	}, func() []law { return []law{&overtakeLaw{}} })
}

type overtakeLaw struct {
	calls map[int]*openCall // by host
	bound int               // the largest B so far
}

// openCall is one call as long as it is open.
type openCall struct {
	overtaken int
	due       bool
	older     int // called before it when it became due
	releases  int // since
}

func (l *overtakeLaw) check(w *world) error {
	if l.calls == nil {
		l.calls = map[int]*openCall{}
	}
	l.bound = max(l.bound, w.bound())
	e := &w.event
	if e.answer.Yes {
		if err := l.granted(w); err != nil {
			return err
		}
	}
	for i := range w.hosts {
		c := l.calls[i]
		switch {
		case w.hosts[i].state != Called:
			if e.verb == "ask" && i == e.host && !e.answer.Yes && c != nil {
				return fmt.Errorf("host %d lost its call by asking", i)
			}
			delete(l.calls, i)
		case c == nil:
			l.calls[i] = &openCall{}
		case e.verb == "release" && c.due:
			c.releases++
		case e.verb == "ask" && i == e.host && c.due && c.releases > c.older:
			return fmt.Errorf("host %d, due since %d releases with %d due before it, was told no", i, c.releases, c.older)
		}
	}
	return nil
}

// granted counts who was overtaken. The call that was granted is as old as the one
// that its host had, or took over.
func (l *overtakeLaw) granted(w *world) error {
	for i, c := range l.calls {
		if i == w.event.host || w.order(i) >= w.order(w.event.host) {
			continue
		}
		if c.overtaken++; c.overtaken > w.most+l.bound && !c.due {
			return fmt.Errorf("host %d was overtaken %d times; most called %d, B %d", i, c.overtaken, w.most, l.bound)
		}
	}
	for i, c := range l.calls {
		if c.due || w.grants < w.due(i) {
			continue
		}
		c.due = true
		for j := range l.calls {
			if j != i && j != w.event.host && w.order(j) < w.order(i) {
				c.older++
			}
		}
	}
	return nil
}

// bound is B as the scheduler has it now.
func (w *world) bound() int {
	switch t := w.turns.(type) {
	case *real:
		return t.s.bound()
	case *model:
		return t.s.overtake()
	}
	return 0
}
