package fakeironic

import (
	"encoding/json"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// node is one row of the world. Times are Unix nanoseconds, 0 is NULL.
type node struct {
	id         int64 // as in Ironic's table: grows, never used again
	uuid, name string
	attrs      *attrs // shared between nodes: replaced, never changed
	face              // as the single GET shows it
	shown      *face  // as the lists still show it, while they lag
	rank       int64  // its stamp in ranked, 0 is that it is not there
	created    int64
	conductor  int
	draw       draw.Stream
	work       *work
	gen        uint32 // counts steps: events of an earlier step are void
	beat       uint32 // the same for heartbeats
	booting    bool
	gone       bool
	inventory  bool // an inspection has ended well
	fate       fate
	done       tally
}

// face is what changes while a node works, and what lists may show late.
type face struct {
	state, target ironic.State
	agent         bool
	agentBeat     int64
	provUpdated   int64
	updated       int64
	lastError     string
	fault         string
	maintenance   bool
	reason        string // of the maintenance
	power         string
	locked        bool // reservation is set
	provText      isoMemo
	beatText      isoMemo
}

// isoMemo spares writing the same stamp again: lists are read far more often
// than nodes change.
type isoMemo struct {
	nanos int64
	text  string
}

func (m *isoMemo) of(nanos int64, zone string) string {
	if m.nanos != nanos {
		*m = isoMemo{nanos, isoTime(nanos, zone)}
	}
	return m.text
}

// attrs is what users set. rest holds JSON text by field name; a field that is
// not there has the default of the field table.
type attrs struct {
	driver, group, boot, instance string
	// checksum is that of the image in rest's instance_info.
	checksum string
	rest     map[string]json.RawMessage
}

// fate is what was decided for a host, by the options or on demand.
type fate struct {
	never   bool // boots never come up
	vanish  bool // vanishes in its next work
	flap    bool
	hang    bool // the next wait state never ends
	failing int  // so many tries still fail
	// unsteady: every other work fails; tripped: the last one did.
	unsteady, tripped bool
	pinned            bool // somebody else holds the lock
}

// tally counts works of a host.
type tally struct {
	started, finished, failed, aborted int
	workNanos, since                   int64
}

// wait states are the ones in which nobody holds the lock.
var waitStates = map[ironic.State]bool{
	ironic.CleanWait: true, ironic.InspectWait: true, ironic.DeployWait: true,
	ironic.RescueWait: true, ironic.ServiceWait: true,
}

// stuck maps each state in which a conductor holds the lock on the state in
// which its restart leaves the node.
var stuck = map[ironic.State]ironic.State{
	ironic.Deploying: ironic.DeployFailed, ironic.Cleaning: ironic.CleanFailed,
	ironic.Inspecting: ironic.InspectFailed, ironic.Rescuing: ironic.RescueFailed,
	ironic.Unrescuing: ironic.UnrescueFailed, ironic.Deleting: ironic.Error,
	ironic.Verifying: ironic.Enroll, ironic.Adopting: ironic.AdoptFailed,
	ironic.Servicing: ironic.ServiceFailed,
}

// list returns the face that lists show.
func (n *node) list() *face {
	if n.shown != nil {
		return n.shown
	}
	return &n.face
}

// stamp is now by the clock of the node's conductor.
func (w *World) stamp(n *node) int64 {
	return w.now + int64(w.opt.ConductorSkew)*int64(n.conductor)
}

// written is a stamp as the database keeps it.
func (w *World) written(stamp int64) int64 {
	if w.opt.WholeSeconds {
		stamp -= stamp % int64(time.Second)
	}
	return stamp
}

// public converts a face into the words of pkg/ironic.
func (n *node) public(f *face) ironic.Node {
	out := ironic.Node{
		UUID: n.uuid, Name: n.name, State: f.state, TargetState: f.target,
		ProvisionUpdatedAt: f.provText.of(f.provUpdated, "+00:00"), AgentURL: f.agent,
		AgentHeartbeat: f.beatText.of(f.agentBeat, ""), Locked: f.locked || n.fate.pinned,
		ConductorGroup: n.attrs.group, BootInterface: n.attrs.boot,
		Maintenance: f.maintenance, Fault: f.fault, LastError: f.lastError,
		InstanceUUID: n.attrs.instance,
	}
	return out
}

// isoTime writes a stamp like Python's isoformat; NULL is empty.
func isoTime(nanos int64, zone string) string {
	if nanos == 0 {
		return ""
	}
	t := time.Unix(0, nanos).UTC()
	layout := "2006-01-02T15:04:05.000000"
	if t.Nanosecond()/1000 == 0 {
		layout = "2006-01-02T15:04:05"
	}
	return t.Format(layout) + zone
}
