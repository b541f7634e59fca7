package access

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"reflect"

	"golang.org/x/time/rate"
	authentication "k8s.io/api/authentication/v1"
)

// Why nobody knows who asks, or what they may do.
var (
	errUnavailable = errors.New("the API server does not tell")
	errBusy        = errors.New("the API server is spared: too many tokens or paths that are new")
)

// principal is the holder of a good token.
type principal struct {
	user   authentication.UserInfo
	asking *rate.Limiter
	rights *kept[bool] // by verb and path; guarded by Checker.mu
}

// authenticate returns the holder of token, nil where it is nobody's.
func (c *Checker) authenticate(ctx context.Context, from netip.Addr, token string) (*principal, error) {
	key, source := sum(token), sourceOf(from)
	who, bad, known := c.remembered(key)
	if bad || who != nil {
		return who, nil
	}
	flight := "token" + string(key[:])
	if !known { // a source that asks too much is refused by itself
		flight += source.String()
	}
	found, err := c.once(ctx, flight, func(ctx context.Context) (any, error) {
		who, bad, known := c.remembered(key)
		if bad || who != nil { // a flight has landed since
			return who, nil
		}
		if !known {
			if err := c.admit(source); err != nil {
				return nil, err
			}
		}
		user, err := c.reviews.who(ctx, token)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errUnavailable, err)
		}
		return c.learn(key, user), nil
	})
	if err != nil {
		return nil, err
	}
	return found.(*principal), nil
}

// sourceOf is what shares one bound: an IPv4 address, or the network of an IPv6 one, for
// whoever has one of its addresses has all. What is no address is one source, too.
func sourceOf(from netip.Addr) netip.Prefix {
	from = from.Unmap()
	bits := sourceBits
	if from.Is4() {
		bits = from.BitLen()
	}
	source, _ := from.Prefix(bits) // fails for what is no address
	return source
}

// admit reports whether a token that is not known to be good may be reviewed: within the
// bound of who shows it, and then within the one that all share. What a source may not
// ask takes nothing from the others.
func (c *Checker) admit(source netip.Prefix) error {
	c.mu.Lock()
	now, key := c.now(), sum(source.String())
	own, _, found := c.sources.get(now, key)
	if !found {
		own = rate.NewLimiter(sourcePerSecond, sourceBurst)
		c.sources.put(key, own, now)
	}
	c.mu.Unlock()
	if !own.AllowN(now, 1) || !c.newcomers.AllowN(now, 1) {
		return fmt.Errorf("%w: a new token from %s", errBusy, source)
	}
	return nil
}

// remembered is what is still believed of a token, and whether it was good once.
func (c *Checker) remembered(key digest) (who *principal, bad, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if _, fresh, _ := c.bad.get(now, key); fresh {
		return nil, true, false
	}
	if p, fresh, found := c.good.get(now, key); fresh {
		return p, false, true
	} else if found {
		return nil, false, true
	}
	return nil, false, false
}

// learn keeps what a review said. Rights are kept on only while their holder is the
// same, groups and all.
func (c *Checker) learn(key digest, user *authentication.UserInfo) *principal {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if user == nil {
		c.good.drop(key)
		c.bad.put(key, struct{}{}, now.Add(badFor))
		return nil
	}
	who, _, found := c.good.get(now, key)
	if !found || !reflect.DeepEqual(who.user, *user) {
		who = &principal{
			user: *user, rights: newKept[bool](maxRights),
			asking: rate.NewLimiter(rightsPerSecond, rightsBurst),
		}
	}
	c.bad.drop(key)
	c.good.put(key, who, now.Add(goodFor))
	return who
}

// authorize reports whether who may do verb on path.
func (c *Checker) authorize(ctx context.Context, who *principal, path, verb string) (bool, error) {
	key := sum(verb + " " + path)
	if allowed, fresh := c.right(who, key); fresh {
		return allowed, nil
	}
	found, err := c.once(ctx, fmt.Sprintf("right%p", who)+string(key[:]), func(ctx context.Context) (any, error) {
		if allowed, fresh := c.right(who, key); fresh {
			return allowed, nil
		}
		if !who.asking.AllowN(c.now(), 1) {
			return false, errBusy
		}
		allowed, err := c.reviews.may(ctx, who.user, path, verb)
		if err != nil {
			return false, fmt.Errorf("%w: %w", errUnavailable, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		keep := denyFor
		if allowed {
			keep = allowFor
		}
		who.rights.put(key, allowed, c.now().Add(keep))
		return allowed, nil
	})
	if err != nil {
		return false, err
	}
	return found.(bool), nil
}

// right is what is still believed of a right.
func (c *Checker) right(who *principal, key digest) (allowed, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	allowed, fresh, _ = who.rights.get(c.now(), key)
	return allowed, fresh
}

// once asks for all who want the same at the same time. The request goes on when one
// of them leaves, but not beyond its own time-out.
func (c *Checker) once(ctx context.Context, key string, ask func(context.Context) (any, error)) (any, error) {
	flight := c.flights.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
		defer cancel()
		found, err := ask(ctx)
		c.tell(err)
		return found, err
	})
	select {
	case landed := <-flight:
		return landed.Val, landed.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// tell logs trouble, at most once a minute, and its end.
func (c *Checker) tell(err error) {
	c.mu.Lock()
	now := c.now()
	ended := err == nil && c.failing
	loud := err != nil && !now.Before(c.complain)
	if loud {
		c.complain = now.Add(complainEvery)
		c.failing = errors.Is(err, errUnavailable)
	} else if ended {
		c.failing = false
	}
	c.mu.Unlock()
	switch {
	case ended:
		c.log.Info("access: the API server answers again")
	case loud:
		c.log.Error("access: who asks cannot be found out, and is refused", "error", err)
	}
}
