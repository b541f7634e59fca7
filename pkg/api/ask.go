package api

import (
	"fmt"
	"strings"
	"unicode"
)

// Bounds of an Ask, in bytes. Longer texts are refused, not cut: a cut name
// would be another host.
const (
	maxNamespace      = 63  // of a Kubernetes label, which a namespace is
	maxName           = 253 // of a Kubernetes name
	maxConductorGroup = 255 // of Ironic's column
	maxText           = 128 // of everything else: UUIDs, hashes of up to 512 bits in hex, states
)

// maxErrors is the most failures that make a difference.
const maxErrors = 9

// FieldError says what is wrong with one field of an Ask.
type FieldError struct {
	Field string // as in the JSON, such as "nodeUUID"
	Value string // as given, shortened
	Rule  string // what it breaks
}

// Error names field, value and rule.
func (e *FieldError) Error() string {
	if e.Value == "" {
		return e.Field + ": " + e.Rule
	}
	return fmt.Sprintf("%s: %q %s", e.Field, e.Value, e.Rule)
}

// fieldError is a FieldError that shows at most a line of value.
func fieldError(field, value, rule string) error {
	const shown = 64
	if len(value) > shown {
		value = value[:shown] + "..."
	}
	return &FieldError{Field: field, Value: value, Rule: rule}
}

// Validate reports the first field of a that cannot be used, as a *FieldError,
// or nil. Counts are never wrong; see Normalize.
func (a Ask) Validate() error {
	switch {
	case a.Op == "":
		return fieldError("op", "", "must be set to one of "+opWords())
	case !a.Op.Valid():
		return fieldError("op", string(a.Op), "is not one of "+opWords())
	case a.NodeUUID == "" && a.Name == "":
		return fieldError("name", "", "must be set where nodeUUID is not")
	case a.NodeUUID != "" && !isUUID(a.NodeUUID):
		return fieldError("nodeUUID", a.NodeUUID, "is not a UUID such as 3f2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b")
	}
	for _, f := range []struct {
		name, value string
		max         int
		isName      bool // becomes part of a node's name
	}{
		{"namespace", a.Namespace, maxNamespace, true},
		{"name", a.Name, maxName, true},
		{"uid", a.UID, maxText, false},
		{"bmhState", string(a.BMHState), maxText, false},
		{"specHash", a.SpecHash, maxText, false},
		{"conductorGroup", a.ConductorGroup, maxConductorGroup, false},
	} {
		switch {
		case len(f.value) > f.max:
			return fieldError(f.name, f.value, fmt.Sprintf("is longer than %d bytes", f.max))
		case strings.ContainsFunc(f.value, unprintable):
			return fieldError(f.name, f.value, "contains a control or an unreadable character")
		case f.isName && strings.ContainsFunc(f.value, notInNames):
			return fieldError(f.name, f.value, "may hold letters, digits, '-', '.' and '_' only")
		}
	}
	return nil
}

// Normalize returns a as the decision sees it: counts within 0..9, UUID
// and conductor group in lower case, as Ironic has them.
func (a Ask) Normalize() Ask {
	a.ErrorCount = min(max(a.ErrorCount, 0), maxErrors)
	a.ProvisioningFailCount = min(max(a.ProvisioningFailCount, 0), maxErrors)
	a.NodeUUID = strings.ToLower(a.NodeUUID)
	a.ConductorGroup = strings.ToLower(a.ConductorGroup)
	return a
}

// unprintable is what has no place in a name: control characters, and what
// stands in for bytes that were no UTF-8.
func unprintable(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }

// notInNames is what no object of Kubernetes has in its name, and no node of
// Ironic can have, but for the '~' that parts namespace and name there.
func notInNames(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_'
}

func opWords() string {
	var words []string
	for _, op := range Ops() {
		words = append(words, string(op))
	}
	return strings.Join(words, ", ")
}

// isUUID reports whether s has the form 8-4-4-4-12 of hexadecimal digits.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
		default:
			return false
		}
	}
	return true
}
