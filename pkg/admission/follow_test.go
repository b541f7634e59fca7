package admission_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// What Ironic shows of a host reaches the slots, the order, the breakers and the holds at once.
var consequences = []situation{
	{"a failure: a notice, errors, the hold, the breaker, and a healthy host is first", "limit=1 holdoff=1h breaker=2", `
		ask a provision               => granted
		ask b provision               => full queue=b
		ironic a deploying; +5s poll; ironic a deploy_failed error=x; +5s poll => a:failed 0/1
		ask a deprovision             => turn a:waiting queue=b,a
		ask b provision               => granted
		ask a provision               => hold a:stopped
		ironic b deploying; +5s poll; ironic b deploy_failed error=x; +5s poll => b:failed ironic:OPEN by:metal3~a,metal3~b
		ask c provision               => breaker-open
		+15m poll                     => ironic:HALF_OPEN
		ask c provision               => granted
		ironic c deploying; +5s poll; ironic c active; +5s poll => ironic:CLOSED
		+46m poll                     => a:time b:time
		ask a provision               => granted`},
	{"failures that Ironic has shown put a host behind healthy ones", "limit=1", `
		ironic h available; ask h provision => granted
		ironic a deploying agent; +5s poll; ironic a deploy_failed error=x; +5s poll => a:failed
		ask a deprovision; +1s ask b provision => full queue=b,a`},
	{"what failed before anybody watched opens no breaker", "fresh breaker=2", `
		ironic h1..h3 deploy_failed error=x; poll; +1m poll => quiet
		ask a provision               => granted`},
	{"a cleaning that goes well closes the breaker that cleanings opened, though more work follows", "breaker=2 limit=4", `
		ironic h1..h2 cleaning agent; +5s poll; ironic h1..h2 clean_failed error=x; +5s poll => ironic:OPEN
		+15m poll; ask c provision    => granted
		ironic c cleaning; +5s poll; ironic c available; +5s poll => ironic:CLOSED`},
	{"lost boots for which the adaptive limit was cut do not open the breaker of all of Ironic", "limit=20 adaptive breaker=4", `
		ironic h1..h40 available; ask h1..h20 provision => granted 20/20
		ironic h1..h20 wait_call-back; +5s poll; +5m ironic h1..h20 deploying agent; poll; ironic h1..h20 active; +5s poll
		ask h21..h40 provision        => granted 20/20
		ironic h21..h40 wait_call-back; +5s poll; +5m ironic h21..h36 deploying agent; poll; ironic h21..h36 active
		+5s poll; +20m poll           => 4/20
		ironic h37..h40 deploy_failed error=x; +5s poll => h37:failed 0/16
		ask a provision               => granted`},
	{"two records of one host that is tried are one try", "breaker=2 limit=5", `
		ironic h1..h2 deploying agent; +5s poll; ironic h1..h2 deploy_failed error=x; +5s poll; +15m poll
		ask c provision name; ask c provision uuid => granted
		ask d provision               => half-open
		ironic c available; poll; ask d provision => granted`},
	{"an Event says that a host waits or works while that is so", "limit=1", `
		ask a provision; ask b provision => a:works b:waits c:rests
		ironic a cleaning; +5s poll   => a:works
		ironic a available; +5s poll  => a:rests`},
	{"a rebuild that fails has an instance, and is not held", "holdoff=1h", `
		ironic a active; ask a provision; poll; put p a rebuild; sent p; answered p 202
		ironic a deploying; +5s poll; ironic a deploy_failed error=x; +5s poll => a:failed cause:x
		ask a provision               => granted`},
	{"a host that waits, and has failed meanwhile", "limit=1 holdoff=1h", `
		ironic h available; ironic a available; ask h provision; ask a provision; poll => queue=a
		+61s poll; ask a provision; ironic a inspect_failed error=x; poll => a:failed queue= stopped=1`},
	{"a host that was silent for an hour is forgotten", "limit=1", `
		ironic h available; ask h provision; ironic h deploying; poll; ask a provision; poll => queue=a parked=0
		+59m poll 64; ask b provision => parked=1
		+2m poll 64; ask b provision  => parked=0 queue=b`},
	{"a success ends what was known of failures", "limit=1 holdoff=1h", `
		ironic a deploying agent; +5s poll; ironic a deploy_failed error=x; +1m poll => a:failed
		ironic b available; ask b provision => granted
		ironic a deploying; +5s poll; ironic a active; +5s poll => a:success
		ask a deprovision; +1s ask c deprovision => full queue=a,c`},
	{"hosts without a conductor group are one, where others have one", "limit=1", `
		ask a provision; ironic r available group=rack; ask r provision => full
		ironic a deploying; +5s poll; ironic a active; +5s poll; ask r provision => granted
		ironic h1..h3 deploying agent; +5s poll; ironic h1..h3 deploy_failed error=x; +5s poll => group:default:OPEN
		ironic c available; ask c provision; poll; ask c provision => breaker-open
		ask r provision               => held-slot`},
	{"nobody is blamed for an abort", "holdoff=1h breaker=2", `
		ironic h1..h3 cleaning agent; +5s poll
		ironic h1..h3 clean_failed error=Cleaning_aborted_as_node_is_in_maintenance_mode; +1m poll => quiet
		ask h1 provision              => granted
		ask c provision               => granted`},
	{"a host counts once in a breaker", "breaker=2 limit=4", `
		ironic a deploying agent; +5s poll; ironic a deploy_failed error=x; +1m poll => a:failed
		ironic a deploying agent; +5s poll; ironic a deploy_failed error=y; +1m poll => a:failed
		ask c provision               => granted
		ironic b deploying agent; +5s poll; ironic b deploy_failed error=x; +1m poll => b:failed ironic:OPEN`},
	{"a node that is gone leaves hold and errors behind, and its host starts as a new one", "holdoff=1h", `
		ironic a deploying agent; +5s poll; ironic a deploy_failed error=x; +1m poll
		ask a provision               => hold
		+61s ironic a gone; poll; ask a provision => granted a:gone`},
	{"the end of a slot is the turn of the first, and the clock of a free slot", "limit=1", `
		ask a provision               => granted
		ask b provision; ask c provision => full queue=b,c
		ironic a deploying; +5s poll; ironic a active; +5s poll => 0/1
		ask c provision               => turn
		+2m poll; ask c provision     => granted`},
	{"a slot that nobody used gives its host the place that it had", "limit=1", `
		ironic a available; ask a provision => granted
		+1s ask b provision           => full
		+5m poll                      => a:expired 0/1
		ask c provision               => granted
		ask b provision; ask a provision => full queue=a,b`},
	{"a PUT that Ironic refuses costs the tenant nothing", "limit=1", `
		put p beta/a active           => granted
		ask c provision; +1s ask beta/d provision => full queue=c,beta/d
		sent p; answered p 409        => 0/1
		ask beta/d provision          => granted`},
	{"two records that turn out to be one host: the place that was first, and one slot", "limit=2", `
		ironic a available; ask a provision => granted
		ask b provision name          => granted 2/2
		ask c provision name; +1s ask d provision; +1s ask c provision uuid => full queue=c,c,d
		ironic c available; poll      => queue=c,d
		ask b provision uuid          => full
		ironic b deploying; +5s poll  => 2/2
		ask b provision               => held-slot queue=c,d`},
	{"a record without a place gets that of the name", "limit=1", `
		ironic h available; ironic c cleaning called=x; poll; ask h provision => granted
		ironic c manageable called=c; ask c provision name; +1s ask d provision => full queue=c,d
		+5s send; come                => queue=c,d
		ask c provision               => full queue=c,d`},
	{"a host that is found at work leaves the line", "limit=1", `
		ask a provision               => granted
		ask b provision               => full queue=b
		ironic b deploying agent; +5s poll => b:foreign queue= 2/1 b:working`},
	{"a group in which too many have failed is paused until one of them has left Ironic", "maxfailed=1 limit=8 group:rack=4", `
		ironic h1..h2 deploying agent group=rack; +5s poll; ironic h3..h9 available; ask h3..h9 provision; poll
		ask h3..h8 provision; ask h9 provision => full queue=h9
		ironic h1..h2 deploy_failed error=x; +5s poll => pool-rack:paused=true queue=h9 stopped=0
		ironic h3..h8 deploying; poll; ironic h3..h8 active; +5s poll; ask h9 provision
		ironic a available group=rack; ironic b available; ask a provision; ask b provision; poll
		ask a provision               => short-circuit stopped=1
		ask b provision               => granted
		ironic h1 gone; +61s poll; +5s poll; +5s poll => pool-rack:paused=false
		ask a provision               => granted stopped=0`},
	{"a hold outlives the term, and the book of it", "holdoff=1h", `
		ironic a deploying agent; +5s poll; ironic a deploy_failed error=x; +1m poll
		start; poll; +1m poll; ask a provision => hold
		ask a inspect                 => hold held=1+0
		+57m poll; ask a inspect      => hold
		+2m poll; ask a inspect       => granted held=0+1`},
	{"the failures of a host count after a restart, also while only its name is known", "limit=1 holdoff=10m", `
		ironic a deploying agent; +5s poll; ironic a deploy_failed error=x; +5s poll; +11m poll
		ironic a available; poll; start; poll; +1m poll; ask h provision => granted
		ask a provision name; +1s ask b provision => full queue=b,a`},
	{"the deprovision after a failure is for BMO to see", "holdoff=1h", `
		ironic a deploying agent; +5s poll; ironic a deploy_failed error=x; +1m poll
		ask a provision state=provisioning => granted
		ask a deprovision             => held-slot
		ironic a deleting; +5s poll; ironic a available; +5s poll
		ask a provision               => hold`},
	{"with stage remediate the deprovision waits too", "holdoff=1h remediate", `
		ironic a deploying agent; +5s poll; ironic a deploy_failed error=x; +1m poll
		ask a deprovision             => hold
		ask a deprovision deleting    => granted`},
	{"a slot for a deprovision is no way round a hold or a breaker", "holdoff=1h limit=4", `
		ironic a active; ask a deprovision => granted
		ironic a deleting; +5s poll; ironic a cleaning; +5s poll; ironic a clean_failed error=x; +1m poll
		ask a deprovision             => granted
		ask a provision               => hold
		ironic b active; ask b deprovision => granted
		trip ironic; ask b deprovision => held-slot
		ask b provision               => breaker-open`},
}

func TestWhatFollows(t *testing.T) { play(t, consequences) }

// PUTs of the gateway, modes and terms.
var forwards = []situation{
	{"a PUT takes a slot before it is sent, and Ironic's answer shows work", "limit=1", `
		put p a active                => granted 1/1
		put q b active                => full
		sent p; answered p 202        => a:starting
		+10m poll; ironic a deploying; poll => 1/1
		ironic a active; +5s poll     => 0/1`},
	{"a PUT that Ironic refuses, or of which nothing was sent, gives its slot back at once", "limit=1", `
		put p a active; sent p; answered p 400 => 0/1
		put p a active; unsent p      => 0/1
		put p a active; sent p; answered p 500 => 1/1`},
	{"a PUT whose answer was lost keeps its slot until Ironic has shown what became of it", "limit=1", `
		ironic a available; put p a active; sent p; broken p => 1/1
		+59s poll                     => 1/1
		+1s poll                      => 0/1 a:expired`},
	{"a PUT by name, whose node turns out to be known under another one", "limit=1", `
		ironic c cleaning called=x; poll; ironic c available called=c; put p c active name => granted 1/1
		+5s poll                      => 1/1
		sent p; answered p 409        => 0/1`},
	{"what is called twice is done once", "limit=2", `
		put p a active; put q b active => granted 2/2
		unsent p; answered p 202; sent p; unsent p => 1/2
		sent q; answered q 202; unsent q => 1/2`},
	{"an unhold is never refused, as work goes on with it", "limit=1", `
		ask a provision               => granted
		ironic b deploy_hold; put p b unhold => granted 2/1
		ask c provision               => full`},
	{"an unhold is not refused to a host that Ironic has not shown either, and that has not waited", "group:rack=1", `
		put p a unhold                => granted waited=0`},
	{"in mode observe the PUT of a host with a slot is noted, though enforce would refuse it", "observe limit=4 holdoff=1h", `
		ironic a active; ask a deprovision; ironic a deleting; +5s poll; ironic a cleaning; +5s poll
		ironic a clean_failed error=x; +1m poll; ask a deprovision => granted
		put p a active                => observe 1/4
		sent p                        => 1/4
		+30m poll                     => 1/4
		answered p 409; +10m poll     => 0/4`},
	{"in mode observe a PUT passes, and a host at work holds a slot by it", "observe limit=1", `
		put p a active                => granted
		put q b active                => observe 1/1
		sent q; answered q 202; ironic b deploying; +5s poll => 2/1 b:foreign
		put r b active                => held-slot`},
	{"the mode is changed while running, and nobody loses a slot", "limit=1", `
		ask a provision               => granted
		ask b provision               => full
		mode observe; ask b provision => observe 1/1
		mode enforce; ask b provision => full 1/1`},
	{"a PUT that is out while another term begins tells that one nothing", "limit=1", `
		ironic a available; put p a active; sent p => 1/1
		start; poll; +1m poll         => 0/1
		ask b provision               => granted
		answered p 202                => 1/1 b:starting
		unsent p                      => 1/1`},
	{"a standby takes and keeps nothing", "limit=1", `
		away; ask a provision         => starting 0/1 queue=
		put p a active                => starting 0/1
		start; leads; poll; ask a provision => starting
		+1m poll; ask a provision     => granted`},
	{"a poll of the term before shows nothing", "limit=1", `
		ironic a deploying; send; start; come => 0/1
		poll                          => 1/1 a:adopted`},
	{"lower limits take nothing away", "limit=3", `
		ask h1..h3 provision          => granted 3/3
		limit 1                       => 3/1
		ask h2 provision              => held-slot
		ask a provision               => full`},
}

func TestPutsModesAndTerms(t *testing.T) { play(t, forwards) }

// Anybody can invent names. Beyond a bound of them the answer is a clear one, and those that the cluster has go on.
func TestStrangersBeyondABoundAreToldSo(t *testing.T) {
	if testing.Short() {
		t.Skip("100,000 asks")
	}
	s, err := newStage("limit=1 cluster")
	if err != nil {
		t.Fatal(err)
	}
	for i := range slots.MaxUnknown + 1 { // the first one has a slot
		s.IsReady(s.now, api.Ask{Namespace: "spam", Name: fmt.Sprint(i), Op: api.OpProvision})
	}
	if _, err := s.all("cluster a; cluster c node=; cluster d node="); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ line, reason, says string }{
		{"ask b provision", "starting", "has shown this host, and 100000 such hosts have asked: no more of them are taken in"},
		{"ask a provision", "full", " taken, "},
		{"ask c provision name", "full", " taken, "},
		{"ask d provision", "starting", "has shown this host"}, // the cluster does not say that it has that node
		{"put p b active", "full", " taken, "},
	} {
		if got, _ := s.all(row.line); got != row.reason || !strings.Contains(s.last.Message, row.says) {
			t.Errorf("%s: %s, %s", row.line, got, s.last.Message)
		}
	}
}
