package admission_test

import (
	"fmt"
	"testing"
)

// What the cluster says of a host.
var clusters = []situation{
	{"the larger number of errors counts, the client's or the cluster's", "limit=1 cluster", `
		ironic a available; ask a provision => granted
		cluster b fails=3; cluster c  => quiet
		ask b provision; +1s ask c provision; +1s ask d provision errors=3 => full queue=c,b,d`},
	{"a PUT says nothing of errors: those of the last ask count", "limit=1", `
		ironic a available; ask a provision => granted
		ask b provision errors=3; put p b active; +1s ask c provision => full queue=c,b`},
	{"a host that is being deleted never waits for its errors", "limit=1 cluster", `
		ironic a available; ask a provision => granted
		ask c provision errors=2; cluster b errors=3 deleting; +1s put p b deleted => full queue=b,c`},
	{"a deleted host leaves the line at once, its slot stays", "limit=1 cluster", `
		cluster a; cluster b; cluster c; ironic a available; ask a provision => granted
		ask b provision; ask c provision => full queue=b,c
		cluster b gone; cluster a gone => queue=c 1/1`},
	{"so does one that asked before the cluster showed it, not one with another node", "limit=1 cluster", `
		ironic a available; ask a provision; ask b provision; ask c provision node=c2 => full queue=b,c
		cluster b; cluster c; cluster b gone; cluster c gone                          => queue=c`},
	{"an old host of the same name takes no new one with it", "limit=1 cluster", `
		ironic a available; ask a provision; cluster b uid=old; ask b provision uid=new name => full queue=b
		cluster b gone                => queue=b`},
	{"a host that names the node of another one takes nothing from it", "limit=1 cluster", `
		cluster b; ironic a deploying agent; ironic b available; poll; ask b provision => full queue=b
		cluster evil/x node=uuid-b; cluster evil/x gone => queue=b`},
	{"nor from one that asked before the cluster showed it", "limit=1 cluster", `
		ironic a available; ask a provision; ask b provision         => full
		cluster b; cluster evil/x node=uuid-b; cluster evil/x gone   => queue=b`},
	{"and its errors are not those of the host that has the node by Ironic's name", "limit=1 cluster", `
		cluster b node=; cluster evil/x node=uuid-b fails=3; ironic b cleaning agent; poll; ironic b available; +5s poll; +1m poll
		ask a provision               => granted
		put p b active uuid; +1s ask c provision => full queue=b,c`},
	{"a PUT has the node alone, and its BareMetalHost says whose it is", "limit=1 cluster", `
		cluster beta/b; ask a provision; put p beta/b active uuid => full holding=beta:0,metal3:1`},
	{"a host whose node is deleted leaves the line, though its BareMetalHost stays", "limit=1 cluster", `
		cluster b; ironic a available; ask a provision; ask b provision; ask c provision => full queue=b,c
		delete b                      => queue=c`},
	{"a host that BMO leaves alone loses no place", "limit=1 cluster", `
		cluster b; ironic a available; ask a provision; ask b provision; +1s ask c provision => full queue=b,c
		cluster b left                => queue=c stopped=1
		ask b provision               => full queue=b,c stopped=0`},
	{"a paused or detached host is held by nothing", "holdoff=1h cluster", `
		cluster a; ironic a deploying agent; +5s poll; ironic a deploy_failed error=x; +1m poll; ask a provision => hold
		cluster a left; ask a provision => granted`},
	{"a changed spec is the repair that was waited for", "holdoff=1h cluster", `
		cluster a spec=1; ironic a deploying agent; +5s poll; ironic a deploy_failed error=x; +1m poll
		ask a provision => hold
		ask a provision spec=2        => hold
		cluster a spec=2; ask a provision => granted`},
	{"so is one that was changed before anybody asked", "holdoff=1h cluster", `
		cluster a spec=1; ironic a deploying agent; +5s poll; ironic a deploy_failed error=x; +1m poll
		cluster a spec=2; ask a provision => granted`},
	{"whatever a host that is being deleted says, its deprovisioning is what follows", "limit=1", `
		ironic a active; ask a provision deleting => granted 1/1
		ironic a cleaning; +5s poll; ironic a available; +5s poll => 0/1`},
	{"what the client says of the spec counts only where nobody knows the cluster", "holdoff=1h cluster", `
		ironic a deploying agent; +5s poll; ironic a deploy_failed error=x; +1m poll; ask a provision => hold
		ask a provision spec=1; ask a provision spec=2 => hold`},
	{"errors of another host of the same name do not count", "limit=1 cluster", `
		ironic a available; cluster b uid=old errors=3; cluster c; ask a provision => granted
		ask b provision uid=new name; +1s ask c provision => full queue=b,c`},
	{"an annotation releases a host from that failure", "holdoff=1h cluster", `
		cluster a; ironic a deploying agent; +5s poll; ironic a deploy_failed error=x; +1m poll; ask a provision => hold
		cluster a release; ask a provision => granted`},
	{"another host object on the node inherits no hold", "holdoff=1h cluster", `
		cluster a; ironic a deploying agent; +5s poll; ironic a deploy_failed error=x; +1m poll; ask a provision => hold
		cluster a uid=2; ask a provision => granted`},
	{"equal parts go by the namespace of the consumer", "limit=1 cluster", `
		ironic a available; cluster a tenant=blue; cluster b tenant=blue; cluster c tenant=red; ask a provision => granted
		ask b provision; +1s ask c provision => full queue=c,b`},
	{"a weight is a larger part", "limit=3 weight:beta=2", `
		ironic h1..h2 available; ask h1..h2 provision; put p beta/a active => granted 3/3
		ask h3 provision; ask beta/b provision; ask beta/c provision
		ask beta/d provision => full queue=beta/b,beta/c,h3,beta/d`},
	{"the same name with another node is another host", "limit=1 cluster", `
		ironic a available; cluster b; ask a provision; ask b provision; ask b provision node=b2 => full queue=b,b`},
}

func TestWhatTheClusterSays(t *testing.T) { play(t, clusters) }

// Planned work waits behind everybody; each cause is told.
var planned = []situation{
	{"while a breaker is not CLOSED", "limit=10", `
		trip group:rack; ask a provision planned => starting
		ironic a available; poll; ask a provision planned => planned-yields wait=60 says:every_circuit_breaker_is_CLOSED
		reset group:rack; ask a provision planned => granted`},
	{"not behind a host that waits for slots of another kind", "limit=1 media=2", `
		ironic a available; ironic c available boot=redfish-virtual-media
		ask a provision; ask b provision; ask c provision planned; poll; ask a provision => granted
		ask b provision; ask c provision planned => granted`},
	{"while a conductor group is paused", "limit=10 maxfailed=0", `
		ironic b deploying agent group=rack; ironic a available; ask a none; ask a provision dry; +5s poll
		ironic b deploy_failed error=x; +5s poll; ask a provision planned; poll
		ask a provision planned       => planned-yields says:no_conductor_group_is_paused`},
	{"while others want a slot, and one of the same namespace is named", "limit=1", `
		ironic a available; ask a provision; ask b provision; ask beta/c provision => full
		ask d provision planned       => planned-yields says:2_hosts_do,_one_of_them_is_metal3/b queue=beta/c,b
		ask beta/d provision planned  => says:2_hosts_do,_one_of_them_is_beta/c
		ask gamma/d provision planned => says:now_2_hosts_do d:waiting`},
	{"the hosts of another namespace are not named, though one says that it is that one's", "limit=1 cluster", `
		cluster spy tenant=victim; ironic a available; ask a provision; ask victim/secret provision => full
		ask spy provision planned     => planned-yields says:now_1_host_does hides:secret`},
	{"a host that is silent for an hour is waited for no more", "limit=5", `
		ironic h1..h5 available; ask h1..h5 provision; ask b provision => full
		ironic h1..h5 deploying; +5s poll; ironic h1..h5 active; +5s poll => 0/5
		+58m poll; ask d provision planned => planned-yields
		+1m50s poll; ask d provision planned => granted`},
	{"while a host is held, as its time comes", "limit=10 holdoff=1h", `
		ironic a deploying agent; +5s poll; ironic a deploy_failed error=x; +1m poll
		ask d provision planned       => planned-yields says:1_host_does
		+1h poll; ask d provision planned => granted`},
	{"a host that waits and is held is one", "limit=1 holdoff=1h", `
		ironic h available; ironic a available; ask h provision; ask a provision; poll; +61s poll; ask a provision
		ironic a inspect_failed error=x; poll; ask d provision planned => planned-yields says:1_host_does`},
	{"not while it is held itself, or a host whose work is planned too", "limit=10 holdoff=1h", `
		ironic a available; ask a provision planned; ironic a deploying; +5s poll; ironic a deploy_failed error=x; +1m poll
		ask a deprovision planned; ask d provision planned => granted`},
	{"as many as it may have, and a reserve", "limit=10", `
		ironic a available; ironic h1..h9 available; ask h1..h2 provision planned => granted
		ask a provision planned       => planned-yields says:holds_2_of_10_slots_and_may_hold_2
		ironic h1 deploying; +5s poll; ironic h1 active; +5s poll; ask h3..h9 provision => granted
		ask a provision planned       => granted
		ironic h2 deploying; +5s poll; ironic h2 active; +5s poll; ask h1 deprovision => granted
		ask b provision planned       => planned-yields says:leaves_1_of_10_slots_free,_and_1_are_free_now`},
	{"of a conductor group and of all", "limit=10 group:rack=4", `
		ironic h1..h2 available group=rack; ask h1..h2 provision planned; +5s poll
		ask h1 provision planned => granted rack=1/4
		ask h2 provision planned      => planned-yields says:holds_1_of_4_slots_of_rack_and_may_hold_1`},
	{"of a conductor group that has some left, but all have none", "limit=8 group:rack=8", `
		ironic h1..h2 available; ironic a available group=rack; ask h1..h2 provision planned; ask a provision planned; poll
		ask h1..h2 provision planned  => granted 2/8
		ask a provision planned       => planned-yields says:holds_2_of_8_slots_and_may_hold_2`},
	{"the cluster says that it is planned, for PUTs too", "limit=1 cluster", `
		ironic a available; ask a provision; cluster b planned; put p b active => planned-yields queue= 1/1
		ask b provision               => planned-yields`},
	{"a host that waited and is planned from now on leaves the line", "limit=1", `
		ironic a available; ask a provision; ask b provision => full queue=b
		ask b provision planned       => planned-yields queue=`},
}

func TestPlannedWorkYields(t *testing.T) { play(t, planned) }

// Whoever may invent namespaces makes the status and the metrics no longer.
func TestTenantsAreNamedUpToABound(t *testing.T) {
	s, err := newStage("limit=1")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 { // the first one has the slot
		if _, err := s.all(fmt.Sprintf("ask ns%d/h provision", i)); err != nil {
			t.Fatal(err)
		}
	}
	named, others := 0, 0
	for _, w := range s.Status(s.now).Turns.Waiting {
		switch {
		case w.Tenant == "(others)":
			others += w.Hosts
		case w.Hosts > 0:
			named++
		}
	}
	if named != 49 || others != 10 {
		t.Errorf("%d tenants are named, %d hosts are of others: want 49 and 10", named, others)
	}
}
