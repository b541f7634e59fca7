package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
)

// Options is what New needs. Config is required; everything else may be zero.
type Options struct {
	// Config says where the API server is and who we are there: somebody who may
	// create TokenReviews and SubjectAccessReviews (system:auth-delegator).
	Config *rest.Config
	// Audiences are those a token may be meant for; none: the API server's own.
	Audiences []string
	Now       func() time.Time // nil: time.Now
	Log       *slog.Logger     // nil: silent
}

// Decision is what is known about who asks for something.
type Decision struct {
	User    string // as Kubernetes calls them; "" where they are not Known
	Known   bool   // the token is good
	Allowed bool   // and its holder may do what was asked
}

// Checker finds out who may do what. Make one with New. It is safe for concurrent use
// and runs nothing in the background but requests, each within 5 s.
type Checker struct {
	reviews   reviewer
	now       func() time.Time
	log       *slog.Logger
	newcomers *rate.Limiter // TokenReviews of tokens that are not known to be good
	flights   singleflight.Group

	mu       sync.Mutex           // guards the rest
	good     *kept[*principal]    // by token
	bad      *kept[struct{}]      // likewise
	sources  *kept[*rate.Limiter] // newcomers of each source; they have no end
	failing  bool                 // it was logged that the API server does not answer
	complain time.Time            // when trouble may be logged again
}

// New returns a Checker. It sends nothing yet.
func New(o Options) (*Checker, error) {
	if o.Config == nil {
		return nil, errors.New("access: options: Config must be set")
	}
	config := bounded(o.Config)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	tokens, err := authenticationv1.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	rights, err := authorizationv1.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	c := &Checker{
		reviews: reviewer{tokens: tokens.TokenReviews(), rights: rights.SubjectAccessReviews(), audiences: o.Audiences},
		now:     o.Now, log: o.Log,
		newcomers: rate.NewLimiter(newcomersPerSecond, newcomersBurst),
		good:      newKept[*principal](maxTokens), bad: newKept[struct{}](maxTokens),
		sources: newKept[*rate.Limiter](maxSources),
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// bounded is a copy of config with our bounds in place of the client's own: a request
// that waits in line there is answered too late.
func bounded(config *rest.Config) *rest.Config {
	c := rest.CopyConfig(config)
	c.Timeout, c.QPS, c.RateLimiter = reviewTimeout, -1, nil
	return c
}

// Check says who the holder of token is and whether they may do verb, such as get, on
// path, such as /v1/status. from is the address that the token came from: so that one who
// shows many bad tokens holds up none but themselves. An error means that nobody knows, and is a no: the API
// server did not answer within 5 s, or too much would be asked of it (limits.go), or
// ctx ended. Nothing is asked for a token that is none by its form.
func (c *Checker) Check(ctx context.Context, from netip.Addr, token, path, verb string) (Decision, error) {
	if !wellFormed(token) {
		return Decision{}, nil
	}
	who, err := c.authenticate(ctx, from, token)
	if err != nil || who == nil {
		return Decision{}, err
	}
	allowed, err := c.authorize(ctx, who, path, verb)
	if err != nil {
		return Decision{}, err
	}
	return Decision{User: who.user.Username, Known: true, Allowed: allowed}, nil
}
