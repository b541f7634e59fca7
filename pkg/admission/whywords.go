package admission

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
)

// wish is an operation as the end of "it wants to".
func wish(op api.Op) string {
	switch op {
	case api.OpNone, "":
		return "start nothing"
	}
	return string(op)
}

// mustHappen says by reason what has to happen before the host starts; "" where nothing has to.
var mustHappen = map[api.Reason]string{
	api.ReasonGranted:       "It may start: BMO must ask for it again.",
	api.ReasonFull:          "A slot must come free, and its turn must come.",
	api.ReasonNotCalled:     "The hosts whose turn is before must start, or go on being silent for too long; then BMO must ask for it again.",
	api.ReasonFailingCap:    "A failing host must give its slot back, or the healthy hosts must need fewer slots.",
	api.ReasonHold:          "Its hold must end, or somebody must release it.",
	api.ReasonShortCircuit:  "Failed hosts of its conductor group must go well, or be released or deleted.",
	api.ReasonBreakerOpen:   "The breaker's time must pass; then single hosts are tried, and when they go well all others follow.",
	api.ReasonHalfOpen:      "A host that is being tried must go well.",
	api.ReasonRate:          "The minute must pass.",
	api.ReasonStale:         "Ironic must answer a poll of the throttle.",
	api.ReasonStarting:      "The throttle must finish finding out who is at work, or another replica must answer.",
	api.ReasonPlannedYields: "Whoever is not planned goes first; planned work starts when nobody else wants the slots and enough of them are free.",
}

// steps are by reason what an operator can do. {host}, {node} and {scope} stand for the host, its node, and the breaker that stops it.
var steps = map[api.Reason][]string{
	api.ReasonGranted: {
		"Wait: BMO asks again within two minutes. If it does not, see whether BMO is running: kubectl get bmh -A shows what it last did.",
	},
	api.ReasonHeldSlot: {"Nothing: it may go on. If it does not move, see what its node does: openstack baremetal node show {node}."},
	api.ReasonDone:     {"Nothing: it needs no slot."},
	api.ReasonExempt:   {"Nothing: it boots from virtual media and is not limited. To limit such hosts too, set IRONIC_THROTTLE_VIRTUAL_MEDIA_LIMIT."},
	api.ReasonObserve:  {"Nothing: IRONIC_THROTTLE_MODE=observe refuses nobody."},
	api.ReasonFull: {
		"Wait for its turn. See who holds the slots, and for how long: ironic-throttle status.",
		"If Ironic, DHCP and the image server can take more, raise MAX_CONCURRENT_PROVISIONING_HOSTS.",
	},
	api.ReasonNotCalled: {
		"Wait for its turn. See who is before it: ironic-throttle queue.",
		"If free slots stay unused, see whether BMO is running, and what it last did with the host: kubectl get bmh -A.",
	},
	api.ReasonFailingCap: {
		"Mend the cause of its failures: kubectl describe bmh shows the last error.",
		"To let failing hosts have more slots, raise IRONIC_THROTTLE_FAILING_CAP.",
	},
	api.ReasonHold: {
		"See what failed: ironic-throttle holds.",
		"When the cause is mended, or to try again at once: ironic-throttle holds release {host}.",
	},
	api.ReasonShortCircuit: {
		"See which hosts have failed: ironic-throttle holds. When the cause is mended, release them.",
		"To allow more failed hosts, raise IRONIC_THROTTLE_MAX_FAILED.",
	},
	api.ReasonBreakerOpen: {
		"See which breaker is open and what failed: ironic-throttle breakers.",
		"When the cause is mended, let hosts start at once: ironic-throttle breakers reset {scope}.",
	},
	api.ReasonHalfOpen: {
		"Wait for the hosts that are tried: ironic-throttle breakers shows which.",
		"When the cause is mended for certain: ironic-throttle breakers reset {scope}.",
	},
	api.ReasonRate: {
		"Wait a minute.",
		"To let more hosts start in a minute, raise IRONIC_THROTTLE_BREAKER_RATE_LIMIT_PER_MINUTE.",
	},
	api.ReasonStale: {
		"See whether Ironic answers, and what the throttle's last poll met: ironic-throttle status.",
		"Mend Ironic; where its answer is 401 or 403, or TLS fails, the throttle's credentials or CA. Nothing has to be started anew: hosts start after the next good poll, and those at work go on meanwhile.",
	},
	api.ReasonStarting: {
		"Wait a minute after a start, and ask the replica that leads: ironic-throttle status says who answered.",
		"If it lasts, see in ironic-throttle status whether polls of Ironic fail.",
	},
	api.ReasonPlannedYields: {
		"Wait: planned work starts when nobody else wants the slots. See who does: ironic-throttle queue, ironic-throttle holds and ironic-throttle breakers.",
		"If it must not wait behind everybody, let it queue like the others: kubectl annotate bmh -n NAMESPACE NAME ironic-throttle.metal3.io/planned-. An ask that says \"planned\" must leave that out.",
	},
}

// stepsFor returns what an operator can do for the host if it is told reason.
func (t *storyteller) stepsFor(reason api.Reason) []string {
	names := strings.NewReplacer("{host}", t.Host, "{scope}", pasteable(t.scope), "{node}", cmp.Or(t.NodeUUID, strings.Replace(t.Host, "/", "~", 1)))
	all := make([]string, 0, len(steps[reason]))
	for _, s := range steps[reason] {
		all = append(all, names.Replace(s))
	}
	return all
}

// comesBack is within what time a running BMO asks again.
const comesBack = 2 * time.Minute

// queueSteps are those for a host that waits where it is not its own answer that counts.
func (t *storyteller) queueSteps() (all []string) {
	if t.silence >= comesBack {
		all = append(all, "See whether BMO runs, and reaches the throttle: kubectl get pods -A | grep baremetal-operator, and its log.")
	}
	if t.lighter {
		all = append(all, "To give its namespace a larger share of the slots, raise its weight in IRONIC_THROTTLE_TENANT_WEIGHTS, or lower that of the other one.")
	}
	return all
}

// shareOf tells how a tenant stands beside the one that holds most, and whether that one has more
// weight.
func shareOf(tenants []fairshare.TenantView, name string) (text string, lighter bool) {
	var own, most *fairshare.TenantView
	for i := range tenants {
		t := &tenants[i]
		if t.Name == name {
			own = t
		} else if most == nil || t.Holding > most.Holding {
			most = t
		}
	}
	if own == nil || most == nil || most.Holding == 0 {
		return "", false
	}
	text = tenantText(own, "Its namespace") + "; " + tenantText(most, "namespace") + "."
	return text, most.Weight > own.Weight
}

func tenantText(t *fairshare.TenantView, kind string) string {
	who := kind + " " + t.Name
	if t.Name == "" {
		who = "what has no namespace"
	}
	return fmt.Sprintf("%s has weight %v, %s and %d waiting", who, t.Weight, number(t.Holding, "slot", "slots"), t.Waiting+t.Called)
}

// pasteable is word as one of a shell.
func pasteable(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(":/._-", r)
	}
	if strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// slotSteps are those for a host that holds a slot or works without one.
func (t *storyteller) slotSteps() []string {
	if t.Slot == nil {
		return t.stepsFor(api.ReasonDone)
	}
	if t.Slot.Abandoned || t.Slot.Stuck {
		return []string{
			"See what its node does: openstack baremetal node show " + t.NodeUUID + ".",
			"If no conductor works on it, start that conductor again, or abort the work: openstack baremetal node abort " + t.NodeUUID + ".",
		}
	}
	return t.stepsFor(api.ReasonHeldSlot)
}
