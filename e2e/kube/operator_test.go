//go:build e2e

package kube

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// deployOperator applies the Deployment and the settings of the released BMO's own
// config/default, moved to a namespace, with these settings beside its own.
func deployOperator(t *testing.T, namespace string, settings map[string]any) {
	t.Helper()
	source, err := realkube.OperatorSource()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range built(t, filepath.Join(source, "config", "default")) {
		if o.GetKind() != "Deployment" && o.GetKind() != "ConfigMap" {
			continue
		}
		o = o.DeepCopy()
		o.SetNamespace(namespace)
		if o.GetKind() == "ConfigMap" {
			data, _, _ := unstructured.NestedMap(o.Object, "data")
			delete(data, "IRONIC_ENDPOINT")
			maps.Copy(data, settings)
			if err := unstructured.SetNestedMap(o.Object, data, "data"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := cluster.Apply(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLH20_TheReleasedBMOIsWarnedOfItsWorkers: the overlay observe beside BMO's own manifests
// finds Ironic, and BMO_CONCURRENCY above the limit is told in log, status, metric and an
// Event on the Deployment.
func TestLH20_TheReleasedBMOIsWarnedOfItsWorkers(t *testing.T) {
	t.Parallel()
	ns := namespace(t, "operator")
	ironic := serveIronic(t, 24*time.Hour)
	deployOperator(t, ns, map[string]any{"IRONIC_ENDPOINT": ironic.URL, "BMO_CONCURRENCY": "32"})
	kubeconfig := deploy(t, ns, rights(t, filepath.Join(overlays, "observe"), ns))
	s := clustered("", kubeconfig, ns).with(settings{"TMPDIR": t.TempDir(), ours + "MODE": "observe"})
	delete(s, "IRONIC_ENDPOINT")
	p := serve(t, s)
	p.isReady()

	const said = "BMO_CONCURRENCY=32 is greater than the limit of 20: more workers than slots"
	var last api.Status
	warned := func() bool {
		st, err := p.client().Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		last = st
		return strings.Contains(strings.Join(st.Warnings, "\n"), said)
	}
	await(t, "a warning in the status", warned, p.log.Tail)
	if got := last.Settings["ironicEndpoint"]; got != ironic.URL || last.Mode != "observe" {
		t.Errorf("Ironic is at %q, want %s; mode %s", got, ironic.URL, last.Mode)
	}
	if o := last.Cluster.Operator; o.Workers != 32 || o.Estimated || o.MayReach != 51 || o.WorkersFrom != "BMO_CONCURRENCY in ConfigMap ironic" {
		t.Errorf("%+v", o)
	}
	if _, found := p.log.Line("WARN", said); !found {
		t.Errorf("the log does not warn:\n%s", p.log.Tail())
	}
	if _, text := p.get(p.at.Metrics + "/metrics"); !strings.Contains(text, `ironic_throttle_operator_workers{estimated="false"} 32`+"\n") {
		t.Error("no metric of the workers")
	}
	told := func() bool {
		events, err := cluster.List(t.Context(), "v1", "events", ns)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			kind, _, _ := unstructured.NestedString(e.Object, "involvedObject", "kind")
			text, _, _ := unstructured.NestedString(e.Object, "message")
			if kind == "Deployment" && strings.Contains(text, said) {
				return true
			}
		}
		return false
	}
	await(t, "an Event on BMO's Deployment", told, p.log.Tail)

	// What BMO has changes, and so does what is said: at the next look, within a minute.
	deployOperator(t, ns, map[string]any{"IRONIC_ENDPOINT": ironic.URL, "BMO_CONCURRENCY": "3"})
	awaitFor(t, 2*time.Minute, "the end of the warning", func() bool { return !warned() }, p.log.Tail)
}
