package slots_test

import (
	"fmt"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

var names = []life{
	// Nothing is left to start.
	{name: "a host that wants nothing", lines: `
		ask a none                                  => done 0/2
		ask a none state=available                  => done
		ask a inspect deleting state=inspecting     => done
		ask a provision deleting state=provisioning => granted`},
	{name: "a deployment that is there already", change: total(1), lines: `
		ironic b deploying agent; poll; ironic a active
		ask a provision state=provisioned => full
		+5s poll                          => a:-found
		ask a provision                   => done
		+14m poll; ask a provision        => done
		+2m poll; ask a provision         => full`},
	{name: "what a failed poll may have missed is not certain", change: total(1), lines: `
		ask b provision                  => granted
		ironic a active; ask a provision => full
		+5s poll                         => fetch:b
		ask a provision                  => done
		+5s fail; ask a provision        => full`},
	{name: "a deprovision is over when the node is available", change: total(1), lines: `
		ask b provision                       => granted
		ironic a available; ask a deprovision => full
		+5s poll                              => fetch:b
		ask a deprovision                     => done
		ask a provision                       => full`},
	{name: "an inspection ended well a short while ago", lines: `
		ask a inspect state=inspecting            => granted
		ironic a inspecting; +5s poll             => a:working
		ironic a manageable; +5s poll             => a:inspect-success a:reached a:finished
		ask a inspect state=inspecting            => done
		+45s poll; ask a inspect state=manageable => done
		+1s poll; ask a inspect state=inspecting  => granted`},
	{name: "an inspection that ended well, but the node has moved on or has an error since", lines: `
		ask b inspect; ask a inspect                       => granted 2/2
		ironic a inspecting; ironic b inspecting; +5s poll => a:working
		ironic a manageable; ironic b manageable; +5s poll => a:finished b:finished
		ironic a available; ironic b manageable error=x; +5s poll
		ask a inspect state=inspecting                     => granted
		ask b inspect state=inspecting                     => granted`},
	{name: "only a node that may show what its host wants is looked at", change: total(1), lines: `
		ironic b deploying agent; poll => 1/1
		ask a inspect                  => full
		+5s poll                       => fetch:none
		ask a provision                => full
		+5s poll                       => fetch:a
		ask c deprovision              => full
		+5s poll                       => fetch:c`},
	{name: "a node that was cleaned was not inspected by that", lines: `
		ironic a cleaning agent; +5s poll; ironic a manageable; +5s poll; +45s poll
		ask a inspect state=inspecting => granted`},
	{name: "a manageable node was not inspected by that", lines: `
		ironic a manageable; ask a inspect state=inspecting => granted
		+5s poll; ask a inspect state=inspecting => held
		+5m poll                                 => a:unused`},
	{name: "with a name alone nothing is certain", change: total(1), lines: `
		ask b provision      => granted
		ironic a active; +5s send w a; come w; ask a provision => done
		ask a provision name => full`},

	// A slot that is asked for and never used.
	{name: "each yes would renew it for ever", lines: `
		ironic a available; ask a provision => granted
		+4m poll; ask a provision           => held
		+4m poll; ask a provision           => held
		+2m poll; ask a provision           => overdue a:leased
		+3m poll                            => a:unused
		ask a provision                     => granted`},

	// Terms.
	{name: "what was sent in the term before shows nothing", lines: `
		ask a provision                        => granted
		ironic a deploying; +5s poll           => a:working
		ironic a deploying again; +5s send before; +5s send node a; term => 0/2
		come before                            => a:none quiet
		come node                              => a:none quiet
		+5s poll                               => a:began a:notice-adopted 1/2
		ask b provision                        => starting`},
	{name: "a PUT of the term before", lines: `
		put p a active                     => granted
		term; ironic a deploying; +5s poll => a:working 1/2
		sent p                             => 1/2
		answered p 409                     => 1/2 a:working`},

	// How current the view is.
	{name: "no complete poll for too long lets nobody new start", lines: `
		ask a provision       => granted
		+31s ask b provision  => stale
		ask a provision       => held
		poll; ask b provision => granted`},
	{name: "that a host without a slot was at work is too old then", lines: `
		ironic a wait_call-back; +5s poll; +31s ask a provision => stale a:booting
		poll; ask a provision => held`},
	{name: "slow polls may be older", lines: `
		send slow; +20s come slow; +30s ask a provision => granted
		+21s ask b provision => stale`},
	{name: "a start without a poll", fresh: true, lines: `
		+5m ask a provision   => starting
		fail; ask a provision => starting
		poll                  => ready=open
		ask a provision       => granted`},

	// Names and UUIDs.
	{name: "a host that is known by its name is the node that gets it", lines: `
		ask a provision name        => granted 1/2
		ironic a cleaning; +5s poll => a:working 1/2
		ask a provision             => held 1/2
		ask a provision uuid        => held 1/2 hosts=1`},
	{name: "two records of a host become one, with one slot", lines: `
		ask a provision name         => granted 1/2
		ask a provision uuid         => granted 2/2 hosts=2
		ironic a available; +5s poll => a:merged 1/2 hosts=1 a:leased
		ask a provision name         => held`},
	{name: "of two records that become one the newer yes counts", lines: `
		ask a provision uuid         => granted 1/2
		+3m poll; ask a provision name => granted 2/2 hosts=2
		ironic a available; +5s poll => a:merged 1/2 hosts=1 a:leased
		+2m poll                     => 1/2
		+3m poll                     => a:unused`},
	{name: "that its name was let start is known of the node", change: total(1), lines: `
		ask a inspect name           => granted
		+5m poll                     => a:unused
		ask b provision              => granted
		ask a provision uuid         => full
		ironic a deploying; +5s poll => a:merged a:notice-foreign 2/1`},
	{name: "an ask by both joins them", lines: `
		ask a provision name => granted
		ask a provision uuid => granted 2/2
		ask a provision      => held 1/2 a:merged hosts=1`},
	{name: "a dry run of an ask by both sees the slot of either", change: total(1), lines: `
		ask a provision name => granted
		ask a provision uuid => full
		peek a provision     => held quiet hosts=2
		ask a provision      => held a:merged hosts=1`},
	{name: "what its name has asked for last is what the node has", lines: `
		ironic a cleaning called=x; poll; ironic a manageable called=a; ask a inspect name => granted
		+5s poll             => a:merged a:leased hosts=1 asked:a=inspect`},
	{name: "the name of another node is another host", lines: `
		ironic a available; ask a provision => granted
		+5s poll; ask a provision uuid=a2   => granted 2/2 hosts=2`},
	{name: "a name that Ironic gave another node leads to that", lines: `
		ironic a available; +1s send w a; come w
		ironic a available called=z; ironic b available called=a
		+1s send w a; come w; +1s send w b; come w; ask a provision name => granted
		ask b provision uuid => held`},
	{name: "Ironic's name stays when an ask says another one", lines: `
		ironic a available; +1s send w a; come w; ask b provision uuid=a => granted
		ask a provision name => held`},
	{name: "the node is deleted and created again under the name that got the yes", lines: `
		ironic a active; +1s send w a; come w; ask a deprovision name => granted
		ironic a gone; ironic b active called=a; +5s poll => a:-found b:leased 1/2 hosts=1
		ironic b deleting called=a; +5s poll              => b:working 1/2
		ask a deprovision uuid=b                          => held`},
	{name: "likewise where the new node has asked by its UUID before", change: total(1), lines: `
		ironic a available; +1s send w a; come w; ironic c available; ask c provision => granted
		ironic a gone; ironic b manageable called=a; ask a inspect uuid=b => full
		+5m poll                               => c:unused
		ask a inspect name                     => granted
		ironic b inspecting called=a; +5s poll => b:working 1/1`},
	{name: "what the node of before has done does not count for the one that is made again", lines: `
		ask a inspect name                => granted
		ironic a inspecting; +5s poll     => a:working
		ask a inspect name                => held
		ironic a gone; ironic b manageable called=a; +5s poll => b:leased 1/2 quiet
		ironic b inspecting called=a; +5s poll     => b:working
		ironic b manageable called=a; +5s poll     => a:reached a:finished`},
	{name: "a name that is not in Ironic yet keeps its slot as long as a yes is good for", lines: `
		ask a inspect name => granted
		+5s poll           => fetch:a 1/2
		+5s poll           => 1/2
		+4m50s poll        => a:unused 0/2`},
	{name: "a node that is gone may be made again as long as a yes to its name is good for", lines: `
		ironic a available; +1s send w a; come w; ask a provision name => granted
		ironic a gone; +5s poll; +4m50s poll => a:leased 1/2
		+5s poll                             => a:vanished a:gone 0/2`},
	{name: "Ironic finds a node by its name in other letters", lines: `
		ironic a available; +1s send w a; come w; ask A provision name => granted
		+5s poll => fetch:A a:merged a:leased 1/2 hosts=1
		+5m poll => a:unused`},
	{name: "a host without a slot is gone with its node", lines: `
		ironic a deploying agent; +5s poll
		ironic a deploy_failed error=x; +5s poll => a:finished failures:a=1
		ironic a gone; +5s send w a; come w      => a:gone failures:a=0`},
	{name: "a silent host is forgotten, one that had a yes is not", lines: `
		ask a provision                     => granted
		ironic a available
		ironic b available boot=redfish-virtual-media
		ask b provision media               => exempt
		ironic c available; ask c provision => granted
		ask d provision                     => full hosts=4
		+5s poll                            => fetch:d
		+59m poll 64                        => hosts=4
		+1m poll 64                         => hosts=3 d:forgotten`},
}

func TestNamesViewsAndTerms(t *testing.T) { play(t, names) }

// Anybody can invent names: of hosts that nobody has shown, only so many are taken in.
func TestStrangersAreBounded(t *testing.T) {
	s := settled(t, nil)
	ask := func(i int, exists bool) slots.Standing {
		id := slots.ID{Name: fmt.Sprintf("n~%d", i)}
		_, standing := s.Ask(s.now, slots.Ask{ID: id, Op: api.OpProvision, Exists: exists}, true)
		return standing
	}
	for i := range slots.MaxUnknown {
		if got := ask(i, false); got != slots.Open {
			t.Fatalf("host %d: %v", i, standings[got])
		}
	}
	if got := ask(slots.MaxUnknown, false); got != slots.Unknown {
		t.Errorf("one too many is %s", standings[got])
	}
	if got := ask(slots.MaxUnknown+1, true); got != slots.Open {
		t.Errorf("one that the cluster has is %s", standings[got])
	}
	if got := ask(7, false); got != slots.Open {
		t.Errorf("one that is known already is %s", standings[got])
	}
	s.all(t, "+61m poll 64")
	if got := ask(slots.MaxUnknown, false); got != slots.Open {
		t.Errorf("one that comes when the others are forgotten is %s", standings[got])
	}
}
