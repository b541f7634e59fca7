package config

import (
	"slices"
	"strings"
	"testing"
)

// TestAnIronicResourceSaysWhereIronicIs as BMO has it: it wins over the endpoint.
func TestAnIronicResourceSaysWhereIronicIs(t *testing.T) {
	on, name := ours("KUBERNETES", "on"), "IRONIC_NAME=ironic"
	for _, row := range []struct {
		what      string
		env       []string
		fault     string // "" = good
		warning   string // likewise
		namespace string
	}{
		{"with nothing else", []string{on, name}, "", "", ""},
		{"without a cluster", []string{name},
			`IRONIC_NAME="ironic" (environment): needs IRONIC_THROTTLE_KUBERNETES=on: that Ironic resource says where Ironic is; or set IRONIC_ENDPOINT`, "", ""},
		{"without a cluster, with an endpoint", []string{name, endpoint}, "",
			"IRONIC_NAME=ironic (environment) is not followed without IRONIC_THROTTLE_KUBERNETES=on: IRONIC_ENDPOINT (environment) counts", ""},
		{"beside an endpoint", []string{on, name, "IRONIC_ENDPOINT=http://me:secret@ironic:6385", "IRONIC_CACERT_FILE=/ca"}, "",
			"IRONIC_NAME=ironic (environment) wins, as in BMO: that Ironic resource and its Secrets say where Ironic is; without effect: " +
				"IRONIC_ENDPOINT (environment), IRONIC_CACERT_FILE (environment)", ""},
		{"no such name", []string{on, "IRONIC_NAME=Ironic_1"}, `IRONIC_NAME="Ironic_1"`, "", ""},
		{"no name", []string{"IRONIC_NAME="}, "IRONIC_ENDPOINT: must be set", "", ""},
		{"our namespace", []string{on, name, "POD_NAMESPACE=bmo", "WATCH_NAMESPACE=metal3"}, "", "", "bmo"},
		{"another one", []string{on, name, "IRONIC_NAMESPACE=irso", "POD_NAMESPACE=bmo"}, "", "", "irso"},
		{"the watched one", []string{on, name, "WATCH_NAMESPACE=metal3"}, "", "", "metal3"},
		{"of several none", []string{on, name, "WATCH_NAMESPACE=metal3,lab"}, "", "", ""},
		{"the gateway is no endpoint then", []string{on, name, gateway("LISTEN_ADDRESS", "127.0.0.1:6390")}, "", "", ""},
	} {
		c, warnings, err := loadFrom(t, Sources{Exists: func(string) bool { return false }}, row.env...)
		got := strings.Join(faults(err), "; ")
		switch {
		case (row.fault == "") != (got == "") || !strings.Contains(got, row.fault):
			t.Errorf("%s: fault %q, want %q", row.what, got, row.fault)
		case row.fault != "":
		case (row.warning == "") != (len(warnings) == 0) || row.warning != "" && !slices.Equal(warnings, []string{row.warning}):
			t.Errorf("%s: warnings %q, want %q", row.what, warnings, row.warning)
		case (c.Ironic.Endpoint == "") != (c.Ironic.Name != "") || c.IronicNamespace() != row.namespace:
			t.Errorf("%s: endpoint %q, namespace %q, want %q", row.what, c.Ironic.Endpoint, c.IronicNamespace(), row.namespace)
		}
	}
}
