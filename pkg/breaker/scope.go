package breaker

import (
	"fmt"
	"strings"
)

// Scope is what fails and recovers together: a whole Ironic, a conductor group, an image.
type Scope struct {
	Kind string // has no colon; New gives settings to kinds
	Name string // tells scopes of one kind apart; "" where there is only one
}

// String is "ironic" when Name is empty, else "group:rack1".
func (s Scope) String() string {
	if s.Name == "" {
		return s.Kind
	}
	return s.Kind + ":" + s.Name
}

// ParseScope is the inverse of Scope.String; a text that no scope has is an error.
func ParseScope(text string) (Scope, error) {
	kind, name, named := strings.Cut(text, ":")
	if kind == "" || named && name == "" {
		return Scope{}, fmt.Errorf("scope: %q is neither KIND nor KIND:NAME", text)
	}
	return Scope{Kind: kind, Name: name}, nil
}
