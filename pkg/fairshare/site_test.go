package fairshare_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/nodes"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// site is an order over a ledger, beside an Ironic in which granted hosts work at once.
type site struct {
	now    time.Time
	ledger *slots.Ledger
	slots  slots.Config
	order  *fairshare.Order
	ironic *nodes.Ironic
}

func newSite(limits slots.Limits, weights fairshare.Weights) *site {
	s := &site{now: time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC), ironic: nodes.New()}
	s.slots = slots.DefaultConfig()
	s.slots.Limits, s.slots.StuckAfter = limits, 0
	var err error
	if s.ledger, err = slots.New(s.slots, s.now, s); err != nil {
		panic(err)
	}
	s.order = fairshare.New(weights, s.ledger)
	s.poll()
	s.now = s.now.Add(2 * time.Minute)
	s.poll()
	return s
}

// The site follows the ledger as pkg/admission does.

func (s *site) SlotBegan(_ time.Time, h *slots.Host) { s.order.Leave(h) }
func (s *site) SlotEnded(now time.Time, h *slots.Host, slot *slots.Slot, how slots.How) {
	s.order.SlotEnded(now, h, slot, how)
}
func (s *site) Merged(_ time.Time, from, _ *slots.Host) { s.order.Leave(from) }
func (s *site) WorkEnded(time.Time, slots.Ending)       {}
func (s *site) Noticed(slots.Notice)                    {}

func (s *site) poll() {
	s.ledger.Observe(s.now, s.ironic.Poll(s.now, s.ledger))
	s.order.SlotsChanged(s.now)
}

// find is the record of the host metal3/NAME, or of NAMESPACE/NAME.
func (s *site) find(host string) *slots.Host {
	return s.ledger.Find(slots.ID{UUID: nodes.UUID(host), Name: nodes.Name(host)})
}

// ask serves an ask to inspect a host with so many errors. With a yes its node is at work at once.
func (s *site) ask(host, group string, errors int) (h *slots.Host, a fairshare.Answer, open bool) {
	if s.ironic.State(host) == "" {
		s.move(host, "manageable", "group="+group)
		s.ledger.ObserveNode(s.now, s.ironic.Fetch(s.now, s.ledger, nodes.UUID(host)))
	}
	ask := slots.Ask{ID: slots.ID{UUID: nodes.UUID(host), Name: nodes.Name(host)}, Op: api.OpInspect, Exists: true}
	h, standing := s.ledger.Ask(s.now, ask, true)
	if standing != slots.Open {
		return h, a, false
	}
	s.order.Enter(s.now, h, errors, false)
	if a = s.order.Ask(s.now, h, s.ledger.Slots(h.Pool).Free); a.Yes {
		s.ledger.Grant(s.now, h, ask)
		s.order.Take(s.now, h)
		s.move(host, "inspecting", "agent")
		s.poll()
	}
	return h, a, true
}

func (s *site) move(host, state string, options ...string) {
	if err := s.ironic.Move(s.now, host, state, options...); err != nil {
		panic(err)
	}
}

// inconsistent compares the numbers of every pool with a count of its hosts.
func (s *site) inconsistent() string {
	for _, p := range s.ledger.Pools() {
		inLine, aside, waiting := 0, len(s.order.Others(p)), 0
		for range s.order.Hosts(p) {
			inLine++
		}
		v := s.order.View(s.now, p)
		for _, t := range v.Tenants {
			waiting += t.Waiting
		}
		if v.Waiting != inLine || waiting != inLine || v.Silent+v.Stopped != aside {
			return fmt.Sprintf("pool %q: %d are in line and %d aside, shown are %+v", p, inLine, aside, v)
		}
	}
	return ""
}

// do carries out a line such as "+3s ask a errors=2" and returns what it comes to.
//
//	ask HOST [errors=N] [group=G]   yes, or its position: 3, or 3 capped
//	end HOST | fail HOST            its work ends, and a poll shows it
//	stop HOST | leave HOST          something stops it; it wants nothing any more
//	join HOST INTO                  both are records of one host, that of INTO
//	waited HOST                     since it asked first
//	queue                           those that are in line, in their order
//	limit N                         another limit
func (s *site) do(line string) string {
	words := strings.Fields(line)
	if past, found := strings.CutPrefix(words[0], "+"); found {
		d, err := time.ParseDuration(past)
		if err != nil {
			panic(err)
		}
		for end := s.now.Add(d); s.now.Before(end); s.poll() {
			s.now = s.now.Add(min(5*time.Second, end.Sub(s.now)))
		}
		words = words[1:]
	}
	switch verb := words[0]; verb {
	case "ask":
		errors, group := 0, ""
		for _, w := range words[2:] {
			if n, found := strings.CutPrefix(w, "errors="); found {
				errors, _ = strconv.Atoi(n)
			}
			if g, found := strings.CutPrefix(w, "group="); found {
				group = g
			}
		}
		switch _, a, open := s.ask(words[1], group, errors); {
		case !open:
			return "held"
		case a.Yes:
			return "yes"
		case a.Capped:
			return fmt.Sprint(a.Position, " capped")
		default:
			return fmt.Sprint(a.Position)
		}
	case "end":
		s.move(words[1], "manageable", "noagent")
		s.poll()
	case "fail":
		s.move(words[1], "inspect_failed", "error=x", "noagent")
		s.poll()
	case "stop":
		s.order.Stop(s.find(words[1]))
	case "leave":
		s.order.Leave(s.find(words[1]))
	case "join":
		from := s.find(words[1])
		turn := from.Turn
		s.order.Leave(from)
		s.order.Inherit(s.find(words[2]), turn)
	case "waited":
		return s.now.Sub(s.find(words[1]).Turn.Since).String()
	case "limit":
		n, _ := strconv.Atoi(words[1])
		s.slots.Limits = slots.Limits{Total: n}
		if err := s.ledger.Configure(s.now, s.slots); err != nil {
			panic(err)
		}
		s.order.Configure(nil)
		s.order.SlotsChanged(s.now)
	case "queue":
		var all []string
		for _, p := range s.ledger.Pools() {
			for h := range s.order.Hosts(p) {
				all = append(all, nodes.Host(h.UUID, h.Name))
			}
		}
		return strings.Join(all, ",")
	default:
		panic(line)
	}
	return ""
}
