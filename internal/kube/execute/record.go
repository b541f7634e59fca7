package execute

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// step is how far a command is. The objects themselves show how far it is within a step.
type step string

const (
	begun     step = "begun"
	deploying step = "deploying"
	draining  step = "draining"
	going     step = "going"
	leaving   step = "leaving"
	ending    step = "ending"
)

// steps has the text of each step for people.
var steps = map[step]string{
	begun:     "it begins",
	deploying: "the replacement is deployed first",
	draining:  "the pods leave the node",
	going:     "the Machine is about to go",
	leaving:   "the Machine goes, and its host is cleaned",
	ending:    "its marks are removed",
}

// record is a command to release, reprovision or replace one host, as its annotation has it. A tenant may write a
// BareMetalHost, so a record proves nothing: fault refuses one that reaches beyond the host's namespace, and before
// anything goes, unproven looks for our marks where the tenant may not write. The node is in the Machine's cluster.
type record struct {
	Version    int              `json:"version"`
	ID         string           `json:"id"`
	Action     string           `json:"action"` // of the plan
	Decision   api.PlanDecision `json:"decision"`
	Reason     api.PlanReason   `json:"reason"`
	Pool       string           `json:"pool"` // KIND NAMESPACE/NAME of the owner of the Machine
	Host       string           `json:"host"` // NAMESPACE/NAME
	HostUID    string           `json:"hostUID"`
	Machine    string           `json:"machine"` // NAMESPACE/NAME
	MachineUID string           `json:"machineUID"`
	Node       string           `json:"node"`
	Consumer   string           `json:"consumer"` // KIND NAMESPACE/NAME of what has claimed the host
	PowerOff   bool             `json:"powerOff,omitempty"`
	Spare      string           `json:"spare,omitempty"` // NAMESPACE/NAME of the host that replaces it
	Newest     time.Time        `json:"newest,omitzero"` // creation time of the youngest Machine when the command began
	Started    time.Time        `json:"started"`
	Step       step             `json:"step"`
	Since      time.Time        `json:"since"`         // when Step began
	Why        string           `json:"why,omitempty"` // why the command is abandoned; "": it is not
}

const (
	version = 1
	// maxText bounds a text from elsewhere, and maxTexts all texts of a record, in bytes.
	maxText, maxTexts = 512, 4 << 10
)

var errUnknown = errors.New("it is of another version of this program: let that finish it")

// read reads a record. It fails if this program cannot have written it, or another version has.
func read(text string) (r record, err error) {
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return r, err
	}
	return r, r.fault()
}

// fault says why the record cannot be ours; nil: it can. It leaves it to the API server to refuse invalid names.
func (r *record) fault() error {
	home, _, _ := strings.Cut(r.Host, "/")
	kind, owner := poolOf(r.Pool)
	switch {
	case r.Version != version || steps[r.Step] == "":
		return fmt.Errorf("version %d, step %.99q: %w", r.Version, r.Step, errUnknown)
	case !slices.Contains([]api.PlanDecision{api.PlanRelease, api.PlanReprovision, api.PlanReplace}, r.Decision):
		return fmt.Errorf("decision %.99q is none that is carried out", r.Decision)
	case kind != string(disruption.PoolMachineDeployment) && kind != string(disruption.PoolMachineSet):
		return fmt.Errorf("%.99q is no pool", r.Pool)
	case len(r.ID)+len(r.Action)+len(r.Reason)+len(r.Why) > maxTexts:
		return fmt.Errorf("texts of more than %d bytes", maxTexts)
	case r.ID == "" || r.HostUID == "" || r.MachineUID == "":
		return errors.New("it has no id, or its host or Machine has no UID")
	}
	// Cluster API's provider takes only hosts of its own namespace.
	for _, key := range []string{r.Machine, owner, cmp.Or(r.Spare, r.Host)} {
		if !strings.HasPrefix(key, home+"/") {
			return fmt.Errorf("%.99q is not of the namespace of host %.99q", key, r.Host)
		}
	}
	return nil
}

// poolOf splits a pool into its kind and NAMESPACE/NAME.
func poolOf(text string) (kind, owner string) {
	kind, owner, _ = strings.Cut(text, " ")
	return kind, owner
}

func (r record) text() string {
	r.Version = version
	text, err := json.Marshal(r)
	if err != nil { // a time that RFC 3339 does not know
		return err.Error()
	}
	return string(text)
}

// isOf reports whether the record is that of host h. After clusterctl move or a restore from a backup, h has a copy of
// the record of an earlier object, and all Machines are new.
func (r *record) isOf(h *objects.Host) bool { return r.Host == keyOf(h) && r.HostUID == string(h.UID) }
