package api

import "slices"

// Op is what a host is to do next in Ironic.
type Op string

// The operations.
const (
	OpInspect     Op = "inspect"
	OpPrepare     Op = "prepare" // manual cleaning, such as RAID and firmware
	OpProvision   Op = "provision"
	OpDeprovision Op = "deprovision" // undeploy, with automated cleaning
	OpRescue      Op = "rescue"
	OpUnrescue    Op = "unrescue"
	OpService     Op = "service"
	OpNone        Op = "none" // nothing: the host leaves the queue
)

// Ops returns all operations.
func Ops() []Op {
	return []Op{OpInspect, OpPrepare, OpProvision, OpDeprovision, OpRescue, OpUnrescue, OpService, OpNone}
}

// BMHState is status.provisioning.state of a BareMetalHost, as BMO spells it.
type BMHState string

// The states in which BMO starts work, and those before them. An Ask may have any other too.
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

// OpFor returns the operation that a BareMetalHost in state s needs next; ok is false if BMO starts nothing in s by
// itself.
func OpFor(s BMHState) (op Op, ok bool) {
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

// Reason says why an answer is a yes or a no. A newer throttle may have further reasons of a no
// (docs/troubleshooting.md says what to do about each).
type Reason string

// Reasons of a yes.
const (
	ReasonGranted  Reason = "granted"   // the host took a free slot now
	ReasonHeldSlot Reason = "held-slot" // it holds a slot already, or its node is at work
	ReasonDone     Reason = "done"      // nothing is left to start, so it needs no slot
	ReasonExempt   Reason = "exempt"    // it boots from virtual media, which is not limited
	ReasonObserve  Reason = "observe"   // mode enforce would refuse it
)

// Reasons of a no.
const (
	ReasonFull          Reason = "full"           // no slot is free
	ReasonTurn          Reason = "turn"           // slots are free for others, or the host did not use its last slot
	ReasonFailingCap    Reason = "failing-cap"    // failing hosts hold as many slots as they may
	ReasonHold          Reason = "hold"           // the host has failed and is left alone (FAILED_HOST_HOLDOFF)
	ReasonShortCircuit  Reason = "short-circuit"  // too many hosts of its conductor group have failed (MAX_FAILED)
	ReasonBreakerOpen   Reason = "breaker-open"   // a circuit breaker stops all of Ironic, or the conductor group
	ReasonHalfOpen      Reason = "half-open"      // the breaker lets only a few hosts try, and others do
	ReasonRate          Reason = "rate"           // enough hosts started within a minute (BREAKER_RATE_LIMIT_PER_MINUTE)
	ReasonStale         Reason = "stale"          // the view of Ironic is too old
	ReasonStarting      Reason = "starting"       // the throttle has just started, or has not seen the host in Ironic yet
	ReasonPlannedYields Reason = "planned-yields" // planned work waits for other work
)

// reasons are all reasons. Reason.Yes needs those of a yes first.
var reasons = []Reason{
	ReasonGranted, ReasonHeldSlot, ReasonDone, ReasonExempt, ReasonObserve,
	ReasonFull, ReasonTurn, ReasonFailingCap, ReasonHold, ReasonShortCircuit, ReasonBreakerOpen,
	ReasonHalfOpen, ReasonRate, ReasonStale, ReasonStarting, ReasonPlannedYields,
}

// Reasons returns all reasons, those of a yes first.
func Reasons() []Reason { return slices.Clone(reasons) }

// Yes reports whether r is the reason of a yes.
func (r Reason) Yes() bool { return slices.Contains(reasons[:5], r) }
