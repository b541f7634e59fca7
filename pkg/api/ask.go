package api

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Bounds of an Ask, in bytes. Longer texts are refused, not cut: a cut name would be another host.
const (
	maxNamespace      = 63  // of a Kubernetes label, which a namespace is
	maxName           = 253 // of a Kubernetes name
	maxConductorGroup = 255 // of Ironic's column
	maxText           = 128 // of everything else: UUIDs, hashes of up to 512 bits in hex, states
)

// maxErrors is the most failures that make a difference.
const maxErrors = 9

// What texts look like. Nothing else is in a name of Kubernetes, nor can it be in that of a node of Ironic, but for
// the '~' that parts namespace and name there. U+FFFD is what stands in for bytes that are no UTF-8.
var (
	uuidForm  = regexp.MustCompile(`^(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	nameForm  = regexp.MustCompile(`^[A-Za-z0-9._-]*$`)
	printable = regexp.MustCompile(`^[^\p{Cc}\x{FFFD}]*$`)
)

const (
	nameRule      = "may hold letters, digits, '-', '.' and '_' only"
	printableRule = "contains a control or an unreadable character"
)

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

// Validate reports the first field of a that cannot be used, as a *FieldError, or nil. Counts are never wrong; see
// Normalize.
func (a Ask) Validate() error {
	switch {
	case a.Op == "":
		return fieldError("op", "", "must be set to one of "+opWords())
	case !slices.Contains(Ops(), a.Op):
		return fieldError("op", string(a.Op), "is not one of "+opWords())
	case a.NodeUUID == "" && a.Name == "":
		return fieldError("name", "", "must be set where nodeUUID is not")
	case a.NodeUUID != "" && !uuidForm.MatchString(a.NodeUUID):
		return fieldError("nodeUUID", a.NodeUUID, "is not a UUID such as 3f2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b")
	}
	for _, f := range []struct {
		name, value string
		max         int
		form        *regexp.Regexp
		rule        string
	}{
		{"namespace", a.Namespace, maxNamespace, nameForm, nameRule},
		{"name", a.Name, maxName, nameForm, nameRule},
		{"uid", a.UID, maxText, printable, printableRule},
		{"bmhState", string(a.BMHState), maxText, printable, printableRule},
		{"specHash", a.SpecHash, maxText, printable, printableRule},
		{"conductorGroup", a.ConductorGroup, maxConductorGroup, printable, printableRule},
	} {
		switch {
		case len(f.value) > f.max:
			return fieldError(f.name, f.value, fmt.Sprintf("is longer than %d bytes", f.max))
		case !f.form.MatchString(f.value):
			return fieldError(f.name, f.value, f.rule)
		}
	}
	return nil
}

// Normalize returns a as the decision sees it: counts within 0..9, UUID and conductor group in lower case, as Ironic
// has them.
func (a Ask) Normalize() Ask {
	a.ErrorCount = min(max(a.ErrorCount, 0), maxErrors)
	a.ProvisioningFailCount = min(max(a.ProvisioningFailCount, 0), maxErrors)
	a.NodeUUID = strings.ToLower(a.NodeUUID)
	a.ConductorGroup = strings.ToLower(a.ConductorGroup)
	return a
}

func opWords() string {
	var words []string
	for _, op := range Ops() {
		words = append(words, string(op))
	}
	return strings.Join(words, ", ")
}
