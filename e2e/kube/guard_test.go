//go:build e2e

package kube

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// TestThePodGuard: the throttle may patch pods, and by the policy of high-availability changes
// nothing but the label of the leader and its cost, of its own pods.
func TestThePodGuard(t *testing.T) {
	t.Parallel()
	ns := namespace(t, "guard")
	deploy(t, ns, rights(t, highAvailability, ns))
	makePod(t, ns, "throttle")
	makePod(t, ns, "bmo")
	patch := func(name, body string, as *kubernetes.Clientset) error {
		how := types.MergePatchType
		if strings.HasPrefix(body, "[") {
			how = types.JSONPatchType
		}
		_, err := as.CoreV1().Pods(ns).Patch(t.Context(), name, how, []byte(body), metav1.PatchOptions{})
		return err
	}
	if err := patch("bmo", `{"metadata": {"labels": {"app.kubernetes.io/name": "bmo"}}}`, asAdministrator(t)); err != nil {
		t.Fatal(err)
	}
	throttle, err := kubernetes.NewForConfig(as(t, ns, account))
	if err != nil {
		t.Fatal(err)
	}
	const (
		on    = `{"metadata": {"labels": {"` + leaderLabel + `": "leader"}, "annotations": {"` + deletionCost + `": "100"}}}`
		off   = `{"metadata": {"labels": {"` + leaderLabel + `": null}, "annotations": {"` + deletionCost + `": null}}}`
		image = `[{"op": "replace", "path": "/spec/containers/0/image", "value": "evil"}]`
	)
	var last error
	denied := func(name, body string) bool {
		err := patch(name, body, throttle)
		last = err
		return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'ironic-throttle-pods'")
	}
	tries := 0
	await(t, "policy in force", func() bool {
		tries++
		return denied("throttle", fmt.Sprintf(`{"metadata": {"labels": {"tries": "%d"}}}`, tries))
	}, func() string { return fmt.Sprint(last) })
	for _, body := range []string{on, on, off, off} {
		if err := patch("throttle", body, throttle); err != nil {
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
	if err := throttle.CoreV1().Pods(ns).Delete(t.Context(), "bmo", metav1.DeleteOptions{}); !errors.IsForbidden(err) {
		t.Errorf("delete: %v", err)
	}
	if err := patch("throttle", image, asAdministrator(t)); err != nil {
		t.Errorf("others are held to it: %v", err)
	}
}
