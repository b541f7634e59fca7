package fakeironic

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// The headers in the spelling that net/http gives them.
const (
	headerVersion    = "X-Openstack-Ironic-Api-Version"
	headerMinVersion = "X-Openstack-Ironic-Api-Minimum-Version"
	headerMaxVersion = "X-Openstack-Ironic-Api-Maximum-Version"
	headerRequestID  = "Openstack-Request-Id"
	headerMicro      = "Openstack-Api-Version"
)

// negotiate returns the minor version that a request asks for. A fault says in
// ranged whether its answer names the supported range in headers.
func (a *API) negotiate(h http.Header, newer bool) (minor int, ranged bool, f *fault) {
	asked := h.Get(headerVersion)
	if newer {
		if micro := baremetal(h.Values(headerMicro)); micro != "" {
			asked = micro
		}
	}
	switch {
	case asked == "":
		return 1, true, nil
	case strings.EqualFold(asked, "latest"):
		return a.MaxMinor, true, nil
	}
	majorText, minorText, ok := strings.Cut(asked, ".")
	major, errMajor := strconv.Atoi(strings.TrimSpace(majorText))
	minor, errMinor := strconv.Atoi(strings.TrimSpace(minorText))
	if !ok || errMajor != nil || errMinor != nil {
		return 0, false, routeFault(406, "Invalid value for X-OpenStack-Ironic-API-Version header")
	}
	supported := fmt.Sprintf("The supported version range is: [1.1, 1.%d].", a.MaxMinor)
	if major != 1 {
		return 0, true, routeFault(406, fmt.Sprintf(
			"Mutually exclusive versions requested. Version %d.%d requested but not supported by this service. %s", major, minor, supported))
	}
	if minor < 1 || minor > a.MaxMinor {
		return 0, true, routeFault(406, fmt.Sprintf(
			"Version 1.%d was requested but the minor version is not supported by this service. %s", minor, supported))
	}
	return minor, true, nil
}

// baremetal finds our service's version in OpenStack-API-Version.
func baremetal(values []string) string {
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			if service, version, ok := strings.Cut(strings.TrimSpace(part), " "); ok && service == "baremetal" {
				return strings.TrimSpace(version)
			}
		}
	}
	return ""
}
