package ironic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// The API versions that matter, as the n of 1.n (docs/dev/reference/ironic.md).
const (
	minorNeeded        = 10 // fields, the filter by state, and ~ in names
	minorBootInterface = 31
	minorRescue        = 38
	minorInspectWait   = 39 // below, Ironic itself says inspecting
	minorFault         = 42
	minorConductorGrp  = 46
	minorWanted        = 61
	minorChildren      = 83 // from here on lists leave out nodes with a parent unless asked not to
	minorHolds         = 85
	minorService       = 87
)

// Version is what was agreed with Ironic: API 1.Minor, out of what it offers.
type Version struct {
	Minor    int
	Min, Max int // the offer: 1.Min to 1.Max
}

// String returns the version as Ironic writes it, e.g. 1.61.
func (v Version) String() string { return "1." + strconv.Itoa(v.Minor) }

// ConductorGroups reports whether nodes carry their conductor group. Without,
// all of them appear to be members of the default one.
func (v Version) ConductorGroups() bool { return v.Minor >= minorConductorGrp }

// children is the part of a query by which a list shows nodes with a parent too.
func (v Version) children() string {
	if v.Minor < minorChildren {
		return ""
	}
	return "&include_children=True"
}

// choose agrees on the version: as new as is of use, and no newer.
func choose(lowest, highest int, extras bool) (Version, error) {
	want := minorWanted
	if highest >= minorChildren {
		want = minorChildren
	}
	if extras && highest >= minorHolds {
		want = min(highest, minorService)
	}
	v := Version{Minor: max(min(want, highest), lowest), Min: lowest, Max: highest}
	if highest < minorNeeded || lowest > highest {
		return Version{}, fmt.Errorf("it offers API 1.%d to 1.%d, at least 1.%d is needed", lowest, highest, minorNeeded)
	}
	return v, nil
}

// fieldImage is a field of Node that not every throttle needs.
const fieldImage = "instance_info"

// moreFields lists those of them that this one needs.
func moreFields(s Settings) []string {
	var fields []string
	if s.Images {
		fields = append(fields, fieldImage)
	}
	return fields
}

// fieldSince says which fields came with later versions. Asking an older one for them is a 406 or a 400.
var fieldSince = map[string]int{
	"boot_interface": minorBootInterface, "reservation": minorInspectWait, "fault": minorFault, "conductor_group": minorConductorGrp,
}

// known lists those of the fields that this version knows.
func (v Version) known(fields ...string) string {
	return strings.Join(slices.DeleteFunc(fields, func(field string) bool { return v.Minor < fieldSince[field] }), ",")
}

// fields lists what we ask of each node: what Node holds.
func (v Version) fields(more ...string) string {
	return v.known(append([]string{
		"uuid", "name", "provision_state", "target_provision_state", "provision_updated_at",
		"driver_internal_info", "maintenance", "last_error", "instance_uuid",
		"boot_interface", "reservation", "fault", "conductor_group",
	}, more...)...)
}

// PollOrder lists the states whose lists a poll reads, in flow order: a node that moves on while they are read is met again
// further down. One that steps back from waiting to working is among the newest changes of the next poll.
func PollOrder(extras, whole bool) []State {
	order := []State{Deleting, Cleaning, CleanWait, Inspecting, InspectWait, Deploying, DeployWait, Rescuing, RescueWait, Unrescuing}
	if extras || whole {
		order = append(order, Servicing, ServiceWait, ServiceHold, DeployHold, CleanHold)
	}
	if whole {
		order = append(order, FailedStates()...)
	}
	return order
}

// flow is PollOrder without the states that this Ironic does not know: asking for them
// is a 400, whatever version we speak.
func (v Version) flow(extras, whole bool) []State {
	since := ExtraStates()
	since[InspectWait] = minorInspectWait
	since[ServiceFailed] = minorService
	for _, s := range []State{Rescuing, RescueWait, RescueFailed, Unrescuing, UnrescueFailed} {
		since[s] = minorRescue
	}
	return slices.DeleteFunc(PollOrder(extras, whole), func(s State) bool { return v.Max < since[s] })
}

// The headers in which Ironic tells its versions.
const (
	headerMinimum = "X-Openstack-Ironic-Api-Minimum-Version"
	headerMaximum = "X-Openstack-Ironic-Api-Maximum-Version"
)

// offer finds out which versions Ironic speaks: from the headers, or where a
// proxy has eaten them from the body of GET /v1.
func offer(minimum, maximum string, body io.Reader) (lowest, highest int, err error) {
	var root struct {
		Version struct {
			Min string `json:"min_version"`
			Max string `json:"version"`
		} `json:"version"`
	}
	bodyErr := json.NewDecoder(body).Decode(&root)
	minimum, maximum = cmp.Or(minimum, root.Version.Min), cmp.Or(maximum, root.Version.Max)
	lowest, okMin := minor(minimum)
	highest, okMax := minor(maximum)
	switch {
	case okMin && okMax:
		return lowest, highest, nil
	case minimum == "" && maximum == "" && bodyErr != nil:
		return 0, 0, fmt.Errorf("it does not tell its versions: %w", torn(bodyErr))
	}
	return 0, 0, fmt.Errorf("it does not tell its versions: minimum %q, maximum %q, each must be 1.n", minimum, maximum)
}

// minor returns the n of 1.n.
func minor(version string) (int, bool) {
	digits, ok := strings.CutPrefix(strings.TrimSpace(version), "1.")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n >= 0 && digits[0] != '+'
}
