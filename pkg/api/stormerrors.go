package api

import (
	"errors"
	"fmt"
)

// Errors of releasing holds and of changing breakers by hand, where the decision is made. Over HTTP they become 404
// and 409.
var (
	// ErrNoHold: no failed host of that name is known.
	ErrNoHold = errors.New("has not failed, or is not known")
	// ErrNoBreaker: nothing has failed in that scope, it is not watched, or there are no breakers at all.
	ErrNoBreaker = errors.New("has no breaker")
)

// EpisodeError refuses the release of another episode than the present one: its sender has not seen
// the present one.
type EpisodeError struct {
	Given   string // the episode that was to be released
	Present string // the one that the host is in
}

// Error names both episodes.
func (e *EpisodeError) Error() string {
	return fmt.Sprintf("episode: %q is not the one that the host is in, which is %q", e.Given, e.Present)
}
