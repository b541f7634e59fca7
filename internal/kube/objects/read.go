package objects

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	pageSize   = 500
	customPage = 250 // of custom resources: BareMetalHosts are large
	tries      = 3   // of a list that expires before its last page
)

var errNoList = errors.New("the answer is no list")

// Server reads from an API server. After the first error it asks for nothing more. It is for one goroutine.
type Server struct {
	client.Client

	Account string // whose rights count: the error about a missing right names it
	Err     error  // the first error
}

// Get reads the object NAMESPACE/NAME of a kind, in the newest version that the server has. An object that does not
// exist has no UID, and is no error. Without a name, Get sends nothing.
func Get[T client.Object](ctx context.Context, s *Server, kind, key string) T {
	at := client.ObjectKey{Name: key}
	if namespace, name, ok := strings.Cut(key, "/"); ok {
		at = client.ObjectKey{Namespace: namespace, Name: name}
	}
	o := blank[T]()
	for i, all := 0, s.versions(o, kind); i < len(all) && key != ""; i++ {
		err := s.Client.Get(ctx, at, As(o, all[i]))
		As(o, all[i]) // the client clears the kind
		served := !apierrors.IsNotFound(err) || !apierrors.IsUnexpectedServerError(err)
		switch {
		case !served && i+1 < len(all):
			continue
		case err != nil && (!served || !apierrors.IsNotFound(err)):
			s.Err = s.explain(ctx, fmt.Errorf("%s %s: %w", kind, key, err))
		}
		return o
	}
	return o
}

// All reads all objects of a kind, page by page, in the newest version that the server has, and returns what keep makes
// of each. A kind that the server does not have counts as one without objects.
func All[T client.Object, K any](
	ctx context.Context, s *Server, kind string, keep func(T) K, options ...client.ListOption,
) (all []K) {
	for _, version := range s.versions(blank[T](), kind) {
		var err error
		for range tries {
			if all, err = pages(ctx, s, version, keep, options); !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
				break
			}
		}
		switch {
		case err == nil:
			return all
		case !apierrors.IsNotFound(err):
			s.Err = s.explain(ctx, err)
			return nil
		}
	}
	return nil
}

// AllIn is All in each of the namespaces; without namespaces, in the whole cluster.
func AllIn[T client.Object, K any](
	ctx context.Context, s *Server, namespaces []string, kind string, keep func(T) K, options ...client.ListOption,
) (all []K) {
	if len(namespaces) == 0 {
		return All(ctx, s, kind, keep, options...)
	}
	for _, namespace := range namespaces {
		here := append([]client.ListOption{client.InNamespace(namespace)}, options...)
		all = append(all, All(ctx, s, kind, keep, here...)...)
	}
	return all
}

// Whole is a keep for All that returns the object as it is.
func Whole[T client.Object](o T) T { return o }

func pages[T client.Object, K any](
	ctx context.Context, s *Server, version schema.GroupVersionKind, keep func(T) K, options []client.ListOption,
) (all []K, err error) {
	size := client.Limit(pageSize)
	if strings.Contains(version.Group, "x-k8s.io") || version.Group == Metal3.Group {
		size = customPage
	}
	for next := ""; ; {
		empty, err := s.Scheme().New(ListOf(version))
		if err != nil {
			return nil, err
		}
		page := As(empty, ListOf(version)).(client.ObjectList) //nolint:forcetypeassert // the scheme's lists are
		part := append([]client.ListOption{size, client.Continue(next)}, options...)
		if err := s.Client.List(ctx, page, part...); err != nil {
			return nil, err
		}
		if page.GetResourceVersion() == "" { // the answer {} must not count as a cluster without pods
			return nil, fmt.Errorf("list of %ss: %w", version.Kind, errNoList)
		}
		err = meta.EachListItem(page, func(o runtime.Object) error {
			all = append(all, keep(As(o.(T), version))) //nolint:forcetypeassert // an item of this list
			return nil
		})
		if next = page.GetContinue(); err != nil || next == "" {
			return all, err
		}
	}
}

// explain adds which account lacks a right. It returns the caller's cause for a request that the caller ended.
func (s *Server) explain(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s needs another right: %w", s.Account, err)
	}
	return err
}

func blank[T client.Object]() T {
	return reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T) //nolint:forcetypeassert // it is a T
}

// versions returns those of a kind, the newest first; none after an error. A Go type may stand for several kinds.
func (s *Server) versions(o runtime.Object, kind string) []schema.GroupVersionKind {
	if s.Err != nil {
		return nil
	}
	all, _, err := s.Scheme().ObjectKinds(o)
	if err != nil {
		s.Err = err
	}
	return slices.DeleteFunc(slices.Clone(all), func(k schema.GroupVersionKind) bool { return k.Kind != kind })
}
