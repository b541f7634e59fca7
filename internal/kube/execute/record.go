package execute

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// Names on objects.
const (
	prefix = "ironic-throttle.metal3.io/"
	// commandMark is a label on hosts, Machines and owners that a command has changed: its id, and on an owner what was done
	// to the replicas besides. As an annotation, on the first BareMetalHost, it is the record.
	commandMark = prefix + "command"
	// plannedMark lets the work of a host wait behind everybody.
	plannedMark = prefix + "planned"
	// executeMark is "true" on an owner where plans may be carried out, and on a Machine without owner.
	executeMark = prefix + "execute"
	// stoppedMark is on an owner, and says why nothing is carried out there until somebody removes it.
	stoppedMark = prefix + "execute-stopped"
	// deleteMark tells Cluster API which Machine goes first when its owner gets smaller.
	deleteMark = "cluster.x-k8s.io/delete-machine"
	// taintKey is of the taint that keeps new pods off a node that goes. Its value is the command's id.
	taintKey = prefix + "disrupting"
)

// step is how far a command is. What is done within one is seen by looking.
type step string

const (
	begun     step = "begun"
	deploying step = "deploying"
	draining  step = "draining"
	going     step = "going"
	leaving   step = "leaving"
	back      step = "back"
	undoing   step = "undoing"
	ending    step = "ending"
)

// steps are all steps, with what they do.
var steps = map[step]string{
	begun:     "it begins",
	deploying: "the replacement is deployed first",
	draining:  "the pods leave the node",
	going:     "the Machine is about to go",
	leaving:   "the Machine goes, and its host is cleaned",
	back:      "the replacement is taken back",
	undoing:   "it is taken back",
	ending:    "its marks are removed",
}

// record is a command as its annotation has it. A tenant may write a BareMetalHost, so it is no proof of anything: fault
// refuses what reaches beyond the host's namespace or was never written here, and unproven looks for our marks where the
// tenant may not write, before anything there goes.
type record struct {
	Version  int              `json:"version"`
	ID       string           `json:"id"`
	Action   string           `json:"action"` // of the plan
	Decision api.PlanDecision `json:"decision"`
	Reason   api.PlanReason   `json:"reason"`
	Pool     string           `json:"pool,omitempty"` // KIND NAMESPACE/NAME of the owner of the Machines; "": they have none
	Targets  []target         `json:"targets"`
	Spare    string           `json:"spare,omitempty"` // host that the plan has chosen as replacement
	Kept     []string         `json:"kept,omitempty"`  // hosts that had plannedMark before: it is somebody's
	Newest   time.Time        `json:"newest,omitzero"` // when the youngest Machine of the pool was made; a younger one is new
	Started  time.Time        `json:"started"`
	Step     step             `json:"step"`
	Since    time.Time        `json:"since"`         // when it came to Step
	At       int              `json:"at,omitempty"`  // the target that is worked on
	Why      string           `json:"why,omitempty"` // the command is taken back; "" = it is not
}

// target is a host that is released, with its Machine. It does not name the cluster of the node, which is that of the
// Machine.
type target struct {
	Host       string `json:"host"` // NAMESPACE/NAME
	HostUID    string `json:"hostUID"`
	Machine    string `json:"machine"` // NAMESPACE/NAME
	MachineUID string `json:"machineUID"`
	Node       string `json:"node"`
	Consumer   string `json:"consumer"` // KIND NAMESPACE/NAME of who has claimed the host
	PowerOff   bool   `json:"powerOff,omitempty"`
}

// Bounds of a record. Annotations of one object have 256 KiB in all, and a plan's action 100 hosts.
const (
	version    = 1
	maxRecord  = 64 << 10
	maxTargets = 100
	maxText    = 512     // of somebody else's text that is taken over
	maxTexts   = 4 << 10 // of all texts that the log shows
)

// errUnknown is of a record that another version of this program has written: only that one knows how far it is.
var errUnknown = errors.New("another version of this program has begun it: let that finish it, or remove the annotation " + commandMark)

var isID = regexp.MustCompile(`^[a-z0-9]{6,32}$`).MatchString

// read reads a record. Of one that is errUnknown it knows the id.
func read(text string) (r record, err error) {
	var known struct {
		Version int    `json:"version"`
		ID      string `json:"id"`
		Step    step   `json:"step"`
	}
	if len(text) > maxRecord {
		return r, fmt.Errorf("record of planned work: %d bytes, at most %d", len(text), maxRecord)
	}
	if err := json.Unmarshal([]byte(text), &known); err != nil {
		return r, fmt.Errorf("record of planned work: %w", err)
	}
	if !isID(known.ID) {
		return r, fmt.Errorf("record of planned work: id %.99q: must be 6 to 32 of a-z and 0-9", known.ID)
	}
	if known.Version != version || steps[known.Step] == "" {
		return record{ID: known.ID}, fmt.Errorf("version %d, step %.99q: %w", known.Version, known.Step, errUnknown)
	}
	if err = json.Unmarshal([]byte(text), &r); err == nil {
		err = r.fault()
	}
	if err != nil {
		err = fmt.Errorf("record of planned work: %w", err)
	}
	return r, err
}

// fault says what of a record cannot be ours; nil: nothing.
func (r *record) fault() error {
	replaces := r.Decision == api.PlanReplace
	switch {
	case !replaces && r.Decision != api.PlanRelease && r.Decision != api.PlanReprovision:
		return fmt.Errorf("decision %.99q is none that is carried out", r.Decision)
	case len(r.Targets) == 0 || len(r.Targets) > maxTargets || r.At < 0 || r.At >= len(r.Targets):
		return fmt.Errorf("at %d of %d targets, of which there are at most %d", r.At, len(r.Targets), maxTargets)
	case replaces && r.Pool == "":
		return fmt.Errorf("decision %s without pool", r.Decision)
	case !replaces && (len(r.Targets) > 1 || r.Spare != "" || r.Step == deploying || r.Step == back):
		return fmt.Errorf("decision %s has one host, no replacement, and no step %s", r.Decision, r.Step)
	case len(r.Action)+len(r.Reason)+len(r.Why) > maxTexts:
		return fmt.Errorf("texts of more than %d bytes", maxTexts)
	}
	var all []string
	for _, t := range r.Targets {
		all = append(all, t.Host, t.Machine)
		if !isName(t.Node) || t.HostUID == "" || t.MachineUID == "" {
			return fmt.Errorf("node %.99q is no name, or host %.99q or its Machine has no UID", t.Node, t.Host)
		}
	}
	if kind, owner := poolOf(r.Pool); kind == string(disruption.PoolMachineDeployment) || kind == string(disruption.PoolMachineSet) {
		all = append(all, owner)
	} else if r.Pool != "" {
		return fmt.Errorf("%.99q is no pool", r.Pool)
	}
	if replaces {
		all = append(all, r.Spare)
	}
	home, _, _ := strings.Cut(all[0], "/")
	for _, text := range all { // Cluster API's provider takes hosts of its own namespace alone
		if namespace, name, _ := strings.Cut(text, "/"); namespace != home || !isName(namespace) || !isName(name) {
			return fmt.Errorf("%.99q is no NAMESPACE/NAME in the namespace of host %.99q", text, all[0])
		}
	}
	return nil
}

// poolOf takes a pool apart.
func poolOf(text string) (kind, owner string) {
	kind, owner, _ = strings.Cut(text, " ")
	return kind, owner
}

func isName(text string) bool { return len(validation.IsDNS1123Subdomain(text)) == 0 }

// text is what is written.
func (r record) text() string {
	r.Version = version
	text, err := json.Marshal(r)
	if err != nil { // a time that RFC 3339 does not know
		return err.Error()
	}
	return string(text)
}

// of reports whether the record is of that host, and not of one that it is a copy of: where clusterctl moves objects, or a
// backup brings them back, all Machines are new ones.
func (r *record) of(h *objects.Host) bool {
	return r.Targets[0].Host == keyOf(h) && r.Targets[0].HostUID == string(h.UID)
}

// same reports whether o is the same work, however far.
func (r *record) same(o record) bool {
	o.Step, o.Since, o.At, o.Why = r.Step, r.Since, r.At, r.Why
	return r.text() == o.text()
}

// cut bounds a text that may have somebody's annotation in it.
func cut(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxText)], "") }
