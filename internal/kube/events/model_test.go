package events

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// modelHost is what a plain reading of docs/dev/events.md knows of a host.
type modelHost struct {
	name      string
	told, now situation
	text      string // of the newest answer
	note      note
	refusal   string
	changed   time.Duration // when now began
	since     time.Duration // when there came to be something to tell
	order     int
	pending   bool
	free      time.Duration
	last      time.Duration // when it was told of last; -1: never
}

// model is the board without any heap: it looks at all hosts each time.
type model struct {
	t         *rapid.T
	board     *board
	now       time.Duration
	perMinute int
	hosts     map[string]*modelHost
	begun     []time.Duration // all sends
	order     int
	stopped   time.Duration
	stop      time.Duration
	sent      *modelHost
	task      task
}

func (m *model) host(name string) *modelHost {
	if m.hosts[name] == nil {
		m.hosts[name] = &modelHost{name: name, last: -1}
	}
	return m.hosts[name]
}

// settle brings pending up to date.
func (m *model) settle(h *modelHost) {
	pending := h.note.reason != "" || h.now.class != quiet && h.now != h.told
	if pending && !h.pending && h != m.sent {
		m.order++
		h.since, h.order = m.now, m.order
	}
	h.pending = pending && h != m.sent
}

func (m *model) answer(name string, a *api.Answer) {
	ask(m.board, m.now, key{"ns", name}, a)
	h, s := m.host(name), situationOf(a)
	if s.class == holding {
		if h.now.class == turn || h.now.class == released {
			return
		}
		s.class = quiet
	}
	if s.class == turn && h.now.class != turn && h.told.class == quiet && (h.now.class == quiet || h.now.class == unknown) {
		s.class = quiet
	}
	if s.class == quiet {
		h.told = situation{}
		if h.note.reason == "" {
			h.note = note{}
		}
	}
	if h.now != s {
		h.now, h.changed = s, m.now
	}
	h.text = a.Message
	m.settle(h)
}

func (m *model) release(name string) {
	m.board.released(m.now, m.board.enter(key{"ns", name}), "hand")
	h := m.host(name)
	if h.now.class == released && h.told == h.now {
		return
	}
	h.now, h.changed = situation{class: released}, m.now
	h.note = note{text: "The hold was released (hand): it queues again when it asks next"}
	m.settle(h)
}

func (m *model) refuse(name, why string) {
	m.board.refused(m.now, m.board.enter(key{"ns", name}), why)
	h := m.host(name)
	if h.refusal == why {
		return
	}
	h.refusal, h.note = why, note{reasonRefused, "Release refused: " + why}
	m.settle(h)
}

func (m *model) forget(name string) {
	if h := m.board.hosts[key{"ns", name}]; h != nil {
		m.board.forget(h)
	}
	if m.sent == m.hosts[name] {
		m.sent = nil
	}
	delete(m.hosts, name)
}

// first is the host whose turn it is to be told of.
func (m *model) first() *modelHost {
	var best *modelHost
	rank := func(h *modelHost) int {
		if h.now.class.urgent() || h.note.text != "" {
			return 0
		}
		return 1
	}
	for _, h := range m.hosts {
		due := h.free
		if h.now.class == unknown && h.note.text == "" {
			due = max(due, h.changed+settleUnknown)
		}
		switch {
		case !h.pending || due > m.now:
		case best == nil, rank(h) < rank(best), rank(h) == rank(best) && h.order < best.order:
			best = h
		}
	}
	return best
}

func (m *model) begins() {
	if m.task.host != nil {
		return // one at a time
	}
	t, wait, ok := m.board.take(m.now, events)
	first, within := m.first(), 0
	for _, at := range m.begun {
		if m.now-at < time.Minute {
			within++
		}
	}
	switch {
	case ok && first == nil:
		m.t.Fatalf("%s is told of, and there is nothing to tell", t.host.name)
	case !ok && first != nil && m.now >= m.stopped && within == 0:
		m.t.Fatalf("%s is not told of for another %v", first.name, wait)
	case !ok && wait <= 0:
		m.t.Fatalf("nothing, and again at once")
	case !ok:
		return
	case m.now < m.stopped:
		m.t.Fatalf("told while the API server is down")
	case within >= m.perMinute:
		m.t.Fatalf("more than %d within a minute", m.perMinute)
	case t.host.name != first.name:
		m.t.Fatalf("%s is told of before %s", t.host.name, first.name)
	case first.last >= 0 && m.now-first.last < perHost:
		m.t.Fatalf("%s twice within a minute", first.name)
	}
	want := news{note: first.note}
	if first.now != first.told {
		want.situation, want.text = first.now, first.text
		if first.now.class == released {
			want.text = ""
		}
	}
	if t.news != want {
		m.t.Fatalf("%s: %+v, want %+v", first.name, t.news, want)
	}
	m.begun = append(m.begun, m.now)
	m.task, m.sent, first.pending = t, first, false
}

func (m *model) ends(o outcome) {
	if m.task.host == nil {
		return
	}
	m.board.done(m.now, m.task, o, 0)
	switch o {
	case down:
		m.stop = min(max(2*m.stop, leastPause), mostPause)
		m.stopped = m.now + m.stop
	case told:
		m.stop, m.stopped = 0, 0
	}
	h := m.sent
	if h != nil {
		m.sent = nil
		h.free = m.now
		if o != down && o != overtaken {
			h.free, h.last = m.now+perHost, m.now
		}
		if o == overtaken && h.now == m.task.news.situation {
			h.told, h.now, h.changed = situation{}, situation{}, m.now
			if h.note.reason == "" {
				h.note = note{}
			}
		}
		if o == told || o == useless {
			if h.now.class == quiet {
				h.told = situation{}
			} else if m.task.news.situation.class != quiet {
				h.told = m.task.news.situation
			}
			if h.note == m.task.news.note {
				h.note = note{}
			}
		}
		m.settle(h)
	}
	m.task = task{}
}

// TestTheBoardIsItsModel holds, for any history: no host twice within a minute, never
// more than the budget within any minute, the urgent first and then the oldest, always
// the newest situation, and in the end everything is told.
func TestTheBoardIsItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		perMinute := rapid.SampledFrom([]int{1, 2, 7, 30}).Draw(t, "perMinute")
		m := &model{t: t, board: newBoard(perMinute, false, false), perMinute: perMinute, hosts: map[string]*modelHost{}}
		name := rapid.Custom(func(t *rapid.T) string { return fmt.Sprint("h", rapid.IntRange(0, 5).Draw(t, "host")) })
		reason := rapid.SampledFrom(api.Reasons())
		t.Repeat(map[string]func(*rapid.T){
			"answer": func(t *rapid.T) {
				a := no(reason.Draw(t, "reason"), rapid.IntRange(0, 3).Draw(t, "position"))
				a.Ready = a.Reason.Yes()
				if a.Reason == api.ReasonHold {
					a.Episode = rapid.SampledFrom([]string{"", "e1", "e2"}).Draw(t, "episode")
				}
				m.answer(name.Draw(t, "name"), a)
			},
			"release": func(t *rapid.T) { m.release(name.Draw(t, "name")) },
			"refuse": func(t *rapid.T) {
				m.refuse(name.Draw(t, "name"), rapid.SampledFrom([]string{"e1", "e2"}).Draw(t, "why"))
			},
			"forget": func(t *rapid.T) { m.forget(name.Draw(t, "name")) },
			"begins": func(t *rapid.T) { m.begins() },
			"ends": func(t *rapid.T) {
				o := rapid.SampledFrom([]outcome{told, told, told, useless, down, overtaken}).Draw(t, "outcome")
				if o == overtaken && !m.task.news.situation.overtaken(false, m.task.news.situation.class != turn) {
					o = told // a fact is never over
				}
				m.ends(o)
			},
			"time": func(t *rapid.T) {
				m.now += rapid.SampledFrom([]time.Duration{1, time.Second, 10 * time.Second, perHost - 1, perHost, settleUnknown}).Draw(t, "passes")
			},
		})
		// Nobody asks any more: all is told.
		for range 3*len(m.hosts) + 3 {
			m.ends(told)
			m.now += 2 * time.Minute
			m.begins()
		}
		m.ends(told)
		for _, h := range m.hosts {
			if h.now.class != quiet && h.told != h.now || h.note.reason != "" {
				t.Fatalf("%s is never told: %+v", h.name, h)
			}
		}
		if s := m.board.stats().Events; s.Pending != 0 {
			t.Fatalf("%+v", s)
		}
	})
}

// TestTheBudgetHoldsInEveryMinute spends as fast as it may, at any times.
func TestTheBudgetHoldsInEveryMinute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		perMinute := rapid.IntRange(1, 400).Draw(t, "perMinute")
		b := newBudget(perMinute)
		var begun []time.Duration
		now := time.Duration(0)
		for range rapid.IntRange(1, 1500).Draw(t, "requests") {
			now += b.wait(now)
			if rapid.IntRange(0, 99).Draw(t, "sleeps") == 0 {
				now += time.Duration(rapid.Int64Range(0, int64(3*time.Minute)).Draw(t, "for"))
			}
			b.spend(now)
			begun = append(begun, now)
			if before := len(begun) - 1 - perMinute; before >= 0 && now-begun[before] < time.Minute {
				t.Fatalf("%d within %v", perMinute+1, now-begun[before])
			}
		}
		if spent := begun[len(begun)-1]; spent > 0 && perMinute > 10 {
			// And it is used: in the long run nine tenths of it at least.
			if most := time.Duration(len(begun)) * time.Minute / time.Duration(perMinute*9/10); b.wait(now) > most {
				t.Fatalf("waits for %v", b.wait(now))
			}
		}
	})
}

func TestAClockThatIsSetBack(t *testing.T) {
	b := newBudget(60)
	b.spend(10 * time.Hour)
	if w := b.wait(0); w > b.interval {
		t.Errorf("waits for %v", w)
	}
}
