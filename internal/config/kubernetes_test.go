package config

import (
	"strings"
	"testing"
)

func TestRulesOfKubernetesSettings(t *testing.T) {
	on := ours("KUBERNETES", "on")
	for _, row := range []struct {
		name string
		env  []string
		want string // in the error, "" = good
	}{
		{"off", nil, ""},
		{"on", []string{on}, ""},
		{"neither", []string{ours("KUBERNETES", "maybe")}, `IRONIC_THROTTLE_KUBERNETES="maybe"`},
		{"election", []string{on, ours("LEADER_ELECT", "true")}, ""},
		{"election without a cluster", []string{ours("LEADER_ELECT", "true")}, `IRONIC_THROTTLE_LEADER_ELECT="true"`},
		{"holds in a cluster", []string{on, ours("LEADER_ELECT", "true"), ours("HOLDOFF_CONFIGMAP", "holds")}, ""},
		{"holds without an election", []string{on, ours("HOLDOFF_CONFIGMAP", "holds")}, `IRONIC_THROTTLE_HOLDOFF_CONFIGMAP="holds"`},
		{"and which setting it needs", []string{on, ours("HOLDOFF_CONFIGMAP", "holds")}, "needs IRONIC_THROTTLE_LEADER_ELECT=true"},
		{"holds in two places", []string{on, ours("LEADER_ELECT", "true"), ours("HOLDOFF_CONFIGMAP", "holds"), ours("HOLDOFF_FILE", "/holds")}, "must not be set beside IRONIC_THROTTLE_HOLDOFF_FILE"},
		{"no such name", []string{on, ours("HOLDOFF_CONFIGMAP", "Holds_1")}, `IRONIC_THROTTLE_HOLDOFF_CONFIGMAP="Holds_1"`},
		{"a file of one replica", []string{on, ours("LEADER_ELECT", "true"), ours("HOLDOFF_FILE", "/holds")}, "IRONIC_THROTTLE_HOLDOFF_CONFIGMAP is for that"},
		{"namespaces", []string{on, "WATCH_NAMESPACE=metal3, lab,,metal3"}, ""},
		{"two without a comma", []string{on, "WATCH_NAMESPACE=metal3 lab"}, `WATCH_NAMESPACE="metal3 lab"`},
		{"no namespace", []string{on, "WATCH_NAMESPACE=metal3,Lab"}, `WATCH_NAMESPACE="metal3,Lab"`},
		{"BMO elsewhere", []string{on, ours("OPERATOR_DEPLOYMENT", "capm3-system/capm3-baremetal-operator-controller-manager")}, ""},
		{"no name of BMO", []string{on, ours("OPERATOR_DEPLOYMENT", "bmo/")}, `IRONIC_THROTTLE_OPERATOR_DEPLOYMENT="bmo/"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, _, err := load(t, row.env...)
			switch {
			case row.want == "" && err != nil:
				t.Error(err)
			case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
				t.Errorf("error %v, want %s", err, row.want)
			}
		})
	}
}

func TestWatchedNamespacesAreASortedSet(t *testing.T) {
	c, _, err := load(t, "WATCH_NAMESPACE= metal3,lab,,metal3")
	if err != nil || strings.Join(c.Kubernetes.Watch, " ") != "lab metal3" {
		t.Errorf("%q, %v", c.Kubernetes.Watch, err)
	}
}

func TestKubernetesSettingsThatDoNothing(t *testing.T) {
	for _, row := range []struct {
		name string
		env  []string
		want string
	}{
		{"without a cluster", []string{ours("OPERATOR_DEPLOYMENT", "bmo")}, "without IRONIC_THROTTLE_KUBERNETES=on nothing is read from or written to a cluster; without effect: IRONIC_THROTTLE_OPERATOR_DEPLOYMENT"},
		{"a Lease that nobody takes", []string{ours("KUBERNETES", "on"), ours("LEADER_LEASE_NAME", "mine")},
			"without IRONIC_THROTTLE_LEADER_ELECT=true there is no Lease, and this replica always decides; without effect: " +
				"IRONIC_THROTTLE_LEADER_LEASE_NAME (environment"},
		{"a Lease that somebody takes", []string{ours("KUBERNETES", "on"), ours("LEADER_LEASE_NAME", "mine"), ours("LEADER_ELECT", "true")}, ""},
		{"somebody else's words", []string{"POD_NAME=bmo-0", "KUBECONFIG=/nowhere/config"}, ""},
		{"the right place", []string{ours("KUBERNETES", "on"), ours("LEADER_ELECT", "true"), ours("FAILED_HOST_HOLDOFF", "1h"), ours("HOLDOFF_CONFIGMAP", "holds")}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, warnings, err := load(t, row.env...)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case row.want == "" && len(warnings) > 0:
				t.Errorf("%q", warnings)
			case row.want != "" && (len(warnings) != 1 || !strings.Contains(warnings[0], row.want)):
				t.Errorf("%q, want %s", warnings, row.want)
			}
		})
	}
}
