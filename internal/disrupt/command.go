package disrupt

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

const (
	prefix = "ironic-throttle.metal3.io/"
	// LabelCommand is on everything that an unfinished command has touched; its value is the
	// command's id, and on an owner what was done to its replicas besides.
	LabelCommand = prefix + "command"
	// AnnotationCommand is the record, on the first BareMetalHost.
	AnnotationCommand = prefix + "command"
	// AnnotationPlanned lets the host's next work wait behind everybody (DC-24).
	AnnotationPlanned = prefix + "planned"
	// AnnotationExecute is "true" on an owner where plans may be carried out.
	AnnotationExecute = prefix + "execute"
	// AnnotationStopped is on an owner and says why nothing is carried out there until somebody
	// removes it.
	AnnotationStopped = prefix + "execute-stopped"
	// AnnotationDelete tells Cluster API which Machine goes first when its owner gets smaller.
	AnnotationDelete = "cluster.x-k8s.io/delete-machine"
	// TaintDisrupting keeps new pods off a node that is replaced.
	TaintDisrupting = prefix + "disrupting"
)

// Stage is how far a command is.
type Stage string

// The stages. What is done within one is seen by looking.
const (
	stageBegun       Stage = "begun"       // marks are set; nothing has changed yet
	stageDeploying   Stage = "deploying"   // the replacement is on its way
	stageDraining    Stage = "draining"    // pods are evicted
	stageReleasing   Stage = "releasing"   // the Machine is about to go
	stageLeaving     Stage = "leaving"     // the owner is smaller, or the Machine deleted
	stageWithdrawing Stage = "withdrawing" // the replacement is taken back
	stageUndoing     Stage = "undoing"     // nothing may go any more: marks of Machines are removed
	stageEnding      Stage = "ending"      // what is left of the marks is removed
)

// Command is an action that has begun.
type Command struct {
	ID       string           `json:"id"`
	Action   string           `json:"action"` // of the plan
	Decision api.PlanDecision `json:"decision"`
	Reason   api.PlanReason   `json:"reason"`
	Pool     Pool             `json:"pool,omitzero"`
	Targets  []Target         `json:"targets"`
	// Replacement is the host that the plan has chosen.
	Replacement disruption.Key `json:"replacement,omitzero"`
	// Kept are hosts that had AnnotationPlanned before: it is somebody's.
	Kept     []disruption.Key `json:"kept,omitempty"`
	Evidence string           `json:"evidence,omitempty"`
	Saving   float64          `json:"savingPerHour,omitempty"`
	// Newest is when the youngest Machine of the pool was made; a younger one is new.
	Newest  time.Time `json:"newest,omitzero"`
	Started time.Time `json:"started"`
	Stage   Stage     `json:"stage"`
	StageAt time.Time `json:"stageAt"`
	At      int       `json:"at,omitempty"` // the target that is worked on
	// Abandoned says why the command is taken back; "": it is not.
	Abandoned string `json:"abandoned,omitempty"`
}

// Pool is the owner of Machines.
type Pool struct {
	Kind disruption.PoolKind `json:"kind,omitempty"`
	disruption.Key
}

func (p Pool) String() string {
	if p == (Pool{}) {
		return ""
	}
	return string(p.Kind) + " " + p.Key.String()
}

// Target is a host that is released, with its Machine.
type Target struct {
	Host       disruption.Key `json:"host"`
	HostUID    string         `json:"hostUID,omitempty"`
	Machine    disruption.Key `json:"machine"`
	MachineUID string         `json:"machineUID,omitempty"`
	Node       string         `json:"node,omitempty"`
	// Consumer is who has claimed the host.
	Consumer string `json:"consumer,omitempty"`
	PowerOff bool   `json:"powerOff,omitempty"`
}

// maxRecord bounds a record: annotations of one object have 256 KiB in all.
const maxRecord = 64 << 10

var (
	idForm    = regexp.MustCompile(`^[a-z0-9]{6,32}$`)
	knownWord = map[Stage]bool{
		stageBegun: true, stageDeploying: true, stageDraining: true, stageReleasing: true, stageLeaving: true,
		stageWithdrawing: true, stageUndoing: true, stageEnding: true,
	}
)

// recordVersion is the version of the records that are written, and the latest that is carried out.
// Those of before the first release have none.
const recordVersion = 1

// record is what is written of a command.
type record struct {
	Version int `json:"version"`
	Command
}

// errLater tells that a later version of this program has begun a command: only that one knows how far it is.
var errLater = errors.New("of a later version")

// ReadCommand reads a record. Of one that is errLater it knows the id.
func ReadCommand(text string) (Command, error) {
	if len(text) > maxRecord {
		return Command{}, fmt.Errorf("record of a command: %d bytes, at most %d", len(text), maxRecord)
	}
	var later struct {
		Version int    `json:"version"`
		ID      string `json:"id"`
	}
	if json.Unmarshal([]byte(text), &later) == nil && later.Version > recordVersion && idForm.MatchString(later.ID) {
		return Command{ID: later.ID}, fmt.Errorf("record of a command: version %d: %w than %d", later.Version, errLater, recordVersion)
	}
	var r record
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return r.Command, fmt.Errorf("record of a command: %w", err)
	}
	c := r.Command
	switch {
	case !idForm.MatchString(c.ID):
		return c, fmt.Errorf("record of a command: id %q: must be 6 to 32 of a-z and 0-9", c.ID)
	case !knownWord[c.Stage]:
		return c, fmt.Errorf("record of a command: stage %q is none", c.Stage)
	case c.Decision != api.PlanRelease && c.Decision != api.PlanReplace && c.Decision != api.PlanReprovision:
		return c, fmt.Errorf("record of a command: decision %q is none that is carried out", c.Decision)
	case len(c.Targets) == 0 || c.At < 0 || c.At >= len(c.Targets):
		return c, fmt.Errorf("record of a command: at %d of %d targets", c.At, len(c.Targets))
	}
	for i, t := range c.Targets {
		if t.Host.Name == "" || t.Machine.Name == "" {
			return c, fmt.Errorf("record of a command: target %d lacks its host or its Machine", i)
		}
	}
	if err := c.fault(); err != nil {
		return c, fmt.Errorf("record of a command: %w", err)
	}
	return c, nil
}

// text is the record.
func (c Command) text() string {
	b, err := json.Marshal(record{recordVersion, c})
	if err != nil { // a saving that is no number
		c.Saving = 0
		b, _ = json.Marshal(record{recordVersion, c}) //nolint:errchkjson // nothing else can fail
	}
	return string(b)
}

// Drains reports whether the pods of its node matter.
func (c Command) Drains() bool { return c.Stage == stageDraining }

// target is what is worked on.
func (c *Command) target() *Target { return &c.Targets[c.At] }

// scales reports whether the owner is made smaller; else the Machine is deleted.
func (c *Command) scales() bool {
	return c.Decision != api.PlanReprovision && c.Pool != (Pool{})
}

// mark is the value of AnnotationDelete by which ours is known.
func (c *Command) mark() string { return "ironic-throttle-" + c.ID }

// What a command has done to its owner's replicas is told by the owner's label: ID.WORD.REPLICAS,
// with the number that was written. Labels are not handed on to MachineSets, annotations are.
const (
	didRaise = "up"   // for the replacement
	didLower = "down" // for a target; its number follows
	didBack  = "back" // the replacement taken back
	didEnd   = "end"  // nothing any more: a write that is still on its way meets another version
)

func (c *Command) lowered() string { return didLower + strconv.Itoa(c.At) }

func (c *Command) did(word string, replicas int) string {
	return c.ID + "." + word + "." + strconv.Itoa(replicas)
}

// doneTo reads an owner's label.
func doneTo(label string) (id, word string, replicas int) {
	id, rest, _ := strings.Cut(label, ".")
	word, number, _ := strings.Cut(rest, ".")
	replicas, _ = strconv.Atoi(number)
	return id, word, replicas
}

// parseKey reads NAMESPACE/NAME.
func parseKey(text string) (disruption.Key, error) {
	ns, name, ok := strings.Cut(text, "/")
	if !ok || ns == "" || name == "" || strings.Contains(name, "/") {
		return disruption.Key{}, fmt.Errorf("%q is not NAMESPACE/NAME", text)
	}
	return disruption.Key{Namespace: ns, Name: name}, nil
}

var errPool = errors.New("a pool whose kind is neither MachineDeployment nor MachineSet is not carried out")

// parsePool reads KIND NAMESPACE/NAME; "" is no pool.
func parsePool(text string) (Pool, error) {
	if text == "" {
		return Pool{}, nil
	}
	kind, name, _ := strings.Cut(text, " ")
	if k := disruption.PoolKind(kind); k != disruption.PoolMachineDeployment && k != disruption.PoolMachineSet {
		return Pool{}, fmt.Errorf("%q: %w", text, errPool)
	}
	key, err := parseKey(name)
	return Pool{Kind: disruption.PoolKind(kind), Key: key}, err
}
