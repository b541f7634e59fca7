package suite

import (
	"fmt"
	"net/http"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

var versionCases = []testCase{
	{"VersionRange", versionRange},
	{"RefusedVersionChangesNothing", refusedVersionChangesNothing},
	{"OldVersionLacksFeatures", oldVersionLacksFeatures},
}

// versionRange holds that every answer of a node or of /v1 tells which versions there are, which our client reads.
func versionRange(x *tester) {
	for _, path := range []string{"/v1", "/v1/", "/v1/nodes?limit=1"} {
		for ask, want := range map[string]string{"": "1.1", "1.61": "1.61", "latest": x.maxVersion(), x.maxVersion(): x.maxVersion()} {
			a := x.get(path, version(ask)).want(http.StatusOK)
			a.wantHeader(versionHeader, want).wantHeader(minVersionHeader, "1.1").wantHeader(maxVersionHeader, x.maxVersion())
			a.wantHeader(requestIDHeader, "*").wantHeader("Content-Type", "application/json")
		}
	}
	for _, ask := range []string{"foo", "1", "1.x"} {
		x.get("/v1/nodes?limit=1", version(ask)).want(http.StatusNotAcceptable).wantHeader(maxVersionHeader, "").wantHeader(versionHeader, "")
	}
}

func refusedVersionChangesNothing(x *tester) {
	n := x.create("a")
	for _, ask := range []string{"1.200", "1.0", fmt.Sprintf("1.%d", x.target.MaxMinor+1)} {
		a := x.put(n.UUID, `{"target":"manage"}`, version(ask))
		a.wantError(http.StatusNotAcceptable, map[string]any{"code": 406.0, "title": "Not Acceptable", "description": fmt.Sprintf(
			"Version %s was requested but the minor version is not supported by this service. The supported version range is: [1.1, %s].",
			ask, x.maxVersion())})
		a.wantHeader(minVersionHeader, "1.1").wantHeader(maxVersionHeader, x.maxVersion()).wantHeader(versionHeader, "")
	}
	x.same("node", x.look(n.UUID).State, ironic.Enroll)
}

func oldVersionLacksFeatures(x *tester) {
	n := x.create("a")
	for _, tc := range []struct{ path, old, first string }{
		{"/v1/nodes?limit=1&fields=uuid", "1.7", "1.8"},
		{"/v1/nodes?limit=1&provision_state=enroll", "1.8", "1.9"},
		{"/v1/nodes?limit=1&fields=uuid,conductor_group", "1.45", "1.46"},
		{"/v1/nodes/" + n.UUID + "?fields=boot_interface", "1.30", "1.31"},
		{"/v1/nodes/" + n.UUID + "?fields=fault", "1.41", "1.42"},
	} {
		a := x.get(tc.path, version(tc.old))
		a.wantFault(http.StatusNotAcceptable, "Client", "Request not acceptable.")
		a.wantHeader(versionHeader, tc.old)
		x.get(tc.path, version(tc.first)).want(http.StatusOK).wantHeader(versionHeader, tc.first)
	}
	x.put(n.UUID, `{"target":"adopt"}`, version("1.16")).wantFault(http.StatusNotAcceptable, "Client", "Request not acceptable.")
}
