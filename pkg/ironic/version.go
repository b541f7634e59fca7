package ironic

import (
	"fmt"
	"net/http"
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

// version is what was agreed with Ironic: API 1.minor, out of what it offers.
type version struct {
	minor           int
	name            string // as Ironic writes it, e.g. 1.61
	lowest, highest int    // the offer: 1.lowest to 1.highest
	maximum         string // the same highest as Ironic wrote it
	fields          string // asked for of each node
}

// choose agrees on the version: as new as is of use, and no newer.
func choose(lowest, highest int, extras bool) (*version, error) {
	want := minorWanted
	if highest >= minorChildren {
		want = minorChildren
	}
	if extras && highest >= minorHolds {
		want = min(highest, minorService)
	}
	if highest < minorNeeded || lowest > highest {
		err := fmt.Errorf("it offers API 1.%d to 1.%d, at least 1.%d is needed", lowest, highest, minorNeeded)
		return nil, &RequestError{Cause: CauseVersion, What: "GET /v1", Err: err}
	}
	minor := max(min(want, highest), lowest)
	return &version{minor: minor, name: "1." + strconv.Itoa(minor), lowest: lowest, highest: highest}, nil
}

// children is the part of a query by which a list shows nodes with a parent too.
func (v *version) children() string {
	if v.minor < minorChildren {
		return ""
	}
	return "&include_children=True"
}

// fieldSince says which fields came with later versions. Asking an older one for them is a 406 or a 400.
var fieldSince = map[string]int{
	"boot_interface": minorBootInterface, "reservation": minorInspectWait, "fault": minorFault,
	"conductor_group": minorConductorGrp,
}

// known lists those of the fields that this version knows.
func (v *version) known(fields ...string) string {
	return strings.Join(slices.DeleteFunc(fields, func(field string) bool { return v.minor < fieldSince[field] }), ",")
}

// nodeFields lists what we ask of each node: what Node holds.
func (v *version) nodeFields(images bool) string {
	fields := []string{
		"uuid", "name", "provision_state", "target_provision_state", "provision_updated_at",
		"driver_internal_info", "maintenance", "last_error", "instance_uuid",
		"boot_interface", "reservation", "fault", "conductor_group",
	}
	if images {
		fields = append(fields, "instance_info")
	}
	return v.known(fields...)
}

// flow is PollOrder without the states that this Ironic does not know, whatever version we speak.
func (v *version) flow(extras, whole bool) []State {
	return slices.DeleteFunc(PollOrder(extras, whole), func(s State) bool { return v.highest < works[s].since })
}

// The headers in which each answer of Ironic tells its versions.
const (
	headerMinimum = "X-Openstack-Ironic-Api-Minimum-Version"
	headerMaximum = "X-Openstack-Ironic-Api-Maximum-Version"
)

// offer reads which versions Ironic speaks.
func offer(h http.Header) (lowest, highest int, err error) {
	minimum, maximum := h.Get(headerMinimum), h.Get(headerMaximum)
	lowest, okMin := minor(minimum)
	highest, okMax := minor(maximum)
	if !okMin || !okMax {
		return 0, 0, fmt.Errorf("it does not tell its versions: minimum %q, maximum %q, each must be 1.n", minimum, maximum)
	}
	return lowest, highest, nil
}

// minor returns the n of 1.n.
func minor(version string) (int, bool) {
	digits, ok := strings.CutPrefix(strings.TrimSpace(version), "1.")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n >= 0 && digits[0] != '+'
}
