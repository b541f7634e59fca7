package api

import "slices"

// Op is what a host wants to do next. A check names it, a gated PUT implies it.
type Op string

// The operations. None is said by a host that wants nothing started.
const (
	OpInspect     Op = "inspect"
	OpPrepare     Op = "prepare"
	OpProvision   Op = "provision"
	OpDeprovision Op = "deprovision"
	OpRescue      Op = "rescue"
	OpUnrescue    Op = "unrescue"
	OpService     Op = "service"
	OpNone        Op = "none"
)

// Ops lists every operation, in the order in which help texts show them.
func Ops() []Op {
	return []Op{OpInspect, OpPrepare, OpProvision, OpDeprovision, OpRescue, OpUnrescue, OpService, OpNone}
}

// BMHState is status.provisioning.state of a BareMetalHost, as BMO spells it.
type BMHState string

// The BareMetalHost states that the decision depends on.
const (
	BMHRegistering           BMHState = "registering"
	BMHInspecting            BMHState = "inspecting"
	BMHManageable            BMHState = "manageable"
	BMHPreparing             BMHState = "preparing"
	BMHAvailable             BMHState = "available"
	BMHReady                 BMHState = "ready"
	BMHProvisioning          BMHState = "provisioning"
	BMHProvisioned           BMHState = "provisioned"
	BMHExternallyProvisioned BMHState = "externally provisioned"
	BMHDeprovisioning        BMHState = "deprovisioning"
)

// OpFor returns the operation that a BareMetalHost in state s asks for next; false for a state that starts nothing by
// itself.
func OpFor(s BMHState) (Op, bool) {
	switch s {
	case BMHRegistering, BMHInspecting:
		return OpInspect, true
	case BMHPreparing:
		return OpPrepare, true
	case BMHAvailable, BMHReady, BMHProvisioning:
		return OpProvision, true
	case BMHProvisioned, BMHExternallyProvisioned, BMHDeprovisioning:
		return OpDeprovision, true
	}
	return OpNone, false
}

// Reason says why an answer is what it is. The set is closed (docs/http-api.md).
type Reason string

// Reasons of a yes.
const (
	ReasonGranted  Reason = "granted"   // a free slot was taken now
	ReasonHeldSlot Reason = "held-slot" // the host already holds one
	ReasonDone     Reason = "done"      // nothing is left to start
	ReasonExempt   Reason = "exempt"    // not limited: virtual media
	ReasonObserve  Reason = "observe"   // would have been refused, but the mode is observe
)

// Reasons of a no.
const (
	ReasonFull          Reason = "full"
	ReasonTurn          Reason = "turn"
	ReasonFailingCap    Reason = "failing-cap"
	ReasonHold          Reason = "hold"
	ReasonShortCircuit  Reason = "short-circuit"
	ReasonBreakerOpen   Reason = "breaker-open"
	ReasonHalfOpen      Reason = "half-open"
	ReasonRate          Reason = "rate"
	ReasonStale         Reason = "stale"
	ReasonStarting      Reason = "starting"
	ReasonPlannedYields Reason = "planned-yields"
)

// reasons are the closed set, those of a yes first.
var reasons = []Reason{
	ReasonGranted, ReasonHeldSlot, ReasonDone, ReasonExempt, ReasonObserve,
	ReasonFull, ReasonTurn, ReasonFailingCap, ReasonHold, ReasonShortCircuit, ReasonBreakerOpen,
	ReasonHalfOpen, ReasonRate, ReasonStale, ReasonStarting, ReasonPlannedYields,
}

// Reasons lists the closed set, those of a yes first.
func Reasons() []Reason { return slices.Clone(reasons) }

// Yes reports whether r is the reason of a yes.
func (r Reason) Yes() bool { return slices.Contains(reasons[:5], r) }
