//go:build e2e

package kube

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube"
)

// TestThePodGuard: the throttle may patch pods, and by the policy of high-availability changes
// nothing but the label of the leader and its cost, of its own pods.
func TestThePodGuard(t *testing.T) {
	t.Parallel()
	ns := namespace(t, "guard")
	c, err := kube.Connect(kube.Options{Kubeconfig: deploy(t, ns, rights(t, highAvailability, ns)), Namespace: ns, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	pod := func(name string) *core.Pod {
		return &core.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	}
	patch := func(as client.Client, name, body string) error {
		how := types.MergePatchType
		if strings.HasPrefix(body, "[") {
			how = types.JSONPatchType
		}
		return as.Patch(t.Context(), pod(name), client.RawPatch(how, []byte(body)))
	}
	makePod(t, ns, "throttle")
	makePod(t, ns, "bmo")
	if err := patch(cluster.Client, "bmo", `{"metadata": {"labels": {"app.kubernetes.io/name": "bmo"}}}`); err != nil {
		t.Fatal(err)
	}
	const (
		cost  = `"controller.kubernetes.io/pod-deletion-cost"`
		on    = `{"metadata": {"labels": {"` + leaderLabel + `": "leader"}, "annotations": {` + cost + `: "100"}}}`
		off   = `{"metadata": {"labels": {"` + leaderLabel + `": null}, "annotations": {` + cost + `: null}}}`
		image = `[{"op": "replace", "path": "/spec/containers/0/image", "value": "evil"}]`
	)
	var last error
	denied := func(name, body string) bool {
		last = patch(c.Client, name, body)
		return last != nil && strings.Contains(last.Error(), "ValidatingAdmissionPolicy 'ironic-throttle-pods'")
	}
	tries := 0
	await(t, "policy in force", func() bool {
		tries++
		return denied("throttle", fmt.Sprintf(`{"metadata": {"labels": {"tries": "%d"}}}`, tries))
	}, func() string { return fmt.Sprint(last) })
	for _, body := range []string{on, on, off, off} {
		if err := patch(c.Client, "throttle", body); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
	for what, row := range map[string][2]string{
		"label of another's pod": {"bmo", on},
		"image":                  {"throttle", image},
		"image of another's pod": {"bmo", image},
		"deadline":               {"throttle", `{"spec": {"activeDeadlineSeconds": 1}}`},
		"another label":          {"throttle", `{"metadata": {"labels": {"another": "x"}}}`},
		"name of the app":        {"throttle", `{"metadata": {"labels": {"app.kubernetes.io/name": "bmo"}}}`},
		"label taken off":        {"throttle", `{"metadata": {"labels": {"app.kubernetes.io/part-of": null}}}`},
		"another annotation":     {"throttle", `{"metadata": {"annotations": {"another": "x"}}}`},
		"annotation taken off":   {"throttle", `{"metadata": {"annotations": {"kubectl.kubernetes.io/default-container": null}}}`},
		"finalizer":              {"throttle", `{"metadata": {"finalizers": ["example.org/x"]}}`},
	} {
		if !denied(row[0], row[1]) {
			t.Errorf("%s: it is not denied: %v", what, last)
		}
	}
	if err := c.Client.Delete(t.Context(), pod("bmo")); !errors.IsForbidden(err) {
		t.Errorf("delete: %v", err)
	}
	if err := patch(cluster.Client, "throttle", image); err != nil {
		t.Errorf("others are held to it: %v", err)
	}
}
