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

// step is how far a command is. What is done within one is seen by looking.
type step string

const (
	begun     step = "begun"
	deploying step = "deploying"
	draining  step = "draining"
	going     step = "going"
	leaving   step = "leaving"
	ending    step = "ending"
)

// steps are all steps, with what they do.
var steps = map[step]string{
	begun:     "it begins",
	deploying: "the replacement is deployed first",
	draining:  "the pods leave the node",
	going:     "the Machine is about to go",
	leaving:   "the Machine goes, and its host is cleaned",
	ending:    "its marks are removed",
}

// record is a command as its annotation has it: one host is released, provisioned again or replaced. A tenant may write a
// BareMetalHost, so it is no proof of anything: fault refuses what reaches beyond the host's namespace, and unproven looks for
// our marks where the tenant may not write, before anything there goes. It does not name the cluster of the node, which is
// that of the Machine.
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
	Consumer   string           `json:"consumer"` // KIND NAMESPACE/NAME of who has claimed the host
	PowerOff   bool             `json:"powerOff,omitempty"`
	Spare      string           `json:"spare,omitempty"` // NAMESPACE/NAME of the host that the plan has chosen as replacement
	Newest     time.Time        `json:"newest,omitzero"` // when the youngest Machine of the pool was made; a younger one is new
	Started    time.Time        `json:"started"`
	Step       step             `json:"step"`
	Since      time.Time        `json:"since"`         // when it came to Step
	Why        string           `json:"why,omitempty"` // the command is taken back; "" = it is not
}

const (
	version = 1
	// maxText bounds somebody else's text that is taken over, and maxTexts all texts of a record.
	maxText, maxTexts = 512, 4 << 10
)

var errUnknown = errors.New("it is of another version of this program: let that finish it")

// read reads a record. An error is about one that was not written here, or cannot be understood.
func read(text string) (r record, err error) {
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return r, err
	}
	return r, r.fault()
}

// fault says what of a record cannot be ours; nil: nothing. Names that are none the API server refuses.
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
	for _, key := range []string{r.Machine, owner, cmp.Or(r.Spare, r.Host)} { // Cluster API's provider takes hosts of its own namespace alone
		if !strings.HasPrefix(key, home+"/") {
			return fmt.Errorf("%.99q is not of the namespace of host %.99q", key, r.Host)
		}
	}
	return nil
}

// poolOf takes a pool apart.
func poolOf(text string) (kind, owner string) {
	kind, owner, _ = strings.Cut(text, " ")
	return kind, owner
}

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
func (r *record) of(h *objects.Host) bool { return r.Host == keyOf(h) && r.HostUID == string(h.UID) }
