package server

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/internal/nearest"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// unknownScope refuses to change the breaker of a scope in which there is no host: a word
// that is misspelt would be opened and stop nobody.
type unknownScope struct {
	code    int
	message string
	cause   error
}

func (e *unknownScope) Error() string {
	if e.cause != nil {
		return e.message + ": " + e.cause.Error()
	}
	return e.message
}

// checkScope returns nil when somebody belongs to scope, as far as the decision or Ironic
// knows.
func (s *Server) checkScope(ctx context.Context, scope string) error {
	var err error
	if ended := s.gentle.do(ctx, func() { err = s.decider.CheckScope(s.now(), scope) }); ended != nil {
		return ended
	}
	unknown := new(api.UnknownScopeError)
	if !errors.As(err, &unknown) {
		return err
	}
	message := shown(scope) + " is unknown: no host was seen in it"
	select {
	case <-s.decider.FirstPoll():
	default:
		message += ", and hosts at work have not been listed yet"
	}
	refusal := &unknownScope{code: http.StatusNotFound}
	if s.hasScope != nil && !strings.HasPrefix(scope, admission.ScopeImage+":") { // Ironic cannot be asked for images
		asking, stop := context.WithTimeout(ctx, hasScopeTimeout)
		defer stop()
		found, err := s.hasScope(asking, scope)
		switch {
		case err != nil:
			refusal.code, refusal.cause = http.StatusServiceUnavailable, err
			message += "; Ironic, which may have nodes of it, cannot be asked"
		case found:
			return nil
		default:
			message = shown(scope) + " is unknown: Ironic has no node of it"
		}
	}
	if len(unknown.Known) > 0 {
		near, _ := nearest.Word(scope, unknown.Known)
		message += "; did you mean " + oneLine(near) + "?"
	}
	refusal.message = message
	return refusal
}
