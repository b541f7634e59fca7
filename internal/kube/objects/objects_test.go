package objects_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
)

// One Go type stands for MachineSets and MachineDeployments of two versions.
func TestATypeStandsForSeveralKinds(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := objects.Add(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range objects.Kinds() {
		if !scheme.Recognizes(kind) || !scheme.Recognizes(objects.ListOf(kind)) {
			t.Errorf("the scheme does not know %v and its list", kind)
		}
	}
	kind := schema.GroupVersionKind{Group: objects.MachineGroup, Version: "v1beta1", Kind: "MachineDeployment"}
	workers := objects.As(&objects.Owner{}, kind)
	workers.Namespace, workers.Name = "metal3", "workers"
	c := fake.NewClientBuilder().WithScheme(scheme).Build()
	if err := c.Create(t.Context(), workers); err != nil { // WithObjects would make one of each kind that the type stands for
		t.Fatal(err)
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":3}}`))
	if err := c.Patch(t.Context(), objects.As(workers, kind), patch); err != nil {
		t.Fatal(err)
	}
	list := objects.As(&objects.List[objects.OwnerSpec, objects.OwnerStatus]{}, objects.ListOf(kind))
	if err := c.List(t.Context(), list); err != nil || len(list.Items) != 1 || *list.Items[0].Spec.Replicas != 3 {
		t.Fatalf("%v: %+v", err, list.Items)
	}
	sets := objects.As(&objects.List[objects.OwnerSpec, objects.OwnerStatus]{}, objects.ListOf(kind.GroupVersion().WithKind("MachineSet")))
	if err := c.List(t.Context(), sets); err != nil || len(sets.Items) != 0 {
		t.Fatalf("MachineSets: %v: %+v", err, sets.Items)
	}
}
