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
	minorNeeded   = 61 // has all fields of Node and nearly all states; every supported Ironic has it
	minorChildren = 83 // the first whose lists leave out nodes with a parent, unless include_children is set
	minorHolds    = 85 // the first with hold states
	minorService  = 87 // the first with service states
)

// version is the agreed version, API 1.minor.
type version struct {
	minor   int
	name    string // as Ironic writes it, e.g. 1.61
	highest int    // Ironic offers at most 1.highest
	maximum string // the same, as Ironic writes it
}

// choose returns the version to use: the lowest that has all that the Client uses. h are the headers of an answer.
func choose(h http.Header, extras bool) (*version, error) {
	minimum, maximum := h.Get(headerMinimum), h.Get(headerMaximum)
	lowest, okMin := minorOf(minimum)
	highest, okMax := minorOf(maximum)
	if !okMin || !okMax {
		return nil, fmt.Errorf("it does not tell its versions: minimum %q, maximum %q, each must be 1.n", minimum, maximum)
	}
	if highest < minorNeeded || lowest > highest {
		err := fmt.Errorf("it offers API 1.%d to 1.%d, at least 1.%d is needed", lowest, highest, minorNeeded)
		return nil, &RequestError{Cause: CauseVersion, What: "GET /v1", Err: err}
	}
	minor := minorNeeded
	if highest >= minorChildren {
		minor = minorChildren
	}
	if extras && highest >= minorHolds {
		minor = min(highest, minorService)
	}
	minor = max(minor, lowest)
	return &version{minor: minor, name: "1." + strconv.Itoa(minor), highest: highest, maximum: maximum}, nil
}

// flow returns PollOrder without the states that this Ironic does not know.
func (v *version) flow(extras, whole bool) []State {
	return slices.DeleteFunc(PollOrder(extras, whole), func(s State) bool { return v.highest < s.Since() })
}

// The headers of each answer that say which versions Ironic offers.
const (
	headerMinimum = "X-Openstack-Ironic-Api-Minimum-Version"
	headerMaximum = "X-Openstack-Ironic-Api-Maximum-Version"
)

// minorOf returns the n of 1.n.
func minorOf(version string) (int, bool) {
	digits, ok := strings.CutPrefix(strings.TrimSpace(version), "1.")
	n, err := strconv.ParseUint(digits, 10, 31)
	return int(n), ok && err == nil
}
