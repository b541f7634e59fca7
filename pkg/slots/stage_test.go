package slots_test

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/nodes"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// stage plays a ledger beside an Ironic that lines of text move: see do. Host a is the node uuid-a, metal3~a.
type stage struct {
	*slots.Ledger
	cfg    slots.Config
	now    time.Time
	ironic *nodes.Ironic
	puts   map[string]*slots.Put
	putBy  map[string]string // its host
	sent   map[string]func() // observations on their way, by name
	told   []string          // what the ledger told during the line
	count  map[string]uint64 // of what it told in this term, and of the slots that were granted

	// The last line, that of the last yes to a host, and that when what comes now was sent; 0: nothing comes.
	line, came int
	yes        map[string]int
	early      string // a slot that ended by what was sent before the last yes
}

var start = time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)

func newStage(change func(*slots.Config)) (*stage, error) {
	s := &stage{
		cfg: slots.DefaultConfig(), now: start, ironic: nodes.New(), sent: map[string]func(){},
		puts: map[string]*slots.Put{}, putBy: map[string]string{}, yes: map[string]int{}, count: map[string]uint64{},
	}
	s.cfg.Total, s.cfg.StuckCap = 2, 1
	if change != nil {
		change(&s.cfg)
	}
	var err error
	s.Ledger, err = slots.New(s.cfg, s.now, teller{s})
	return s, err
}

// do carries one line out and returns its result. A line may begin with a time that passes first: "+30s poll".
//
//	ask HOST OP […]     serves an ask as pkg/admission does: granted, full, held, done, exempt, or why it gets no slot
//	peek HOST OP […]    how a host would stand
//	put P HOST TARGET   takes a slot for a PUT, as ask does; then sent P, and answered P CODE, broken P or unsent P
//	ironic HOST STATE […]   Ironic moves a node, gone deletes it
//	poll [N]            N complete polls, sent and answered now; the result names the nodes that the first one fetched,
//	                    or is fetch:none
//	send W [HOST]       sends a poll, or a fetch of a node; come W answers it, with what was so when it was sent
//	fail                a poll failed
//	limits […]          changes the limits
//	term                another term begins with an empty ledger
func (s *stage) do(line string) (string, error) {
	words := strings.Fields(line)
	if past, found := strings.CutPrefix(words[0], "+"); found {
		d, err := time.ParseDuration(past)
		if err != nil {
			return "", err
		}
		s.now = s.now.Add(d)
		words = words[1:]
	}
	if len(words) == 0 {
		s.Tick(s.now)
		return "", nil
	}
	verb, words := words[0], words[1:]
	if put := map[string]func(string, []string){
		"sent": func(p string, _ []string) {
			s.Sent(s.now, s.puts[p])
			s.yes[s.putBy[p]] = s.line
		},
		"broken":   func(p string, _ []string) { s.Broken(s.now, s.puts[p]) },
		"unsent":   func(p string, _ []string) { s.Unsent(s.now, s.puts[p]) },
		"answered": func(p string, w []string) { s.Answered(s.now, s.puts[p], number(w[0])) },
	}[verb]; put != nil {
		put(words[0], words[1:])
		return "", nil
	}
	switch verb {
	case "ask":
		result := s.serve(s.ask(words))
		if result == "granted" || result == "held" {
			s.yes[words[0]] = s.line
		}
		return result, nil
	case "peek":
		_, standing := s.Ask(s.now, s.ask(words), false)
		return standings[standing], nil
	case "put":
		s.putBy[words[0]] = words[1]
		return s.put(words[0], words[1], ironic.Target(words[2])), nil
	case "ironic":
		return "", s.ironic.Move(s.now, words[0], words[1], words[2:]...)
	case "poll":
		result, come := s.poll()
		come()
		for i := 1; len(words) > 0 && i < number(words[0]); i++ {
			_, come := s.poll()
			come()
		}
		return result, nil
	case "send":
		s.send(words)
	case "come":
		s.sent[words[0]]()
		delete(s.sent, words[0])
	case "fail":
		s.PollFailed(s.now)
	case "limits":
		setLimits(&s.cfg, words)
		return "", s.Configure(s.now, s.cfg)
	case "term":
		old := s.Ledger
		var err error
		if s.Ledger, err = slots.New(s.cfg, s.now, teller{s}); err == nil {
			s.Follow(old)
		}
		clear(s.count)
		return "", err
	default:
		return "", fmt.Errorf("nobody knows what to %q", verb)
	}
	return "", nil
}

var standings = map[slots.Standing]string{
	slots.Exempt: "exempt", slots.Done: "done", slots.Held: "held", slots.Overdue: "overdue", slots.Stale: "stale",
	slots.Starting: "starting", slots.Unknown: "unknown", slots.Open: "open",
}

// ask reads HOST OP and options: name and uuid leave the other one out, uuid=b is another node's.
func (s *stage) ask(words []string) slots.Ask {
	ask := slots.Ask{ID: slots.ID{UUID: nodes.UUID(words[0]), Name: nodes.Name(words[0])}, Op: api.Op(words[1])}
	for _, word := range words[2:] {
		switch key, value, _ := strings.Cut(word, "="); key {
		case "name":
			ask.ID.UUID = ""
		case "uuid":
			ask.ID.Name = map[bool]string{true: ask.ID.Name}[value != ""]
			ask.ID.UUID = nodes.UUID(cmp.Or(value, words[0]))
		case "state":
			ask.State = api.BMHState(value)
		case "deleting":
			ask.Deleting = true
		case "group":
			ask.Group = value
		case "media":
			ask.VirtualMedia = true
		}
	}
	return ask
}

// serve answers an ask as pkg/admission does where nothing but slots matters.
func (s *stage) serve(ask slots.Ask) string {
	h, standing := s.Ask(s.now, ask, true)
	switch {
	case standing == slots.Open && s.Slots(h.Pool).Free > 0:
		s.Grant(s.now, h, ask)
		s.count["granted"]++
		return "granted"
	case standing == slots.Open:
		return "full"
	case standing == slots.Held:
		s.Renew(s.now, h, ask)
	case standing == slots.Done:
		s.NothingLeft(s.now, h)
	case standing == slots.Exempt:
		s.LetPass(h)
	}
	return standings[standing]
}

func (s *stage) put(name, host string, target ironic.Target) string {
	ask := slots.Ask{ID: slots.ID{UUID: nodes.UUID(host)}, Op: target.Op(), Put: true}
	h, standing := s.Ask(s.now, ask, true)
	switch {
	case standing == slots.Open && s.Slots(h.Pool).Free > 0:
		s.puts[name] = s.Forward(s.now, h, ask, target, false)
		s.count["granted"]++
		return "granted"
	case standing == slots.Open:
		return "full"
	case standing == slots.Held:
		s.puts[name] = s.Forward(s.now, h, ask, target, true)
	}
	return standings[standing]
}

// poll sends a poll, and says what it fetches.
func (s *stage) poll() (result string, come func()) {
	observed := s.ironic.Poll(s.now, s)
	for _, o := range observed.Fetched {
		result += " fetch:" + nodes.Host(strings.TrimPrefix(o.Key, "metal3~"), "")
	}
	return cmp.Or(result, "fetch:none"), func() { s.Observe(s.now, observed) }
}

func (s *stage) send(words []string) {
	come := func() {}
	if len(words) == 1 {
		_, come = s.poll()
	} else {
		answer := s.ironic.Fetch(s.now, s, nodes.UUID(words[1]))
		come = func() { s.ObserveNode(s.now, answer) }
	}
	line := s.line
	s.sent[words[0]] = func() { // in another term, the ledger of that one gets it
		s.came = line
		come()
		s.came = 0
	}
}

func setLimits(cfg *slots.Config, words []string) {
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "total":
			cfg.Total = number(value)
		case "media":
			cfg.VirtualMedia = number(value)
		default: // of a conductor group
			cfg.Groups = map[string]int{key: number(value)}
		}
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

// phase is where the host of a UUID stands: "none" without a slot.
func (s *stage) phase(host string) string {
	h := s.Find(slots.ID{UUID: nodes.UUID(host), Name: nodes.Name(host)})
	switch {
	case h == nil || h.Slot == nil && !h.Works:
		return "none"
	case h.Slot == nil:
		return "booting"
	case h.Slot.Stuck:
		return "stuck"
	}
	return [...]string{"leased", "working", "lingering"}[h.Slot.Phase]
}

// teller writes down what a ledger tells.
type teller struct{ *stage }

func short(id slots.ID) string { return nodes.Host(id.UUID, id.Name) }

func (t teller) tell(id slots.ID, words ...string) {
	for _, word := range words {
		t.told = append(t.told, short(id)+":"+word)
		t.count[word]++
	}
}

func (t teller) WorkEnded(_ time.Time, e slots.Ending) {
	if e.Result == slots.Gone {
		t.tell(e.Host.ID, "gone")
		return
	}
	t.tell(e.Host.ID, string(e.Work)+"-"+string(e.Result))
	if e.Rework {
		t.tell(e.Host.ID, "rework")
	}
	if e.Reached {
		t.tell(e.Host.ID, "reached")
	}
}

func (t teller) SlotBegan(_ time.Time, h *slots.Host) { t.tell(h.ID, "began") }

func (t teller) SlotEnded(_ time.Time, h *slots.Host, _ *slots.Slot, how slots.How) {
	if host := short(h.ID); t.came > 0 && t.came <= t.yes[host] {
		t.early = fmt.Sprintf("the slot of %s ends by what line %d sent, and line %d said yes", host, t.came, t.yes[host])
	}
	t.tell(h.ID, [...]string{"finished", "unused", "refused", "vanished"}[how])
}

func (t teller) Merged(_ time.Time, from, into *slots.Host) {
	if into == nil {
		t.tell(from.ID, "forgotten")
	} else {
		t.tell(into.ID, "merged")
	}
}

func (t teller) Noticed(n slots.Notice) { t.tell(n.ID, "notice-"+string(n.Kind)) }
