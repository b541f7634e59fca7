package classify

import "io"

// Bounds that tests come near to.
const (
	MaxText    = maxText
	MaxForm    = maxForm
	MaxTargets = maxTargets
	MaxScan    = maxScan
)

// Found are the targets that one part of a request names; Unsure: there may be others.
type Found struct {
	Targets []string
	Unsure  bool
}

// Add keeps one more.
func (f *Found) Add(target string) {
	c := candidates{f.Targets, f.Unsure}
	c.add(target)
	f.Targets, f.Unsure = c.targets, c.unsure
}

// Scan reads a JSON object.
func Scan(r io.Reader) (Found, error) {
	var c candidates
	err := scanObject(r, &c)
	return Found{c.targets, c.unsure}, err
}

// ReadForm reads a query or a form.
func ReadForm(text string) Found {
	var c candidates
	readForm(text, &c)
	return Found{c.targets, c.unsure}
}
