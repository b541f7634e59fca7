package find

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// container is BMO's, with what its environment is made of.
type container struct {
	corev1.Container

	volumes []corev1.Volume
	reader  reader
	maps    map[string]*corev1.ConfigMap // that were read; without data where there is none
}

// value is what a variable has. from tells where that is written; "" = nowhere.
type value struct{ text, from string }

// variable returns a variable of the container, as the kubelet finds it. What skip says yes to counts as not there; nil:
// nothing does. ConfigMaps are read as they are needed; Secrets never are.
func (c container) variable(ctx context.Context, name string, skip func(string) bool) (value, error) {
	for _, e := range c.sources(name) {
		v, err := c.read(ctx, e)
		if err != nil {
			return value{}, fmt.Errorf("%s: %w", name, err)
		}
		if v.from != "" && (skip == nil || !skip(v.text)) {
			return v, nil
		}
	}
	return value{}, nil
}

// sources are where a variable may be, the first one counts: env goes before envFrom, the later before the earlier. Those
// of envFrom have no name.
func (c container) sources(name string) (all []corev1.EnvVar) {
	for _, e := range slices.Backward(c.Env) {
		if e.Name == name {
			all = append(all, e)
		}
	}
	for _, e := range slices.Backward(c.EnvFrom) {
		if key, prefixed := strings.CutPrefix(name, e.Prefix); prefixed && e.ConfigMapRef != nil {
			all = append(all, corev1.EnvVar{ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
				LocalObjectReference: e.ConfigMapRef.LocalObjectReference, Key: key, Optional: e.ConfigMapRef.Optional,
			}}})
		}
	}
	return all
}

func (c container) read(ctx context.Context, e corev1.EnvVar) (value, error) {
	if e.ValueFrom == nil {
		return value{e.Value, "its env"}, nil
	}
	ref := e.ValueFrom.ConfigMapKeyRef
	if ref == nil {
		return value{}, errors.New("it comes from neither a plain value nor a ConfigMap, and nothing else is read")
	}
	m, err := c.configMap(ctx, ref.Name)
	if err != nil {
		return value{}, fmt.Errorf("ConfigMap %s: %w", ref.Name, err)
	}
	needed := ref.Optional == nil || !*ref.Optional
	text, ok := m.Data[ref.Key]
	switch {
	case ok:
		return value{text, "ConfigMap " + ref.Name}, nil
	case needed && m.Name == "":
		return value{}, fmt.Errorf("ConfigMap %s is not there", ref.Name)
	case needed && e.Name != "":
		return value{}, fmt.Errorf("ConfigMap %s has no key %s", ref.Name, ref.Key)
	}
	return value{}, nil
}

func (c container) configMap(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	if m := c.maps[name]; m != nil {
		return m, nil
	}
	m := &corev1.ConfigMap{}
	err := c.reader.client.Get(ctx, client.ObjectKey{Namespace: c.reader.namespace, Name: name}, m)
	if client.IgnoreNotFound(err) != nil {
		return nil, errors.New(line(err))
	}
	c.maps[name] = m
	return m, nil
}

// flag returns the last value of a flag among the container's command and arguments, as Go's package flag reads it.
func (c container) flag(name string) (text string) {
	all := slices.Concat(c.Command, c.Args)
	for i, arg := range all {
		word, value, assigned := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		switch {
		case !strings.HasPrefix(arg, "-") || strings.TrimPrefix(word, "-") != name:
		case assigned:
			text = value
		case i+1 < len(all):
			text = all[i+1]
		}
	}
	return text
}

// secretAt names the Secret that is mounted at a folder; "" = none.
func (c container) secretAt(folder string) string {
	for _, m := range c.VolumeMounts {
		for _, v := range c.volumes {
			if path.Clean(m.MountPath) == path.Clean(folder) && v.Name == m.Name && v.Secret != nil {
				return v.Secret.SecretName
			}
		}
	}
	return ""
}
