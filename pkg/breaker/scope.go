package breaker

import (
	"fmt"
	"strings"
)

// Scope names what fails and recovers together: a whole Ironic, a conductor group, an image.
type Scope struct {
	Kind string // without a colon; all scopes of a kind have the same settings
	Name string // tells scopes of one kind apart; "" if there is only one
}

// String returns Kind if Name is empty, as "ironic", else Kind:Name, as "group:rack1".
func (s Scope) String() string {
	if s.Name == "" {
		return s.Kind
	}
	return s.Kind + ":" + s.Name
}

// ParseScope reads what Scope.String returns. It returns an error if Kind is empty, or Name is after a colon.
func ParseScope(text string) (Scope, error) {
	kind, name, named := strings.Cut(text, ":")
	if kind == "" || named && name == "" {
		return Scope{}, fmt.Errorf("scope: %q is neither KIND nor KIND:NAME", text)
	}
	return Scope{Kind: kind, Name: name}, nil
}
