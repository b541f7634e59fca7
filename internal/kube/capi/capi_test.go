package capi_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/capi"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
)

type fields = map[string]any

// machine is one of the cluster c in the namespace ns, of the Metal3Machine that has its name too.
func machine(version, cluster string, status fields) *unstructured.Unstructured {
	m := &unstructured.Unstructured{Object: fields{
		"apiVersion": "cluster.x-k8s.io/" + version, "kind": "Machine", "metadata": fields{"namespace": "ns", "name": "m"},
		"spec": fields{"clusterName": cluster, "infrastructureRef": fields{"kind": "Metal3Machine", "name": "m"}}, "status": status,
	}}
	m.SetLabels(map[string]string{"cluster.x-k8s.io/cluster-name": cluster, "pool": "workers"})
	return m
}

// check is a MachineHealthCheck of the pool of workers, with this in its spec too.
func check(version string, spec fields) *unstructured.Unstructured {
	spec["clusterName"], spec["selector"] = "c", fields{"matchLabels": fields{"pool": "workers"}}
	return &unstructured.Unstructured{Object: fields{
		"apiVersion": "cluster.x-k8s.io/" + version, "kind": "MachineHealthCheck",
		"metadata": fields{"namespace": "ns", "name": "workers", "uid": "u-1"}, "spec": spec,
	}}
}

// serving is an API server that serves one version of Cluster API.
func serving(t *testing.T, version string, all ...client.Object) client.Client {
	t.Helper()
	known := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(known), objects.Add(known)); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(known).WithObjects(all...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if list.GetObjectKind().GroupVersionKind().Version != version {
				return apierrors.NewNotFound(schema.GroupResource{}, "")
			}
			defer list.SetResourceVersion("7") // which the fake does not set
			return c.List(ctx, list, opts...)
		},
	}).Build()
}

func TestWhichChecksAreWarnedOf(t *testing.T) {
	paused := check("v1beta2", fields{})
	paused.SetAnnotations(map[string]string{"cluster.x-k8s.io/paused": ""})
	of := func(seconds int64) *unstructured.Unstructured {
		return check("v1beta2", fields{"checks": fields{"nodeStartupTimeoutSeconds": seconds}})
	}
	waiting, old := machine("v1beta2", "c", nil), machine("v1beta1", "c", nil)
	for name, row := range map[string]struct {
		version string
		check   *unstructured.Unstructured
		machine *unstructured.Unstructured
		wait    time.Duration
		want    string // after "ns/workers removes Machines that have no node after "
	}{
		"the default":            {"v1beta2", check("v1beta2", fields{}), waiting, 11 * time.Minute, "10m0s, but hosts of its Machines may wait 15m0s for a slot: raise its spec.checks.nodeStartupTimeoutSeconds above that"},
		"long enough by default": {"v1beta2", check("v1beta2", fields{}), waiting, 10 * time.Minute, ""},
		"its own":                {"v1beta2", of(3600), waiting, 61 * time.Minute, "1h0m0s, but hosts of its Machines may wait 2h0m0s for a slot"},
		"long enough":            {"v1beta2", of(7200), waiting, 2 * time.Hour, ""},
		"disabled":               {"v1beta2", of(0), waiting, 24 * time.Hour, ""},
		"paused":                 {"v1beta2", paused, waiting, time.Hour, ""},
		"of another cluster":     {"v1beta2", of(60), machine("v1beta2", "other", nil), time.Hour, ""},
		"the Machine has a node": {"v1beta2", of(60), machine("v1beta2", "c", fields{"nodeRef": fields{"name": "n"}}), time.Hour, ""},
		"nobody waits":           {"v1beta2", of(60), waiting, 0, ""},
		"v1beta1": {"v1beta1", check("v1beta1", fields{"nodeStartupTimeout": "90s"}), old, 40 * time.Minute,
			"1m30s, but hosts of its Machines may wait 1h0m0s for a slot: raise its spec.nodeStartupTimeout above that and the time that provisioning takes, " +
				"or pause it while you scale up: kubectl annotate machinehealthcheck -n ns workers cluster.x-k8s.io/paused="},
		"v1beta1, disabled": {"v1beta1", check("v1beta1", fields{"nodeStartupTimeout": "0s"}), old, time.Hour, ""},
	} {
		c := serving(t, row.version, row.check.DeepCopy(), row.machine.DeepCopy())
		got, err := capi.Look(t.Context(), c, map[capi.Machine]time.Duration{{Namespace: "ns", Name: "m"}: row.wait})
		if err != nil || len(got) > 1 || (len(got) == 1) != (row.want != "") {
			t.Errorf("%s: %+v, %v", name, got, err)
			continue
		}
		for _, w := range got {
			if !strings.HasPrefix(w.Text, "MachineHealthCheck ns/workers removes Machines that have no node after "+row.want) ||
				w.On.APIVersion != "cluster.x-k8s.io/"+row.version || w.On.Kind != "MachineHealthCheck" || w.On.UID != "u-1" {
				t.Errorf("%s: %+v", name, w)
			}
		}
	}
}
