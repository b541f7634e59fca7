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
	minorNeeded   = 61 // all fields of a Node, and nearly all states; every supported Ironic has it
	minorChildren = 83 // from here on lists leave out nodes with a parent unless asked not to
	minorHolds    = 85
	minorService  = 87
)

// version is what was agreed with Ironic: API 1.minor, out of what it offers.
type version struct {
	minor   int
	name    string // as Ironic writes it, e.g. 1.61
	highest int    // that it offers: 1.highest
	maximum string // the same as Ironic wrote it
}

// choose agrees on the version: as new as is of use, and no newer. h is of an answer of Ironic.
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

// flow is PollOrder without the states that this Ironic does not know, whatever version we speak.
func (v *version) flow(extras, whole bool) []State {
	return slices.DeleteFunc(PollOrder(extras, whole), func(s State) bool { return v.highest < s.Since() })
}

// The headers in which each answer of Ironic tells its versions.
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
