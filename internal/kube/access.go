package kube

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/logging"
)

const (
	reviewTimeout = 5 * time.Second // of one request to the API server

	// How long an answer is believed: a right that is taken away ends within a minute, one that is given begins within ten
	// seconds.
	yesFor, noFor = time.Minute, 10 * time.Second

	maxToken = 8 << 10 // bytes
	maxKept  = 1024    // of tokens and sources each; 8 times that of rights

	// Reviews a second, and at once. Tokens that were good are no newcomers: who floods us with bad ones cannot keep them
	// out. Several clients may share an address.
	bySource, bySourceAtOnce = 2, 10 // of new tokens from one address
	byAll, byAllAtOnce       = 50, 100
)

var errBusy = errors.New("the API server is spared: too many tokens that are new")

// Checker asks the API server who the holder of a bearer token is and what they may do, so that rights to our HTTP API are
// given by RBAC like any others.
//
//	token ──> TokenReview ─────────> user, groups        (401 where there is none)
//	user, verb, path ──> SubjectAccessReview ──> allowed (403 where not)
//
// Rights are those of non-resource URLs. Answers are kept for a while, within bounds; tokens are kept as their SHA-256 only
// and never logged. Whatever cannot be found out is an error and not a yes. Make one with NewChecker. It is safe for
// concurrent use and runs nothing in the background but requests, each within 5 s.
type Checker struct {
	client  client.Client
	log     *slog.Logger
	trouble logging.Rare

	users  *cache.LRUExpireCache // *authenticationv1.UserInfo by the digest of the token; nil: the token is bad
	good   *cache.LRUExpireCache // digests of tokens that were good when they were last reviewed
	rights *cache.LRUExpireCache // bool, by user, verb and path

	flights singleflight.Group
	all     *rate.Limiter
	mu      sync.Mutex            // makes limiters
	sources *cache.LRUExpireCache // *rate.Limiter by address
}

// NewChecker returns a Checker. c is somebody who may create TokenReviews and SubjectAccessReviews (system:auth-delegator).
// Nothing is sent yet.
func NewChecker(c client.Client, log *slog.Logger) *Checker {
	return &Checker{
		client: c, log: log, trouble: logging.Rare{Gap: time.Minute}, all: rate.NewLimiter(byAll, byAllAtOnce),
		users: cache.NewLRUExpireCache(maxKept), good: cache.NewLRUExpireCache(maxKept),
		rights: cache.NewLRUExpireCache(8 * maxKept), sources: cache.NewLRUExpireCache(maxKept),
	}
}

// Check says who the holder of token is, "" for nobody, and whether they may do verb, such as get, on path, such as
// /v1/status. from is the address that the token came from. An error means that nobody knows, and is a no: the API server did
// not answer within 5 s, or too much would be asked of it.
func (c *Checker) Check(ctx context.Context, from netip.Addr, token, path, verb string) (user string, allowed bool, err error) {
	if token == "" || len(token) > maxToken {
		return "", false, nil
	}
	holder, err := c.holder(ctx, token, sourceOf(from))
	if err != nil || holder == nil {
		return "", false, err
	}
	allowed, err = c.may(ctx, holder, path, verb)
	return holder.Username, allowed, err
}

// sourceOf is what shares one bound: an IPv4 address, or the network of an IPv6 one, for whoever has one of its addresses
// has all. What is no address is one source, too.
func sourceOf(from netip.Addr) string {
	if from = from.Unmap(); from.Is6() {
		network, _ := from.Prefix(64)
		return network.String()
	}
	return from.String()
}

// holder returns whose token it is, nil for nobody.
func (c *Checker) holder(ctx context.Context, token, source string) (*authenticationv1.UserInfo, error) {
	key := sha256.Sum256([]byte(token))
	flight := "token " + string(key[:]) + source
	return once(ctx, c, flight, c.users, key, func(ctx context.Context) (*authenticationv1.UserInfo, bool, error) {
		if _, good := c.good.Get(key); !good && !(c.limiter(source).Allow() && c.all.Allow()) {
			return nil, false, fmt.Errorf("%w: a new token from %s", errBusy, source)
		}
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
		if err := c.client.Create(ctx, review); err != nil {
			return nil, false, fmt.Errorf("TokenReview: %w", err)
		}
		user := &review.Status.User
		if !review.Status.Authenticated || user.Username == "" {
			c.good.Remove(key)
			return nil, false, nil
		}
		c.good.Add(key, true, time.Hour)
		return user, true, nil
	})
}

// may reports whether u may do verb on path. Rights are those of u as it is: with other groups it is somebody else.
func (c *Checker) may(ctx context.Context, u *authenticationv1.UserInfo, path, verb string) (bool, error) {
	key := sha256.Sum256(fmt.Appendf(nil, "%q", []any{u.UID, u.Username, u.Groups, u.Extra, verb, path}))
	return once(ctx, c, "right "+string(key[:]), c.rights, key, func(ctx context.Context) (bool, bool, error) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: u.Username, UID: u.UID, Groups: u.Groups, Extra: map[string]authorizationv1.ExtraValue{},
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: verb},
		}}
		for name, values := range u.Extra {
			review.Spec.Extra[name] = authorizationv1.ExtraValue(values)
		}
		if err := c.client.Create(ctx, review); err != nil {
			return false, false, fmt.Errorf("SubjectAccessReview: %w", err)
		}
		allowed := review.Status.Allowed && !review.Status.Denied
		return allowed, allowed, nil
	})
}

func (c *Checker) limiter(source string) *rate.Limiter {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, ok := c.sources.Get(source)
	if !ok {
		l = rate.NewLimiter(bySource, bySourceAtOnce)
		c.sources.Add(source, l, time.Hour)
	}
	return l.(*rate.Limiter)
}

// once returns what kept has of key, else what ask finds out, for all who want the same at the same time.
func once[T any](
	ctx context.Context, c *Checker, flight string, kept *cache.LRUExpireCache, key any,
	ask func(context.Context) (value T, yes bool, err error),
) (T, error) {
	if v, ok := kept.Get(key); ok {
		return v.(T), nil
	}
	v, err, _ := c.flights.Do(flight, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout) // when one of them leaves, the others wait
		defer cancel()
		v, yes, err := ask(ctx)
		switch {
		case err == nil && yes:
			kept.Add(key, v, yesFor)
		case err == nil:
			kept.Add(key, v, noFor)
		default:
			if _, ok := c.trouble.Tell(time.Now()); ok {
				c.log.Error("access: who asks cannot be found out, and is refused", "error", err)
			}
		}
		return v, err
	})
	return v.(T), err
}
