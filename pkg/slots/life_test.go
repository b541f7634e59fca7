package slots_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/nodes"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// A life is lines of stage.do with ";" between them, one minute after the start unless it is
// fresh; what must be so then stands behind "=>":
//
//	granted, fetch:a    the result of the line, or one word of it
//	1/2, rack=1/2       occupied slots and limit, of all or of a pool
//	booting=1           nodes at work without a slot
//	a:leased            where a host stands: none, booting, leased, working, lingering or stuck
//	a:finished          the ledger told this during the line; quiet: nothing
type life struct {
	name   string
	change func(*slots.Config)
	fresh  bool
	lines  string
}

var endings = []life{
	// How a slot ends.
	{name: "the work reaches its goal", lines: `
		ask a provision                    => granted 1/2 a:leased quiet
		+5s poll                           => fetch:a a:leased
		ironic a deploying; +5s poll       => 1/2 a:working quiet
		ironic a wait_call-back; +10m poll => a:working quiet
		ironic a active; +5s poll          => 0/2 a:none a:deploy-success a:reached a:finished`},
	{name: "the work fails", lines: `
		ask a provision              => granted
		ironic a deploying; +5s poll => a:working
		ironic a deploy_failed error=Agent_did_not_call; +5s poll => 0/2 a:none a:deploy-failure a:finished`},
	{name: "work that started and failed between two polls", lines: `
		ironic a available; ask a provision => granted
		+5s poll                            => a:leased
		ironic a deploy_failed error=Image_not_found; +10s poll => a:deploy-failure a:lingering 1/2
		+44s poll                           => a:lingering
		+1s poll                            => a:finished 0/2`},
	{name: "the host may go on within the linger: it cleans, then deploys", lines: `
		ask a provision              => granted
		ironic a cleaning; +5s poll  => a:working
		ironic a available; +5s poll => 1/2 a:lingering a:clean-success
		+44s poll                    => a:lingering
		ironic a deploying; +5s poll => a:working quiet
		ironic a available; +5s poll => a:lingering a:deploy-neutral
		+44s poll                    => a:lingering
		+1s poll                     => a:none a:finished`},
	{name: "a yes while it lingers renews the linger", lines: `
		ask a provision      => granted
		ironic a cleaning; +5s poll; ironic a available; +5s poll => a:lingering
		+30s ask a provision => held
		+30s poll            => a:lingering
		+14s poll            => a:lingering
		+1s poll             => a:finished`},
	{name: "a failure is no goal, wherever the node goes then", lines: `
		ask a inspect => granted
		ironic a inspecting; +5s poll; ask a inspect => held
		ironic a inspect_failed error=x; +5s poll    => a:lingering
		ironic a manageable; +40s poll               => a:lingering
		+5s poll                                     => a:finished`},
	{name: "a yes that is not used", lines: `
		ironic a available; ask a provision => granted
		+4m59s poll                         => a:leased
		+1s poll                            => a:none a:unused a:notice-expired 0/2`},
	{name: "each yes gives the host as long again", lines: `
		ironic a available; ask a provision => granted
		+4m poll; ask a provision           => held
		+4m poll                            => a:leased
		+1m poll                            => a:unused`},
	{name: "the node is gone, as two fetches show", lines: `
		ask a provision              => granted
		ironic a deploying; +5s poll => a:working
		ironic a gone; +5s poll      => a:working
		+1m poll                     => fetch:a a:working
		+5s poll                     => a:none a:vanished a:notice-vanished a:gone`},
	{name: "Ironic refuses the PUT that the slot was made for", lines: `
		put p a active         => granted 1/2
		sent p; answered p 409 => a:refused 0/2`},
	{name: "nothing of the PUT was sent", lines: `
		put p a active => granted 1/2
		unsent p       => a:refused 0/2`},
	{name: "the host says itself that it wants nothing, and Ironic shows it idle", lines: `
		ironic a available; ask a provision => granted
		ask a none                          => held a:leased
		+45s poll                           => a:leased
		ask a none                          => done 0/2 a:finished
		+5s poll                            => fetch:a`},

	// What ends no slot.
	{name: "an observation that was sent before the last yes", lines: `
		ironic a available; ask a provision => granted
		ironic a deploying; +5s poll        => a:working
		ironic a active; +5s send before; ask a provision => held
		+5s come before                     => a:lingering 1/2
		+5s poll                            => a:finished`},
	{name: "an observation that was sent before the first yes shows old work", lines: `
		ironic a cleaning; send before; ironic a available
		ask a provision => granted
		+5s come before => a:leased
		+5s poll        => a:leased`},
	{name: "of two observations the one that was sent later", lines: `
		ask a provision              => granted
		ironic a deploying; +5s poll => a:working
		+1s send first a; ironic a active; +1s send second a
		+1s come second              => a:deploy-success a:finished
		+1s come first               => quiet a:none`},
	{name: "a PUT on its way", lines: `
		ironic a available; put p a active => granted
		sent p; +10m poll                  => a:leased 1/2
		+10m poll                          => a:leased 1/2
		answered p 202                     => a:working
		ironic a deploying; +5s poll       => a:working
		ironic a active; +5s poll          => a:finished`},
	{name: "a PUT with an answer is work, though the lists of before do not show it", lines: `
		ironic a available; put p a active    => granted
		sent p; send before a; answered p 202 => a:working
		come before                           => a:working quiet
		ironic a active; +5s poll             => a:deploy-success a:reached a:finished`},
	{name: "a PUT whose answer was lost, until Ironic was asked a settle later", lines: `
		ironic a available; put p a active => granted
		sent p; broken p                   => a:leased
		+59s poll                          => a:leased
		+1s poll                           => a:unused 0/2`},
	{name: "a PUT whose answer was lost, and that Ironic carries out", lines: `
		ironic a available; put p a active => granted
		sent p; answered p 503             => a:leased
		+50s ironic a deploying; +5s poll  => a:working
		+20m ironic a active; +5s poll     => a:deploy-success a:finished`},
	{name: "a refused PUT of a host that got a yes by an ask too", lines: `
		put p a active         => granted
		ask a provision        => held
		sent p; answered p 409 => a:leased 1/2`},
	{name: "one of two PUTs", lines: `
		put p a active                 => granted
		put q a active                 => held
		sent p; sent q; answered p 409 => a:leased
		answered p 409                 => a:leased
		answered q 202                 => a:working`},
	{name: "lists that miss a node: it is fetched", lines: `
		ask a provision                       => granted
		ironic a deploying; +5s poll          => a:working
		ironic a deploying unlisted; +1m poll => fetch:a a:working quiet`},
	{name: "a poll that fails", lines: `
		ask a provision => granted
		ironic a deploying; +5s poll; ironic a active; +5s fail => a:working quiet`},
}

func TestHowASlotEnds(t *testing.T) { play(t, endings) }

// play plays each of the lives, from the start if it is fresh.
func play(t *testing.T, lives []life) {
	t.Helper()
	for _, life := range lives {
		t.Run(life.name, func(t *testing.T) {
			s := settled(t, life.change)
			if life.fresh {
				s, _ = newStage(life.change)
			}
			for line := range strings.Lines(strings.TrimSpace(life.lines)) {
				steps, want, _ := strings.Cut(strings.TrimSpace(line), "=>")
				result := s.all(t, strings.Split(steps, ";")...)
				for _, word := range strings.Fields(want) {
					if !s.is(word, result) {
						t.Fatalf("%s\n%s is not so: result %q, told %q, %s", life.lines, word, result, s.told, s)
					}
				}
				if wrong := s.inconsistent(); wrong != "" {
					t.Fatalf("after %s: %s", line, wrong)
				}
			}
		})
	}
}

// settled is a stage one minute after its start.
func settled(t *testing.T, change func(*slots.Config)) *stage {
	t.Helper()
	s, err := newStage(change)
	if err != nil {
		t.Fatal(err)
	}
	s.all(t, "poll", "+1m poll")
	return s
}

// all carries lines out, and returns the result of the last.
func (s *stage) all(t *testing.T, lines ...string) (result string) {
	t.Helper()
	s.told = nil
	for _, line := range lines {
		var err error
		if result, err = s.do(line); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return result
}

var phases = []string{"none", "booting", "leased", "working", "lingering", "stuck"}

// is reports whether what word says is so after a line with that result.
func (s *stage) is(word, result string) bool {
	host, phase, _ := strings.Cut(word, ":")
	switch {
	case slices.Contains(phases, phase):
		return s.phase(host) == phase
	case word == "quiet":
		return len(s.told) == 0
	case strings.HasPrefix(word, "booting="):
		return word == fmt.Sprintf("booting=%d", s.Slots(slots.Pool{}).Booting)
	case strings.HasPrefix(word, "hosts="):
		n := 0
		s.All(func(*slots.Host) { n++ })
		return word == fmt.Sprintf("hosts=%d", n)
	case strings.HasPrefix(word, "ready="):
		standing, _ := s.Ready(s.now)
		return word == "ready="+standings[standing]
	case strings.HasPrefix(word, "failures:"):
		name, want, _ := strings.Cut(phase, "=")
		h := s.Find(slots.ID{UUID: nodes.UUID(name), Name: nodes.Name(name)})
		return h != nil && h.Failures == number(want)
	case strings.HasPrefix(word, "asked:"):
		name, want, _ := strings.Cut(phase, "=")
		h := s.Find(slots.ID{UUID: nodes.UUID(name)})
		return h != nil && h.HasAsked && h.AskedAt.After(start) && string(h.Asked.Op) == want
	case strings.Contains(word, "/"):
		pool, want, ok := strings.Cut(word, "=")
		if !ok {
			pool, want = "", word
		}
		p := slots.Pool{Group: pool}
		if pool == slots.VirtualMediaPool {
			p = slots.Pool{VirtualMedia: true}
		}
		n := s.Slots(p)
		return want == fmt.Sprintf("%d/%d", n.Occupied, n.Limit)
	}
	return slices.Contains(s.told, word) || slices.Contains(strings.Fields(result), word)
}

// String shows all hosts and slots.
func (s *stage) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "at %v:", s.now.Sub(start))
	for _, o := range s.Occupancy(s.now).Occupants {
		fmt.Fprintf(&b, " %s/%s %s %s %s", o.Name, o.NodeUUID, o.Kind, o.State, o.Op)
	}
	return b.String()
}

// inconsistent compares the totals with what was told, those who are shown with the hosts, and the numbers of every pool
// with a count of the hosts.
func (s *stage) inconsistent() string {
	totals := api.Totals{
		Granted: s.count["granted"], Finished: s.count["finished"], Expired: s.count["unused"],
		Refused: s.count["refused"], Vanished: s.count["vanished"], Adopted: s.count["notice-adopted"],
		Foreign: s.count["notice-foreign"], WrittenOff: s.count["notice-stuck"],
	}
	if got := s.Totals(); got != totals {
		return fmt.Sprintf("totals are %+v, told was %+v", got, totals)
	}
	for _, o := range s.Occupancy(s.now).Occupants {
		if h := s.Find(slots.ID{UUID: o.NodeUUID, Name: o.Name}); h == nil || h.UUID != o.NodeUUID {
			return fmt.Sprintf("%+v is shown, and is no host, or is %+v", o, h)
		}
	}
	want := map[slots.Pool]api.Slots{}
	s.All(func(h *slots.Host) {
		n := want[h.Pool]
		all := want[slots.Pool{}]
		switch {
		case h.Slot == nil && h.Works && !h.Exempt:
			all.Booting++
		case h.Slot == nil || h.Slot.Stuck || h.Exempt:
		default:
			n.Occupied++
			leased := map[bool]int{true: 1}[h.Slot.Phase == slots.Leased]
			n.Leased += leased
			if h.Pool.Group != "" || h.Pool == (slots.Pool{}) {
				all.Occupied, all.Leased = all.Occupied+1, all.Leased+leased
			}
		}
		if h.Pool != (slots.Pool{}) {
			want[h.Pool] = n
		}
		want[slots.Pool{}] = all
	})
	for _, p := range s.Pools() {
		got := s.Slots(p)
		w := want[p]
		w.Limit, w.Booting = s.Limit(p), want[slots.Pool{}].Booting
		w.Free = max(0, w.Limit-w.Occupied)
		if p.Group != "" {
			w.Free = min(w.Free, max(0, s.Limit(slots.Pool{})-want[slots.Pool{}].Occupied))
		}
		if got != w {
			return fmt.Sprintf("pool %q is %+v, a count gives %+v", p, got, w)
		}
	}
	return ""
}
