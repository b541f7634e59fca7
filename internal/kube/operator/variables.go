package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
)

// container is BMO's, with what its environment is made of.
type container struct {
	core.Container

	volumes []core.Volume
	maps    coreclient.ConfigMapInterface
	read    map[string]*core.ConfigMap // nil: it is not there
}

// value is what a variable has. from tells where that is written; "" = nowhere.
type value struct{ text, from string }

// variable returns a variable of the container, as the kubelet finds it: env goes before
// envFrom, the later before the earlier. What skip says yes to counts as not there; nil:
// nothing does. ConfigMaps are read as they are needed; Secrets never are.
func (c container) variable(ctx context.Context, name string, skip func(string) bool) (value, error) {
	for _, e := range slices.Backward(c.Env) {
		if e.Name != name {
			continue
		}
		v, err := c.ofEntry(ctx, e)
		if err != nil {
			return value{}, fmt.Errorf("%s: %w", name, err)
		}
		if v.from != "" && (skip == nil || !skip(v.text)) {
			return v, nil
		}
	}
	for _, e := range slices.Backward(c.EnvFrom) {
		key, prefixed := strings.CutPrefix(name, e.Prefix)
		if !prefixed || e.ConfigMapRef == nil {
			continue
		}
		v, err := c.ofMap(ctx, e.ConfigMapRef.Name, key, e.ConfigMapRef.Optional)
		if err != nil {
			return value{}, fmt.Errorf("%s: %w", name, err)
		}
		if v.from != "" && (skip == nil || !skip(v.text)) {
			return v, nil
		}
	}
	return value{}, nil
}

// ofEntry is the value of an entry of env.
func (c container) ofEntry(ctx context.Context, e core.EnvVar) (value, error) {
	if e.ValueFrom == nil {
		return value{e.Value, "its env"}, nil
	}
	ref := e.ValueFrom.ConfigMapKeyRef
	if ref == nil {
		return value{}, fmt.Errorf("it comes from neither a plain value nor a ConfigMap, and nothing else is read")
	}
	v, err := c.ofMap(ctx, ref.Name, ref.Key, ref.Optional)
	if err == nil && v.from == "" && (ref.Optional == nil || !*ref.Optional) {
		err = fmt.Errorf("ConfigMap %s has no key %s", ref.Name, ref.Key)
	}
	return v, err
}

// ofMap is the value of a key of a ConfigMap.
func (c container) ofMap(ctx context.Context, name, key string, optional *bool) (value, error) {
	m, known := c.read[name]
	if !known {
		var err error
		m, err = c.maps.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			m = nil
		case err != nil:
			return value{}, fmt.Errorf("ConfigMap %s: %w", name, err)
		}
		c.read[name] = m
	}
	if m == nil {
		if optional != nil && *optional {
			return value{}, nil
		}
		return value{}, fmt.Errorf("ConfigMap %s is not there", name)
	}
	text, ok := m.Data[key]
	if !ok {
		return value{}, nil
	}
	return value{text, "ConfigMap " + name}, nil
}
