package slots_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

var counted = []life{
	// Who is counted.
	{name: "the start: every busy node is adopted, above the limit too", fresh: true, lines: `
		ironic a deploying; ironic b cleaning; ironic c servicing
		+1s poll                   => 3/2 a:began a:notice-adopted a:working c:working
		ask d provision            => starting
		ask a provision            => held
		+58s poll; ask d provision => starting
		+1s poll; ask d provision  => full
		ironic a active; ironic b manageable; ironic c active; +5s poll => a:finished c:finished b:lingering 1/2
		ask d provision            => granted 2/2`},
	{name: "a busy node that nobody asked for, once its agent has called", lines: `
		ironic a wait_call-back; +5s poll       => a:booting booting=1 0/2 quiet
		+20m poll                               => a:booting
		ironic a wait_call-back agent; +5s poll => a:working a:began a:notice-foreign booting=0 1/2
		ironic a deploying noagent; +5s poll    => a:working 1/2`},
	{name: "a busy node that nobody asked for, at once", change: countBusy, lines: `
		ironic a wait_call-back; +5s poll => a:working a:notice-foreign 1/2`},
	{name: "a busy node that was told yes once, without an agent too", lines: `
		ironic a available; ask a provision => granted
		+5m poll                            => a:unused
		+5m ironic a deploying; +5s poll    => a:began a:notice-foreign 1/2`},
	{name: "a busy node that was told that nothing is left to start", lines: `
		ironic a active; +5s send w a; come w; ask a provision => done
		ironic a deploying; +5s poll                           => a:began a:notice-foreign 1/2`},
	{name: "a busy node whose host asked while it was at work before", lines: `
		ironic a deploying agent; +5s poll => a:began
		ask a none                         => held
		ironic a active; +5s poll          => a:finished
		ironic a deleting; +5s poll        => a:began a:notice-foreign 1/2`},
	{name: "a host at work that asks", lines: `
		ironic a wait_call-back; +5s poll => a:booting
		ask a provision                   => held a:working a:began 1/2`},
	{name: "service and hold states keep a slot, and take none", lines: `
		ironic a servicing agent; +5s poll => a:none
		ask b service                      => granted
		ironic b servicing; +5s poll       => b:working 1/2
		ironic b service_wait; +5m poll    => b:working
		ironic b active; +5s poll          => b:service-success b:reached b:finished`},
	{name: "service states count where they shall", change: func(c *slots.Config) { c.CountExtra = true }, lines: `
		ironic a servicing agent; ask a none; +61m poll => a:working a:notice-foreign 1/2`},
	{name: "virtual media is exempt", lines: `
		ironic a available boot=redfish-virtual-media
		ask a provision media              => exempt
		ironic a deploying agent; +5s poll => 0/2 a:booting booting=0
		ironic b deploying agent boot=redfish-virtual-media; +5s poll => 0/2`},
	{name: "virtual media of before is looked at again, once an ask says that it is over", lines: `
		ironic a available boot=redfish-virtual-media; +1s send w a; come w
		ironic a available boot=ipxe unlisted; ask a provision => exempt
		+1m ask a provision media; poll                        => fetch:none
		ask a provision                                        => exempt
		+5s poll; ask a provision                              => granted`},
	{name: "virtual media counts like others", change: func(c *slots.Config) { c.ExemptVirtualMedia = false }, lines: `
		ask a provision media => granted 1/2`},
	{name: "virtual media has a pool of its own", change: func(c *slots.Config) { c.VirtualMedia = 1 }, lines: `
		ironic a available boot=redfish-virtual-media
		ironic b available boot=redfish-virtual-media
		ironic c available; ask a provision => starting
		ask b provision                     => starting
		ask c provision                     => starting
		+5s poll                            => quiet
		ask a provision                     => granted 0/2 virtual-media=1/1
		ask b provision                     => full
		ask c provision                     => granted 1/2`},
	{name: "virtual media that was let pass counts when it gets a limit", lines: `
		ask a provision media => exempt
		ironic a deploying boot=redfish-virtual-media; +5s poll => 0/2
		limits media=1        => virtual-media=1/1 a:working a:began 0/2`},
	{name: "a conductor group has a limit within all", change: group("rack", 1), lines: `
		ironic a available group=rack; ironic b available group=rack
		ironic c available; ask a provision => starting
		ask b provision                     => starting
		ask c provision                     => starting
		+5s poll; ask a provision           => granted rack=1/1 1/2
		ask b provision                     => full
		ask c provision                     => granted 2/2 rack=1/1`},
	{name: "what a conductor group has free is bounded by all", change: group("rack", 1), lines: `
		ironic a available; ironic b available
		ironic c available group=rack; ask a provision; ask b provision
		ask c provision; +5s poll; ask a provision => granted
		ask b provision                            => granted
		ask c provision                            => full rack=0/1 2/2`},
	{name: "an ask may say a group that Ironic denies", change: group("rack", 1), lines: `
		ironic a available; ask a provision group=rack => starting
		+5s poll; ask a provision group=rack => granted rack=0/1 1/2`},
	{name: "lower limits take nothing away", lines: `
		ask a provision                 => granted
		ask b provision                 => granted
		limits total=1                  => 2/1 a:leased b:leased quiet
		ask c provision                 => full
		ask a provision                 => held
		limits total=3; ask c provision => granted 3/3`},

	// Stuck.
	{name: "a node that stands still counts no more, and again when it moves", lines: `
		ask a provision                             => granted
		ironic a wait_call-back; +5s poll           => a:working
		+89m poll                                   => a:working
		+1m poll                                    => a:stuck a:notice-stuck 0/2
		ask a provision                             => held a:stuck
		ironic a wait_call-back heartbeat; +5s poll => a:working a:notice-moved 1/2`},
	{name: "a heartbeat shows that it does not stand still", lines: `
		ask a provision => granted
		ironic a wait_call-back heartbeat; +5s poll
		+88m ironic a wait_call-back heartbeat; poll; +3m poll => a:working
		+2m poll        => a:stuck`},
	{name: "the same state entered again starts the clock again", lines: `
		ask a provision => granted
		ironic a cleaning; +5s poll; +60m ironic a cleaning again; poll
		+60m poll       => a:working
		+30m poll       => a:stuck`},
	{name: "only so many are written off, the oldest first", change: total(3), lines: `
		ask b provision; ironic b deploying; +5s poll; ask a provision
		ironic a deploying; +5s poll => 2/3
		+90m poll                    => b:stuck a:working 1/3
		ironic b active; +5s poll    => b:finished a:stuck 0/3`},
	{name: "nobody is ever stuck", change: func(c *slots.Config) { c.StuckAfter = 0 }, lines: `
		ask a provision; ironic a deploying; +5s poll; +500h poll => a:working 1/2`},
}

func TestWhoIsCounted(t *testing.T) { play(t, counted) }

func total(n int) func(*slots.Config) { return func(c *slots.Config) { c.Total = n } }

func countBusy(c *slots.Config) { c.Count = slots.CountBusy }

func group(name string, n int) func(*slots.Config) {
	return func(c *slots.Config) { c.Groups = map[string]int{name: n} }
}

func TestSettingsThatAreWrongAreNamed(t *testing.T) {
	for want, change := range map[string]func(*slots.Config){
		"limit: 0 ":                           func(c *slots.Config) { c.Total = 0 },
		"limit: 100001 ":                      func(c *slots.Config) { c.Total = slots.MaxLimit + 1 },
		`limit of conductor group "r": 3 `:    group("r", 3),
		"virtual media limit: -1 ":            func(c *slots.Config) { c.VirtualMedia = -1 },
		"stuck cap: 3 ":                       func(c *slots.Config) { c.StuckCap = 3 },
		`count mode: "x" `:                    func(c *slots.Config) { c.Count = "x" },
		"lease TTL: 0s ":                      func(c *slots.Config) { c.LeaseTTL = 0 },
		"lease TTL: 10s is below linger":      func(c *slots.Config) { c.LeaseTTL = 10 * time.Second },
		"startup settle: 10s is below linger": func(c *slots.Config) { c.Settle = 10 * time.Second },
		"stuck after: -1ns ":                  func(c *slots.Config) { c.StuckAfter = -1 },
	} {
		if _, err := newStage(change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	s := settled(t, nil)
	if err := s.Configure(s.now, slots.Config{}); err == nil || s.Limit(slots.Pool{}) != 2 {
		t.Errorf("limits that are wrong: error %v, limit %d", err, s.Limit(slots.Pool{}))
	}
}
