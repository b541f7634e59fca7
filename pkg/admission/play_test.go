package admission_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/nodes"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// A situation is lines of stage.do, with the settings of stage.configure. What must be so after one stands behind "=>":
//
//	granted        the result of the line, or one word of it
//	1/2, rack=1/2  occupied slots and limit, of all or of a conductor group; 1/2+3: and how many wait
//	pos=2, wait=60 what the last answer says: position, seconds until it is worth asking again
//	says:a_slot    its sentence has this in it; hides:a has not
//	a:waiting      how a host stands, as why says
//	a:waits        what Events may say of it: it waits, works or rests
//	held=1+2       the failed hosts: held, and not
//	waited=3       for how many seconds those waited that have got a slot
//	queue=a,b      who waits, in this order; stopped=1: how many a failure stops, parked=1: how many ask no more or so
//	holding=b:1    tenants in the queue, and how many slots each holds
//	a:failed       the controller told this during the line; quiet: nothing
type situation struct{ name, settings, lines string }

func play(t *testing.T, situations []situation) {
	t.Helper()
	for _, row := range situations {
		t.Run(row.name, func(t *testing.T) {
			s, err := newStage(row.settings)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(strings.TrimSpace(row.lines)) {
				steps, want, _ := strings.Cut(strings.TrimSpace(line), "=>")
				result, err := s.all(strings.TrimSpace(steps))
				if err != nil {
					t.Fatal(err)
				}
				for _, word := range strings.Fields(want) {
					if !s.is(word, result) {
						t.Fatalf("%s\n%s\n%q is not so: %+v, told %q, slots %+v, queue %s",
							row.lines, line, word, s.last, s.told, s.Status(s.now).Slots, s.queue())
					}
				}
			}
		})
	}
}

// is reports whether what word says is so after a line with that result.
func (s *stage) is(word, result string) bool {
	host, standing, _ := strings.Cut(word, ":")
	key, value, ok := strings.Cut(word, "=")
	status := s.Status(s.now)
	switch {
	case word == "quiet":
		return len(s.told) == 0
	case key == "pos":
		return value == fmt.Sprint(s.last.Position)
	case key == "wait":
		return value == fmt.Sprint(s.last.RetryAfterSeconds)
	case key == "queue":
		return value == s.queue()
	case key == "parked":
		return value == fmt.Sprint(s.QueueOf(s.now, api.QueueQuery{Limit: 0}).Pools[0].Silent)
	case key == "holding":
		return value == s.holding()
	case key == "waited":
		return value == fmt.Sprint(status.Turns.Waits.SumSeconds)
	case key == "held":
		return value == fmt.Sprintf("%d+%d", status.Holds.Held, status.Holds.Failed)
	case slices.Contains([]string{"waits", "works", "rests"}, standing):
		namespace, name, _ := strings.Cut(nodes.Name(host), "~")
		waits, works := s.Stands(s.now, namespace, name, nodes.UUID(host))
		return standing == map[[2]bool]string{{true, false}: "waits", {false, true}: "works", {}: "rests"}[[2]bool{waits, works}]
	case key == "stopped":
		return value == fmt.Sprint(status.Turns.Stopped)
	case host == "says":
		return strings.Contains(s.last.Message, strings.ReplaceAll(standing, "_", " "))
	case host == "hides":
		return !strings.Contains(s.last.Message, standing)
	case slices.Contains([]string{"unknown", "idle", "waiting", "stopped", "starting", "working"}, standing):
		namespace, name, _ := strings.Cut(nodes.Name(host), "~")
		return string(s.Why(s.now, namespace, name).Standing) == standing
	case strings.Contains(word, "/"):
		n := status.Slots.Total
		if ok {
			n = status.Slots.Pools[key]
		} else {
			value = word
		}
		taken := fmt.Sprintf("%d/%d", n.Occupied, n.Limit)
		return value == taken || value == fmt.Sprintf("%s+%d", taken, n.Waiting)
	}
	return slices.Contains(s.told, word) || slices.Contains(strings.Fields(result), word)
}

// queue lists who waits, by position.
func (s *stage) queue() string {
	var hosts []string
	for _, pool := range s.QueueOf(s.now, api.QueueQuery{Limit: 100}).Pools {
		for _, h := range pool.Hosts {
			hosts = append(hosts, nodes.Host(h.NodeUUID, h.Name))
		}
	}
	return strings.Join(hosts, ",")
}

func (s *stage) holding() string {
	var tenants []string
	for _, t := range s.QueueOf(s.now, api.QueueQuery{Limit: 0}).Pools[0].Tenants {
		tenants = append(tenants, fmt.Sprintf("%s:%d", t.Tenant, t.Holding))
	}
	return strings.Join(tenants, ",")
}

// Who is in the way of whom: the first rule that applies answers. Each row is about a reason, and about those after it
// that would apply too.
var reasons = []situation{
	{"a standby knows nothing of its own", "", `
		away; ask a none             => starting wait=5 says:it_does_not_lead
		ask b provision media        => starting
		leads; ask a none            => done`},
	{"virtual media needs no slot, and nothing stops it", "breaker=2 limit=4", `
		trip ironic; ask a provision media => exempt
		ask a none media             => exempt`},
	{"nothing is left to start, though a breaker is open", "", `
		trip ironic; ask a none      => done wait=0`},
	{"nothing is left to start, and the slot for it is over", "limit=1", `
		ironic a available; ask a provision => granted 1/1
		+45s poll; ask a none        => done 0/1`},
	{"what a failed poll may have missed is not certain", "limit=1", `
		ask b provision              => granted
		ironic a active; ask a provision; +5s poll; ask a provision => done
		+5s fail no route to host; ask a provision => full`},
	{"a host with a slot goes on, though a breaker is open and nobody has seen Ironic for long", "", `
		ask a provision              => granted 1/2
		trip ironic; ask a provision => held-slot
		+1h ask a provision          => held-slot`},
	{"a slot that was not used in time", "", `
		ironic a available; ask a provision => granted
		+4m poll; ask a provision; +4m poll; ask a provision; +2m poll
		ask a provision => turn says:did_not_use_its_slot_in_time wait=45
		+40s ask a provision         => turn`},
	{"Ironic was not seen for too long, since the start too", "fresh", `
		poll; +31s ask a provision   => stale wait=5
		fail no route to host; ask a provision => stale says:no_route_to_host`},
	{"the start, though the host is held", "holdoff=1h", `
		ironic a deploying agent; +5s poll; ironic a deploy_failed error=x; +50s poll
		ask a provision              => hold
		start; ask a provision       => starting wait=60
		poll; +1m poll; ask a provision => hold`},
	{"a breaker stops a part, and Ironic has not shown the host", "group:rack=1", `
		trip ironic; reset ironic; trip group:row  => at-most-2
		reset group:row; trip group:rack           => says:check_the_spelling at-most-1
		ask a provision => starting says:Ironic_has_not_shown_this_host_yet
		+5s ironic a available; poll; ask a provision => granted
		ironic r available group=rack; ask r provision; poll; reset group:rack; trip group:rack => says:is_OPEN hides:spelling`},
	{"a hold, though its group is paused and the breaker open", "holdoff=1h maxfailed=0", `
		ironic a deploying agent; +5s poll; ironic a deploy_failed error=x; +50s poll
		trip ironic; ask a provision => hold a:stopped says:holds_release_metal3/a
		ironic b available; ask b provision => starting
		poll; ask b provision        => short-circuit wait=60
		release a; ask a provision   => short-circuit`},
	{"a paused group, though the breaker is open", "maxfailed=0", `
		ironic a deploying agent; +5s poll; ironic a deploy_failed error=x; +50s poll
		ironic b available; ask b provision; poll; trip ironic; ask b provision => short-circuit stopped=1
		ask a deprovision deleting   => granted`},
	{"an open breaker, though no slot is free", "limit=1", `
		ask a provision              => granted
		trip ironic; ask b provision => breaker-open says:was_opened_by_hand pos=0
		ask b provision planned      => breaker-open
		reset ironic; ask b provision => full`},
	{"probes alone, though slots are free", "breaker=2 limit=5", `
		ironic h1..h2 deploying agent; +5s poll; ironic h1..h2 deploy_failed error=x; +5s poll => ironic:OPEN
		ask a provision              => breaker-open wait=900 says:deploy_failed
		+15m poll; ask a provision   => granted
		ask b provision              => granted
		ask c provision              => half-open wait=60
		ask c deprovision deleting   => granted`},
	{"planned work, though its turn would come", "limit=8", `
		ask a provision planned      => granted
		ask b provision planned      => granted
		ask c provision planned      => planned-yields says:holds_2_of_8_slots_and_may_hold_2
		ask c provision              => granted`},
	{"planned work keeps to the rate of starts", "limit=8 rate=1", `
		ask a provision              => granted
		ask b provision planned      => rate
		+1m poll; ask b provision planned => granted`},
	{"as many have started within a minute as may, though no slot is free", "limit=2 rate=2", `
		ironic h1..h4 available; ask h1..h2 provision => granted
		+5s poll; ask h3 provision   => rate pos=1 wait=55 says:2_hosts_have_started
		ask h4 deprovision deleting  => full
		+56s poll; ask h3 provision  => full`},
	{"no slot is free, though failing hosts hold theirs too", "limit=1", `
		ask a provision errors=5     => granted
		ask b provision errors=5     => full pos=1 says:1_of_1_taken,_1_waiting);_this_is_number_1`},
	{"failing hosts hold as many as they may, and healthy ones want the rest", "limit=5", `
		ironic f1..f2 available; ask h1..h3 provision => granted
		ask f1 provision errors=3; ask f2 provision errors=3 => granted 5/5
		ask b provision; ask c provision; ask f3 provision errors=3 => full
		ironic h1..h3 deploying; +5s poll; ironic h1 active; +5s poll; ask f3 provision errors=3 => failing-cap
		ask b provision              => granted`},
	{"a failing host that was found at work is one of those that hold as many as they may", "limit=4", `
		ask h1..h4 provision          => granted
		ask f1 provision errors=2     => full
		ironic f1 deploying agent; ironic h1..h3 deploying; +5s poll => 5/4
		ask b1..b3 provision; ask f2 provision errors=3; ironic h1..h3 active; +5s poll; ask f2 provision errors=3 => failing-cap`},
	{"no slot is free, and a dry run is behind all that wait", "limit=2", `
		ask a provision; ask beta/x provision => granted
		ask b provision; ask c provision; ask d provision dry => full pos=3 holding=metal3:1,beta:1`},
	{"no slot of a conductor group is free, though others are", "limit=3 group:rack=1", `
		ironic h1..h2 available group=rack; ask h1..h2 provision; poll; ask h1 provision => granted
		ask h2 provision             => full rack=1/1+1 1/3+1`},
	{"others are first", "limit=1", `
		ask a provision              => granted
		ask b provision; +1s ask c provision => full pos=2
		ironic a deploying; +5s poll; ironic a active; +5s poll; ask c provision => turn pos=2 says:other_hosts_are_first
		ask b provision              => granted`},
	{"in mode observe a refusal is counted and not given", "observe limit=1", `
		ask a provision              => granted
		ask b provision              => observe wait=0 pos=0 says:enforce_would_refuse:_no_slot_is_free
		put p c active               => observe
		mode enforce; ask b provision => full`},
}

func TestTheFirstReasonThatAppliesAnswers(t *testing.T) { play(t, reasons) }

// Every reason has a row, so that a new one gets one.
func TestEveryReasonHasARow(t *testing.T) {
	for _, reason := range api.Reasons() {
		answers := func(row situation) bool { return strings.Contains(row.lines, "=> "+string(reason)) }
		if !slices.ContainsFunc(reasons, answers) {
			t.Errorf("no row answers %s", reason)
		}
	}
}
