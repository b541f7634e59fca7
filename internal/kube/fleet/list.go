package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	pageSize    = 500
	hostsPage   = 250 // of custom resources: BareMetalHosts are large
	pageTimeout = 30 * time.Second
	tries       = 3 // of a list whose pages expire before the last one is read
)

var errNoList = errors.New("the answer is no list")

// server is an API server that is being read. Nothing is asked for after the first error.
type server struct {
	client.Client

	account string // whose rights count
	err     error
}

// list reads all objects of a kind, page by page, and returns what keep makes of each. Pages are decoded into copies of
// empty.
func list[T client.Object, K any](
	ctx context.Context, s *server, empty client.ObjectList, keep func(T) K, options ...client.ListOption,
) (all []K) {
	options = append([]client.ListOption{client.Limit(pageSize)}, options...)
	for try := 0; s.err == nil && try < tries; try++ {
		var err error
		all, err = pages(ctx, s, empty, keep, options)
		switch {
		case err == nil:
			return all
		case ctx.Err() != nil:
			s.err = context.Cause(ctx)
		case apierrors.IsForbidden(err):
			s.err = fmt.Errorf("%s needs another right: %w", s.account, err)
		case try+1 == tries || !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err):
			s.err = err
		}
	}
	return nil
}

func pages[T client.Object, K any](
	ctx context.Context, s *server, empty client.ObjectList, keep func(T) K, options []client.ListOption,
) (all []K, err error) {
	for next := ""; ; {
		page := empty.DeepCopyObject().(client.ObjectList) //nolint:forcetypeassert // a copy has the type of what it copies
		bounded, cancel := context.WithTimeout(ctx, pageTimeout)
		err := s.List(bounded, page, append(slices.Clip(options), client.Continue(next))...)
		cancel()
		switch {
		case err != nil:
			return nil, err
		case page.GetResourceVersion() == "": // a {} must not pass for a cluster without pods
			return nil, fmt.Errorf("%T: %w", empty, errNoList)
		}
		err = meta.EachListItem(page, func(o runtime.Object) error {
			all = append(all, keep(o.(T))) //nolint:forcetypeassert // an item of this list
			return nil
		})
		if next = page.GetContinue(); err != nil || next == "" {
			return all, err
		}
	}
}
