package slots_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

var failures = []life{
	// Failures.
	{name: "a conductor that has not said yet why the work failed", lines: `
		ask a provision => granted
		ironic a deploying; +5s poll; ironic a deploy_failed lock
		+5s poll        => a:working quiet 1/2
		+2m59s poll     => a:working quiet
		ironic a deploy_failed lock error=Timeout; +1s poll => a:deploy-failure a:finished`},
	{name: "a conductor that never says why", lines: `
		ask a provision => granted
		ironic a deploying; +5s poll; ironic a deploy_failed lock
		+5s poll        => a:working
		+3m poll        => a:deploy-failure a:finished`},
	{name: "a host that failed queues again, and gives its slot to one that is first", change: total(1), lines: `
		ask a provision                               => granted
		ironic a deploying; +5s poll; ask a provision => held
		ironic a deploy_failed error=x; +5s poll      => a:deploy-failure a:lingering failures:a=1
		ask b provision                               => full
		ask a provision                               => full
		+40s poll; ask b provision                    => full
		+5s poll                                      => a:finished
		ask b provision                               => granted`},
	{name: "a host that failed and is first gets another slot for its next try", lines: `
		ask a provision                               => granted
		ironic a deploying; +5s poll; ask a provision => held
		ironic a deploy_failed error=x; +5s poll      => a:lingering
		ask a deprovision                             => granted a:finished a:leased 1/2`},
	{name: "a failure counts once", lines: `
		ironic a deploying agent; +5s poll       => a:began
		ironic a deploy_failed error=x; +5s poll => a:deploy-failure failures:a=1
		+5s send again a; come again             => quiet failures:a=1
		ask a provision                          => granted
		+5s poll                                 => quiet
		+5m poll                                 => a:unused failures:a=1
		ironic a deploying; +5s poll; ironic a deploy_failed error=x
		+5s poll                                 => a:deploy-failure failures:a=2`},
	{name: "success of the kind that failed ends the row of failures, a deprovision does not", lines: `
		ironic a deploying agent; +5s poll
		ironic a deploy_failed error=x; +5s poll => failures:a=1
		ironic a deleting; ask a deprovision     => granted
		+5s poll; ironic a available; +5s poll   => a:delete-success failures:a=1
		ironic a deploying agent; ask a provision; +5s poll
		ironic a active; +5s poll                => a:deploy-success failures:a=0`},
	{name: "a node that is found failed at the start has failed before", fresh: true, lines: `
		ironic a deploy_failed error=x; poll => a:deploy-found failures:a=0
		+5s poll                             => quiet`},
	{name: "a node that is found failed later has failed since", lines: `
		ironic a deploy_failed error=x; ask a provision => granted
		+5s poll => a:deploy-failure failures:a=1`},
	{name: "a rebuild of an active node", lines: `
		ironic a active; ask a provision; +5s poll; ironic a deploying; +5s poll => a:working
		ironic a deploy_failed error=x; +5s poll => a:deploy-failure a:rework`},
	{name: "a rebuild of an active node by a PUT of the gateway", lines: `
		ironic a active; ask a provision         => granted
		+5s poll                                 => a:finished
		put p a rebuild                          => granted
		sent p; answered p 202; ironic a deploying; +5s poll => a:working
		ironic a deploy_failed error=x; +5s poll => a:deploy-failure a:rework a:finished`},

	{name: "an error that was there before says nothing", lines: `
		ironic a cleaning agent error=old; +5s poll => a:working
		ironic a available error=old; +5s poll      => a:clean-success`},
	{name: "an error that is there though the state is good", lines: `
		ironic a cleaning agent; +5s poll      => a:working
		ironic a available error=new; +5s poll => a:clean-neutral`},

	// Goals: what follows shows that the work before went well, and where nothing can follow the slot ends at once.
	{name: "from work to work", lines: `
		ask a inspect                => granted
		ironic a inspecting; +5s poll; ironic a cleaning; +5s poll => a:inspect-success a:working
		ask a provision              => held
		ironic a deploying; +5s poll => a:clean-success
		ironic a active; +5s poll    => a:deploy-success a:reached a:finished`},
	{name: "a preparation ends in manageable", lines: `
		ask a prepare => granted
		ironic a cleaning; +5s poll; ironic a manageable; +5s poll => a:clean-success a:reached a:finished`},
	{name: "an inspection does not end where it starts", lines: `
		ironic a manageable; ask a inspect => granted
		+5s poll                           => a:leased
		ironic a inspecting; +5s poll      => a:working
		ironic a manageable; +5s poll      => a:inspect-success a:finished`},
	{name: "a rescue, and back", lines: `
		ask a rescue   => granted
		ironic a rescue_wait; +5s poll; ironic a rescue; +5s poll => a:rescue-success a:reached a:finished
		ask a unrescue => granted
		ironic a unrescuing; +5s poll; ironic a active; +5s poll => a:unrescue-success a:finished`},
	{name: "a deprovision", lines: `
		ironic a active; ask a deprovision => granted
		ironic a deleting; +5s poll; ironic a cleaning; +5s poll => a:working quiet
		ironic a available; +5s poll       => a:clean-success a:finished`},
	{name: "of an adopted slot nobody knows the goal, but nothing follows a deployment", fresh: true, lines: `
		ironic a deploying; ironic b cleaning; poll   => 2/2
		ironic a active; ironic b available; +5s poll => a:finished b:lingering
		+45s poll                                     => b:finished`},
}

func TestFailuresAndGoals(t *testing.T) { play(t, failures) }

// In the words of Ironic's conductor. Somebody's wish, maintenance, and a conductor that stops or takes over are no
// fault of the host; a broken connection is, though it is "aborted" too.
func TestWhoseFaultAFailureIs(t *testing.T) {
	for _, c := range []struct{ state, text, result string }{
		{"clean_failed", "Clean operation aborted for node 1a2b during step erase. By request of user", "neutral"},
		{"inspect_failed", "Inspection was aborted by request.", "neutral"},
		{"rescue_failed", "Rescue operation was aborted by request.", "neutral"},
		{"clean_failed", "Cleaning aborted as node is in maintenance mode", "neutral"},
		{"deploy_failed", "Operation was aborted due to conductor take over", "neutral"},
		{"deploy_failed", "The deploying operation can't be resumed by conductor example. Moving to fail state.", "neutral"},
		{"deploy_failed", "Timeout reached while waiting for callback for node 1a2b", "failure"},
		{"deploy_failed", "Connection aborted. Remote end closed connection without response", "failure"},
		{"deploy_failed", "Failed to download image: ('Connection aborted.', RemoteDisconnected())", "failure"},
		{"clean_failed", "", "failure"},
		{"inspect_failed", "The node is locked; take over failed", "failure"},
	} {
		s := settled(t, nil)
		host := ironic.State(strings.ReplaceAll(c.state, "_", " "))
		busy := map[ironic.Work]string{
			ironic.WorkClean: "cleaning", ironic.WorkInspect: "inspecting",
			ironic.WorkRescue: "rescuing", ironic.WorkDeploy: "deploying",
		}
		text := strings.ReplaceAll(c.text, " ", "_")
		s.all(t, "ironic a "+busy[host.Work()]+" agent", "+5s poll", "ironic a "+c.state+" error="+text)
		s.all(t, "+5s poll")
		want := fmt.Sprintf("a:%s-%s", host.Work(), c.result)
		if !slices.Contains(s.told, want) {
			t.Errorf("%q: told %q, want %s", c.text, s.told, want)
		}
		s.all(t, "+1m ironic a available", "poll", "ask a provision", "+5s ironic a "+c.state+" error="+text, "poll")
		if !slices.Contains(s.told, want) || s.phase("a") != "lingering" {
			t.Errorf("%q, between two polls: told %q, want %s; its slot is %s", c.text, s.told, want, s.phase("a"))
		}
	}
}

// Sizing goes by how long hosts boot.
func TestBootsAreTimed(t *testing.T) {
	s := settled(t, nil)
	s.all(t, "ask a provision", "ironic a deploying", "+5s poll", "+20s ironic a wait_call-back", "poll", "+5m poll")
	ended, open := s.Boots(s.now)
	if len(ended) != 0 || len(open) != 1 || open[0].Took != 5*time.Minute || open[0].Result != "" || !open[0].Counted {
		t.Errorf("a boot that lasts: %+v, %+v", ended, open)
	}
	for state, result := range map[string]slots.Result{
		"wait_call-back agent": slots.Succeeded, "active": slots.Succeeded, "deploy_failed error=Timeout": slots.Failed,
		"deploy_failed error=aborted_by_request": slots.Neutral,
	} {
		s.all(t, "+1h ironic a available", "poll", "ask a provision", "ironic a wait_call-back", "poll")
		s.Boots(s.now)
		s.all(t, "+6m ironic a "+state, "poll")
		ended, open = s.Boots(s.now)
		if len(open) != 0 || len(ended) != 1 || ended[0].Took != 6*time.Minute || ended[0].Result != result {
			t.Errorf("its end by %s: %+v, %+v", state, ended, open)
		}
	}
}
