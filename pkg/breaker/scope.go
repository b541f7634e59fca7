package breaker

import (
	"fmt"
	"strings"
)

// Scope is what fails and recovers together: a whole Ironic, a conductor group, an
// image. It is a value key: ("a-b", "c") and ("a", "b-c") are two scopes (CB-24).
type Scope struct {
	// Kind is the sort of scope; New gives settings to kinds.
	Kind string
	// Name tells scopes of one kind apart; "" where there is only one.
	Name string
}

// Only the kind is escaped, since the first colon ends it.
var (
	escapeKind   = strings.NewReplacer("%", "%25", ":", "%3A")
	unescapeKind = strings.NewReplacer("%25", "%", "%3A", ":")
)

// String is "ironic" when Name is empty, else "group:rack1". A ':' in Kind is
// written %3A and a '%' there %25, so distinct scopes have distinct texts.
func (s Scope) String() string {
	kind := escapeKind.Replace(s.Kind)
	if s.Name == "" {
		return kind
	}
	return kind + ":" + s.Name
}

// ParseScope is the inverse of Scope.String; a text that no scope has is an error.
func ParseScope(text string) (Scope, error) {
	kind, name, named := strings.Cut(text, ":")
	if named && name == "" {
		return Scope{}, fmt.Errorf("scope: %q ends in a colon, want KIND or KIND:NAME", text)
	}
	s := Scope{Kind: unescapeKind.Replace(kind), Name: name}
	if s.String() != text {
		return Scope{}, fmt.Errorf("scope: %q has a %% in its kind that is neither %%25 nor %%3A", text)
	}
	return s, nil
}
