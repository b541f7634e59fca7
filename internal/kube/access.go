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

	// How long the Checker keeps an answer: a right that somebody takes away ends within a minute, and a new one works
	// within ten seconds.
	yesFor, noFor = time.Minute, 10 * time.Second

	maxToken = 8 << 10 // bytes
	maxKept  = 1024    // tokens that the Checker remembers, and as many sources; 8 times as many rights

	// TokenReviews of new tokens, a second and at once. Tokens that were good before are not bounded: a flood of bad ones
	// cannot keep them out. Several clients may share an address.
	bySource, bySourceAtOnce = 2, 10   // from one source
	byAll, byAllAtOnce       = 50, 100 // from all sources
)

var errBusy = errors.New("too many new tokens, so the API server was not asked")

// Checker asks the API server who holds a bearer token, and what that user may do. So RBAC gives rights to our HTTP API
// like any others.
//
//	token ──> TokenReview ─────────> user, groups        (401 where there is none)
//	user, verb, path ──> SubjectAccessReview ──> allowed (403 where not)
//
// Rights are to non-resource URLs. The Checker keeps a bounded number of answers for a while. It keeps only the SHA-256
// of a token, and never logs a token. If it cannot find out, it returns an error, not a yes. Make one with NewChecker.
// It is safe for concurrent use, and runs nothing in the background but requests, each for at most 5 s.
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

// NewChecker returns a Checker, and sends nothing yet. c must have the rights to create TokenReviews and
// SubjectAccessReviews (system:auth-delegator).
func NewChecker(c client.Client, log *slog.Logger) *Checker {
	return &Checker{
		client: c, log: log, trouble: logging.Rare{Gap: time.Minute}, all: rate.NewLimiter(byAll, byAllAtOnce),
		users: cache.NewLRUExpireCache(maxKept), good: cache.NewLRUExpireCache(maxKept),
		rights: cache.NewLRUExpireCache(8 * maxKept), sources: cache.NewLRUExpireCache(maxKept),
	}
}

// Check returns the user who holds token, "" for nobody, and whether that user may do verb, such as get, on path, such
// as /v1/status. from is the address of the client. An error means that the Checker cannot find out, and is a no: the
// API server failed or did not answer within 5 s, or there are too many new tokens.
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

// sourceOf names what shares one bound: an IPv4 address, or the /64 network of an IPv6 address, as whoever has one
// address of it has all. Invalid addresses share one, too.
func sourceOf(from netip.Addr) string {
	if from = from.Unmap(); from.Is6() {
		network, _ := from.Prefix(64)
		return network.String()
	}
	return from.String()
}

// holder returns the user who holds token; nil: nobody.
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

// may reports whether u may do verb on path. Its key has all of u: with other groups, the user has other rights.
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

// once returns what kept has under key, else what ask finds out. Callers with the same flight share one call of ask.
func once[T any](
	ctx context.Context, c *Checker, flight string, kept *cache.LRUExpireCache, key any,
	ask func(context.Context) (value T, yes bool, err error),
) (T, error) {
	if v, ok := kept.Get(key); ok {
		return v.(T), nil
	}
	v, err, _ := c.flights.Do(flight, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout) // others wait on if this caller ends
		defer cancel()
		v, yes, err := ask(ctx)
		switch {
		case err == nil && yes:
			kept.Add(key, v, yesFor)
		case err == nil:
			kept.Add(key, v, noFor)
		default:
			if _, ok := c.trouble.Tell(time.Now()); ok {
				c.log.Error("access: the throttle cannot find out who asks, and refuses the request", "error", err)
			}
		}
		return v, err
	})
	return v.(T), err
}
