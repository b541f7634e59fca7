package released

import (
	"path/filepath"
	"regexp"
)

// states are what is kept beyond a process: the types that are written, with the names of their fields,
// and names in the cluster. A field that goes, or means something else, needs another version of the form.
var states = map[string]*regexp.Regexp{
	"pkg/holdoff":         regexp.MustCompile(`^(type (Record|EpisodeRecord) struct, |const RecordVersion |const \w+ Kind )`),
	"pkg/sizing":          regexp.MustCompile(`^(type (State|Record|Window) struct, |const StateVersion )`),
	"internal/disrupt":    regexp.MustCompile(`^(type (Command|Target|Pool) struct, |const (Annotation|Label|Taint)\w+ )`),
	"internal/kube/hosts": regexp.MustCompile(`^const \w+Annotation `),
}

// stateForms are the lines of these.
func stateForms(root string) (lines []string, err error) {
	for dir, wanted := range states {
		pkg, err := loadPackage(filepath.Join(root, filepath.FromSlash(dir)))
		if err != nil {
			return nil, err
		}
		for _, line := range promises(pkg) {
			if wanted.MatchString(line) {
				lines = append(lines, dir+": "+line)
			}
		}
	}
	return lines, nil
}
