package suite

import (
	"fmt"
	"net/http"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

var versionCases = []testCase{
	{"RootDocument", rootDocument},
	{"V1Document", v1Document},
	{"MicroversionAccepted", microversionAccepted},
	{"MicroversionRefused", microversionRefused},
	{"MicroversionOfV1", microversionOfV1},
	{"RefusedVersionChangesNothing", refusedVersionChangesNothing},
	{"OldVersionLacksFeatures", oldVersionLacksFeatures},
}

func (x *tester) versionEntry() map[string]any {
	return map[string]any{
		"id": "v1", "status": "CURRENT", "min_version": "1.1", "version": x.maxVersion(),
		"links": []any{map[string]any{"href": x.URL + "/v1/", "rel": "self"}},
	}
}

func rootDocument(x *tester) {
	want := map[string]any{
		"name":            "OpenStack Ironic API",
		"description":     "Ironic is an OpenStack project which enables the provision and management of baremetal machines.",
		"default_version": x.versionEntry(),
		"versions":        []any{x.versionEntry()},
	}
	for _, v := range []string{"", "latest", "1.200"} {
		a := x.get("/", version(v)).want(http.StatusOK)
		a.wantHeader("Content-Type", "application/json").wantHeader(versionHeader, "").wantHeader(requestIDHeader, "*")
		x.same("root at version "+v, a.object(), want)
	}
}

func v1Document(x *tester) {
	for _, path := range []string{"/v1", "/v1/"} {
		a := x.get(path, version("")).want(http.StatusOK)
		a.wantHeader(minVersionHeader, "1.1").wantHeader(maxVersionHeader, x.maxVersion()).wantHeader(versionHeader, "1.1")
		got := a.object()
		x.same(path+": version", got["version"], any(x.versionEntry()))
		x.same(path+": id", got["id"], any("v1"))
		x.same(path+": nodes", got["nodes"], any([]any{
			map[string]any{"href": x.URL + "/v1/nodes/", "rel": "self"},
			map[string]any{"href": x.URL + "/nodes/", "rel": "bookmark"},
		}))
	}
}

func microversionAccepted(x *tester) {
	x.create("a")
	for ask, want := range map[string]string{
		"": "1.1", "1.1": "1.1", "1.61": "1.61", " 1.61 ": "1.61", //nolint:gocritic // blanks are meant
		"latest": x.maxVersion(), "LATEST": x.maxVersion(), x.maxVersion(): x.maxVersion(),
	} {
		a := x.get("/v1/nodes?limit=1", version(ask)).want(http.StatusOK)
		a.wantHeader(versionHeader, want).wantHeader(minVersionHeader, "1.1").wantHeader(maxVersionHeader, x.maxVersion())
		a.wantHeader(requestIDHeader, "*").wantHeader("Content-Type", "application/json")
	}
}

const badVersionText = "Invalid value for X-OpenStack-Ironic-API-Version header"

func (x *tester) unsupported(v string) string {
	return fmt.Sprintf("Version %s was requested but the minor version is not supported by this service. The supported version range is: [1.1, %s].", v, x.maxVersion())
}

func notAcceptable(text string) map[string]any {
	return map[string]any{"code": 406.0, "title": "Not Acceptable", "description": text}
}

func microversionRefused(x *tester) {
	tooNew := fmt.Sprintf("1.%d", x.target.MaxMinor+1)
	for ask, text := range map[string]string{
		tooNew: x.unsupported(tooNew), "1.200": x.unsupported("1.200"), "1.0": x.unsupported("1.0"),
		"2.1": fmt.Sprintf("Mutually exclusive versions requested. Version 2.1 requested but not supported by this service. The supported version range is: [1.1, %s].", x.maxVersion()),
	} {
		a := x.get("/v1/nodes?limit=1", version(ask))
		a.wantError(http.StatusNotAcceptable, notAcceptable(text))
		a.wantHeader(minVersionHeader, "1.1").wantHeader(maxVersionHeader, x.maxVersion()).wantHeader(versionHeader, "")
	}
	for _, ask := range []string{"foo", "1", "1.1.1", "-1", "1.x"} {
		a := x.get("/v1/nodes?limit=1", version(ask))
		a.wantError(http.StatusNotAcceptable, notAcceptable(badVersionText))
		a.wantHeader(maxVersionHeader, "").wantHeader(versionHeader, "")
	}
}

// The document that tells the range refuses a version outside it, in another
// form than a node does.
func microversionOfV1(x *tester) {
	x.get("/v1", version("1.200")).wantFault(http.StatusNotAcceptable, "Client", x.unsupported("1.200"))
	x.get("/v1", version("latest")).want(http.StatusOK).wantHeader(versionHeader, x.maxVersion())
}

func refusedVersionChangesNothing(x *tester) {
	n := x.create("a")
	x.put(n.UUID, `{"target":"manage"}`, version("1.200")).
		wantError(http.StatusNotAcceptable, notAcceptable(x.unsupported("1.200")))
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
