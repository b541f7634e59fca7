package admission

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// words is what people read about a reason.
type words struct {
	say func(f *facts, d decision, s api.Slots) string // the sentence that says why; nil: no decision has this reason
	// steps are what an operator can do. {host}, {node}, {scope} are the host, its node, and the breaker that stops it.
	steps []string
	waits bool // only slots and turns keep such a host from starting
}

// plain returns a say for a sentence without numbers.
func plain(text string) func(*facts, decision, api.Slots) string {
	return func(*facts, decision, api.Slots) string { return text }
}

// counted returns a say for a sentence with the numbers of slots and queue.
func counted(text string) func(*facts, decision, api.Slots) string {
	return func(_ *facts, d decision, s api.Slots) string { return numbers(text, d, s) }
}

// stuck is a row of reasons for Why alone; no answer has it.
const stuck api.Reason = "stuck"

// reasons has a row for each reason.
var reasons = map[api.Reason]words{
	api.ReasonGranted: {counted("takes a free slot"), []string{
		"Wait: BMO asks again within two minutes. If it does not, see whether BMO is running: " +
			"kubectl get bmh -A shows what it last did.",
	}, true},
	api.ReasonHeldSlot: {plain("already holds a slot"), []string{
		"Nothing: it may go on. If it does not move, see what its node does: openstack baremetal node show {node}.",
	}, false},
	stuck: {nil, []string{
		"See what its node does: openstack baremetal node show {node}. Ironic ends it by itself only if its time-outs say so; " +
			"to end it by hand: openstack baremetal node abort {node}.",
	}, false},
	api.ReasonDone: {plain("nothing is left to start, needs no slot"), []string{"Nothing: it needs no slot."}, false},
	api.ReasonExempt: {plain("boots from virtual media, needs no slot"), []string{
		"Nothing: it boots from virtual media and is not limited. " +
			"To limit such hosts too, set IRONIC_THROTTLE_VIRTUAL_MEDIA_LIMIT.",
	}, false},
	api.ReasonObserve: {nil, []string{"Nothing: IRONIC_THROTTLE_MODE=observe refuses no host."}, true},
	api.ReasonFull: {counted("no slot is free"), []string{
		"Wait for its turn. See who holds the slots, and for how long: ironic-throttle status.",
		"If Ironic, DHCP and the image server can take more, raise MAX_CONCURRENT_PROVISIONING_HOSTS.",
	}, true},
	api.ReasonTurn: {sayTurn, []string{
		"Wait for its turn. See who is before it: ironic-throttle queue.",
		"If free slots stay unused, see whether BMO is running, and what it last did with the host: kubectl get bmh -A.",
	}, true},
	api.ReasonFailingCap: {counted("hosts that fail again and again hold all the slots that they may have now"), []string{
		"Repair what makes it fail: kubectl describe bmh shows the last error.",
	}, true},
	api.ReasonHold: {sayHold, []string{
		"See what failed: ironic-throttle holds.",
		"When that is repaired, or to try again at once: ironic-throttle holds release {host}.",
	}, false},
	api.ReasonShortCircuit: {sayShortCircuit, []string{
		"See which hosts have failed: ironic-throttle holds. When they are repaired, release them.",
		"To allow more failed hosts, raise IRONIC_THROTTLE_MAX_FAILED.",
	}, false},
	api.ReasonBreakerOpen: {sayBreakerOpen, []string{
		"See which breaker is open and what failed: ironic-throttle breakers.",
		"When that is repaired, let hosts start at once: ironic-throttle breakers reset {scope}.",
	}, false},
	api.ReasonHalfOpen: {sayHalfOpen, []string{
		"Wait for the hosts that are tried: ironic-throttle breakers shows how many.",
		"When the cause is certainly repaired: ironic-throttle breakers reset {scope}.",
	}, false},
	api.ReasonRate: {sayRate, []string{
		"Wait a minute.",
		"To let more hosts start in a minute, raise IRONIC_THROTTLE_BREAKER_RATE_LIMIT_PER_MINUTE.",
	}, true},
	api.ReasonStale: {plain("Ironic has not been seen for too long to start anything new"), []string{
		"See whether Ironic answers, and what the throttle's last poll met: ironic-throttle status.",
		"Repair Ironic; where its answer is 401 or 403, or TLS fails, the throttle's credentials or CA. " +
			"Restart nothing: hosts start after the next good poll, and those at work go on meanwhile.",
	}, false},
	api.ReasonStarting: {sayStarting, []string{
		"Wait a minute after a start, and ask the replica that leads: ironic-throttle status says who answered.",
		"If it lasts, see in ironic-throttle status whether polls of Ironic fail.",
	}, false},
	api.ReasonPlannedYields: {func(f *facts, _ decision, _ api.Slots) string { return f.yields }, []string{
		"Wait. See who wants the slots: ironic-throttle queue, ironic-throttle holds and ironic-throttle breakers.",
		"If it must not wait behind all other work: kubectl annotate bmh -n NAMESPACE NAME ironic-throttle.metal3.io/planned-. " +
			"An ask that says \"planned\" must leave that out.",
	}, false},
}

// stepsFor returns what an operator can do for the host if it is told reason.
func (t *teller) stepsFor(reason api.Reason) []string {
	names := strings.NewReplacer(
		"{host}", t.Host, "{scope}", t.scope, "{node}", cmp.Or(t.NodeUUID, strings.ReplaceAll(t.Host, "/", "~")),
	)
	all := make([]string, 0, len(reasons[reason].steps))
	for _, s := range reasons[reason].steps {
		all = append(all, names.Replace(s))
	}
	return all
}

func sayTurn(f *facts, d decision, s api.Slots) string {
	if f.standing == slots.Overdue {
		return numbers("did not use its slot in time and has to wait for another", d, s)
	}
	return numbers("other hosts are first for the free slots", d, s)
}

func sayStarting(f *facts, _ decision, _ api.Slots) string {
	switch {
	case !f.leading:
		return "this throttle does not decide now: it does not lead, or has not read the holds of failed hosts yet"
	case f.standing == slots.Unknown:
		return fmt.Sprintf("neither Ironic nor the cluster has shown this host, and %d such hosts have asked: "+
			"no more of them are taken in", slots.MaxUnknown)
	case f.unplaced:
		return "Ironic has not shown this host yet, so its conductor group and how it boots are not known: " +
			"the next poll asks for it"
	}
	return "the throttle has just started and is still finding out which hosts are busy"
}

func sayHold(f *facts, _ decision, _ api.Slots) string {
	h := f.hold
	return fmt.Sprintf("its %s has failed%s, and it is held for another %s, until %s; "+
		"to try it now: ironic-throttle holds release %s",
		h.Kind, inARow(h.Failures), api.Age(h.Remaining), api.Instant(h.Until), f.host.Shown())
}

func sayShortCircuit(f *facts, _ decision, _ api.Slots) string {
	p := f.pause
	return fmt.Sprintf("%s is paused, as %d of its %d hosts have failed or are held and IRONIC_THROTTLE_MAX_FAILED allows %d",
		poolWord(p.Pool), p.Failed, p.Hosts, p.Allowed)
}

func sayBreakerOpen(f *facts, d decision, _ api.Slots) string {
	where, long := scopeWord(f.open.Scope), api.Age(d.wait)
	if f.open.ByHand {
		return fmt.Sprintf("the breaker of %s was opened by hand, nothing new starts there for another %s", where, long)
	}
	_, causes, _ := strings.Cut(f.open.Message, ": ")
	return fmt.Sprintf("too much has failed in %s, nothing new starts there for another %s%s", where, long, because(causes))
}

func sayHalfOpen(f *facts, _ decision, _ api.Slots) string {
	return fmt.Sprintf("the breaker of %s was open; single hosts are tried there first, all others wait until one of them goes well",
		scopeWord(f.open.Scope))
}

func sayRate(f *facts, _ decision, _ api.Slots) string {
	return fmt.Sprintf("%s started in %s within a minute, which is all that IRONIC_THROTTLE_BREAKER_RATE_LIMIT_PER_MINUTE allows",
		number(f.rate.Limit, "host has", "hosts have"), scopeWord(wholeIronic))
}
