//go:build e2e

package kube

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// deployOperator applies the Deployment, the settings and the credentials that a kustomization
// makes in a namespace. In it BMO is the folder of the released one.
func deployOperator(t *testing.T, namespace, kustomization string) {
	t.Helper()
	dir := besideReleased(t, kustomization)
	for _, o := range built(t, dir) {
		if !slices.Contains([]string{"Deployment", "ConfigMap", "Secret"}, o.GetKind()) {
			continue
		}
		o.SetNamespace(namespace)
		if _, err := cluster.Apply(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// besideReleased writes a kustomization, and returns its folder. In it BMO is the source of the
// operator that we test with, and DEPLOY our deploy/.
func besideReleased(t *testing.T, kustomization string) string {
	t.Helper()
	dir := t.TempDir()
	here, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	source, err := realkube.OperatorSource()
	if err == nil {
		source, err = filepath.Rel(here, source)
	}
	if err != nil {
		t.Fatal(err)
	}
	ours, err := filepath.Abs("../../deploy")
	if err == nil {
		ours, err = filepath.Rel(here, ours)
	}
	if err != nil {
		t.Fatal(err)
	}
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: " + systemNamespace + "\n" +
		strings.NewReplacer("BMO/", source+"/", "DEPLOY/", ours+"/").Replace(kustomization)
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// devEnv is BMO as metal3-dev-env deploys it, without TLS: its settings and its credentials
// have hashes in their names.
func devEnv(ironicURL string, workers int) string {
	return fmt.Sprintf(`resources: [BMO/config/base]
components: [BMO/config/components/basic-auth]
secretGenerator: [{name: ironic-credentials, literals: [username=admin, password=sesame]}]
configMapGenerator: [{name: ironic, behavior: create, literals: [IRONIC_ENDPOINT=%s, BMO_CONCURRENCY=%d]}]
`, ironicURL, workers)
}

// TestTheReleasedBMOIsWarnedOfItsWorkers: the overlay observe beside BMO's own manifests
// finds Ironic, and BMO_CONCURRENCY above the limit is told in log, status, metric and an
// Event on the Deployment.
func TestTheReleasedBMOIsWarnedOfItsWorkers(t *testing.T) {
	t.Parallel()
	ns := namespace(t, "operator")
	ironic := serveIronic(t, 24*time.Hour, func(o *fakeironic.Options) { o.API.Username, o.API.Password = "admin", "sesame" })
	deployOperator(t, ns, devEnv(ironic.URL, 32))
	kubeconfig := deploy(t, ns, rights(t, filepath.Join(overlays, "observe"), ns))
	s := clustered("", kubeconfig, ns).with(settings{ours + "MODE": "observe"})
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
		return st.View.Polls > 0 && strings.Contains(strings.Join(st.Warnings, "\n"), said)
	}
	await(t, "a poll, and a warning in the status", warned, p.log.Tail) // in mode observe it is ready before its first poll
	if got := last.Settings["ironicEndpoint"]; got+"/v1/" != ironic.URL || last.Mode != "observe" || last.View.LastError != "" {
		t.Errorf("Ironic is at %q, want %s; mode %s, view %+v", got, ironic.URL, last.Mode, last.View)
	}
	if o := last.Cluster.Operator; o.Workers != 32 || !strings.HasPrefix(o.WorkersFrom, "BMO_CONCURRENCY in ConfigMap ironic-") {
		t.Errorf("%+v", o)
	}
	await(t, "the warning in the log", func() bool { _, found := p.log.Line("WARN", said); return found }, p.log.Tail)
	await(t, "an Event on BMO's Deployment", func() bool { return told(t, ns, "Deployment", said) > 0 }, p.log.Tail)

	// What BMO has changes, and so does what is said: at the next look, within a minute.
	deployOperator(t, ns, devEnv(ironic.URL, 3))
	awaitFor(t, 2*time.Minute, "the end of the warning", func() bool { return !warned() }, p.log.Tail)
}

// told counts the Events on objects of a kind that say this.
func told(t *testing.T, namespace, kind, text string) (n int) {
	t.Helper()
	events, err := cluster.List(t.Context(), "v1", "events", namespace)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		of, _, _ := unstructured.NestedString(e.Object, "involvedObject", "kind")
		if message, _, _ := unstructured.NestedString(e.Object, "message"); of == kind && strings.Contains(message, text) {
			n++
		}
	}
	return n
}
