package realkube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// InstallCRDs applies the CustomResourceDefinitions of testdata/kube and waits until the
// API server serves them.
func (k *Kube) InstallCRDs(ctx context.Context) error {
	root, err := ModuleRoot()
	if err != nil {
		return err
	}
	return k.InstallCRDsFrom(ctx, filepath.Join(root, "testdata", "kube"))
}

// InstallCRDsFrom is InstallCRDs with those of another folder.
func (k *Kube) InstallCRDsFrom(ctx context.Context, folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no CustomResourceDefinition in %s: %w", folder, errors.Join(err, os.ErrNotExist))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		objects, err := Decode(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		for _, o := range objects {
			if _, err := k.Apply(ctx, o); err != nil {
				return fmt.Errorf("%s: %w", filepath.Base(file), err)
			}
			if err := k.waitServed(ctx, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// waitServed waits until a CustomResourceDefinition is established, and discovery lists it.
func (k *Kube) waitServed(ctx context.Context, crd *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	err := child.Every(ctx, 100*time.Millisecond, func() (bool, error) {
		k.kinds.Reset()
		_, err := k.kinds.RESTMapping(schema.GroupKind{Group: group, Kind: kind})
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("%s is not served: %w", crd.GetName(), err)
	}
	return nil
}

// Decode reads the documents of a YAML text.
func Decode(text string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	reader := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4<<10)
	for {
		o := &unstructured.Unstructured{}
		if err := reader.Decode(&o.Object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
}

// Apply makes an object as it is in a manifest, by server-side apply with strict checks of
// its fields. dryRun says what the API server would do and keeps nothing.
func (k *Kube) Apply(ctx context.Context, o *unstructured.Unstructured, dryRun ...string) (*unstructured.Unstructured, error) {
	at, err := k.resource(o)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
	}
	text, err := o.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
	}
	made, err := at.Patch(ctx, o.GetName(), "application/apply-patch+yaml", text, metav1.PatchOptions{
		FieldManager: "realkube", FieldValidation: metav1.FieldValidationStrict, DryRun: dryRun,
	})
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return made, nil
}

// resource finds where objects of this kind are kept.
func (k *Kube) resource(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := o.GroupVersionKind()
	mapping, err := k.kinds.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return k.objects.Resource(mapping.Resource), nil
	}
	return k.objects.Resource(mapping.Resource).Namespace(o.GetNamespace()), nil
}

// List returns the objects of a resource, such as events of v1, in a namespace.
func (k *Kube) List(ctx context.Context, version, resource, namespace string) ([]unstructured.Unstructured, error) {
	group, err := schema.ParseGroupVersion(version)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", resource, err)
	}
	found, err := k.objects.Resource(group.WithResource(resource)).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", resource, err)
	}
	return found.Items, nil
}
