package admission

import (
	"cmp"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// steps are by reason what an operator can do. {host}, {node} and {scope} stand for the host, its node, and the breaker
// that stops it.
var steps = map[api.Reason][]string{
	api.ReasonGranted: {
		"Wait: BMO asks again within two minutes. If it does not, see whether BMO is running: " +
			"kubectl get bmh -A shows what it last did.",
	},
	api.ReasonHeldSlot: {
		"Nothing: it may go on. If it does not move, see what its node does: openstack baremetal node show {node}.",
	},
	api.ReasonDone: {"Nothing: it needs no slot."},
	api.ReasonExempt: {
		"Nothing: it boots from virtual media and is not limited. " +
			"To limit such hosts too, set IRONIC_THROTTLE_VIRTUAL_MEDIA_LIMIT.",
	},
	api.ReasonObserve: {"Nothing: IRONIC_THROTTLE_MODE=observe refuses nobody."},
	api.ReasonFull: {
		"Wait for its turn. See who holds the slots, and for how long: ironic-throttle status.",
		"If Ironic, DHCP and the image server can take more, raise MAX_CONCURRENT_PROVISIONING_HOSTS.",
	},
	api.ReasonTurn: {
		"Wait for its turn. See who is before it: ironic-throttle queue.",
		"If free slots stay unused, see whether BMO is running, and what it last did with the host: kubectl get bmh -A.",
	},
	api.ReasonFailingCap: {
		"Repair what makes it fail: kubectl describe bmh shows the last error.",
		"To let failing hosts have more slots, raise IRONIC_THROTTLE_FAILING_CAP.",
	},
	api.ReasonHold: {
		"See what failed: ironic-throttle holds.",
		"When that is repaired, or to try again at once: ironic-throttle holds release {host}.",
	},
	api.ReasonShortCircuit: {
		"See which hosts have failed: ironic-throttle holds. When they are repaired, release them.",
		"To allow more failed hosts, raise IRONIC_THROTTLE_MAX_FAILED.",
	},
	api.ReasonBreakerOpen: {
		"See which breaker is open and what failed: ironic-throttle breakers.",
		"When that is repaired, let hosts start at once: ironic-throttle breakers reset {scope}.",
	},
	api.ReasonHalfOpen: {
		"Wait for the hosts that are tried: ironic-throttle breakers shows how many.",
		"When the cause is certainly repaired: ironic-throttle breakers reset {scope}.",
	},
	api.ReasonRate: {
		"Wait a minute.",
		"To let more hosts start in a minute, raise IRONIC_THROTTLE_BREAKER_RATE_LIMIT_PER_MINUTE.",
	},
	api.ReasonStale: {
		"See whether Ironic answers, and what the throttle's last poll met: ironic-throttle status.",
		"Repair Ironic; where its answer is 401 or 403, or TLS fails, the throttle's credentials or CA. " +
			"Restart nothing: hosts start after the next good poll, and those at work go on meanwhile.",
	},
	api.ReasonStarting: {
		"Wait a minute after a start, and ask the replica that leads: ironic-throttle status says who answered.",
		"If it lasts, see in ironic-throttle status whether polls of Ironic fail.",
	},
	api.ReasonPlannedYields: {
		"Wait. See who wants the slots: ironic-throttle queue, ironic-throttle holds and ironic-throttle breakers.",
		"If it must not wait behind everybody: kubectl annotate bmh -n NAMESPACE NAME ironic-throttle.metal3.io/planned-. " +
			"An ask that says \"planned\" must leave that out.",
	},
}

var unknownSteps = []string{
	"See whether the name is right: kubectl get bmh -A, and ironic-throttle queue for those that wait.",
	"See whether BMO is running and uses this throttle: ironic-throttle status shows when it asked last.",
}

const silentStep = "See whether BMO runs, and reaches the throttle: " +
	"kubectl get pods -A | grep baremetal-operator, and its log."

const plannedStep = "See what is planned, and what that waits for: ironic-throttle plan, where the planner is on."

// stepsFor returns what an operator can do for the host if it is told reason.
func (t *teller) stepsFor(reason api.Reason) []string {
	names := strings.NewReplacer(
		"{host}", t.Host, "{scope}", shellWord(t.scope), "{node}", cmp.Or(t.NodeUUID, strings.Replace(t.Host, "/", "~", 1)),
	)
	all := make([]string, 0, len(steps[reason]))
	for _, s := range steps[reason] {
		all = append(all, names.Replace(s))
	}
	return all
}

// wish is an operation as the end of "it wants to".
func wish(op api.Op) string {
	if op == api.OpNone || op == "" {
		return "start nothing"
	}
	return string(op)
}

// shellWord is word as one of a shell.
func shellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(":/._-", r)
	}
	if strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
