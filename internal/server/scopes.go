package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
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
	if ended := s.gentle.do(ctx, func() { err = s.opts.Decider.CheckScope(s.opts.Now(), scope) }); ended != nil {
		return ended
	}
	if field := new(api.FieldError); errors.As(err, &field) {
		return s.withNearest(scope, field)
	}
	unknown := new(api.UnknownScopeError)
	if !errors.As(err, &unknown) {
		return err
	}
	known := unknown.Known
	message := shown(scope) + " is unknown: no host was seen in it"
	select {
	case <-s.opts.Decider.FirstPoll():
	default:
		message += ", and hosts at work have not been listed yet"
	}
	refusal := &unknownScope{code: http.StatusNotFound}
	if s.opts.HasScope != nil && !strings.HasPrefix(scope, admission.ScopeImage+":") { // Ironic cannot be asked for images
		asking, stop := context.WithTimeout(ctx, hasScopeTimeout)
		defer stop()
		found, err := s.opts.HasScope(asking, scope)
		switch {
		case err != nil:
			refusal.code, refusal.cause = http.StatusServiceUnavailable, err
			message += "; Ironic, which may have nodes of it, cannot be asked"
		case found:
			return nil
		default:
			message = shown(scope) + " is unknown: Ironic has no node of it"
			if s.opts.Groups != nil && strings.HasPrefix(scope, admission.ScopeGroup+":") {
				known = slices.Concat(known, s.opts.Groups(asking))
			}
		}
	}
	if len(known) > 0 {
		near, _ := nearest.Word(scope, known)
		message += "; did you mean " + oneLine(near) + "?"
	}
	refusal.message = message
	return refusal
}

// withNearest adds to the error about what cannot be a scope the one that was meant, if one
// is near.
func (s *Server) withNearest(scope string, wrong *api.FieldError) error {
	known := []string{admission.ScopeIronic}
	for _, b := range s.decided().Breakers {
		known = append(known, b.Scope)
	}
	const most = 256 // bytes that somebody would paste
	if near := nearScope(scope, known); near != "" && len(near) <= most {
		return &api.FieldError{Field: wrong.Field, Value: wrong.Value, Rule: wrong.Rule + "; did you mean " + oneLine(near) + "?"}
	}
	return wrong
}

// nearScope is the scope of known that scope is like, or scope with the kind that its own
// is like; "" where there is none.
func nearScope(scope string, known []string) string {
	const far = 3 // letters that differ
	meant := scope
	kind, name, hasKind := strings.Cut(scope, ":")
	if hasKind && name != "" {
		if k, away := nearest.Word(kind, []string{admission.ScopeGroup, admission.ScopeDriver, admission.ScopeImage}); away < far {
			meant = k + ":" + name
		}
	}
	word, away := nearest.Word(meant, known)
	if !hasKind {
		if w, a := nearest.Word(admission.ScopeGroup+":"+scope, known); a < away {
			word, away = w, a
		}
	}
	switch {
	case away < far:
		return word
	case meant != scope:
		return meant
	}
	return ""
}
