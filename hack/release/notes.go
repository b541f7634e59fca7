package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// released matches a version that gets a tag; anything else is a try.
var released = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$`)

// isRelease tells a tag from what git describe says of a commit after one, v1.2.3-4-gabcdef.
func isRelease(version string) bool {
	return released.MatchString(version) && !regexp.MustCompile(`-\d+-g[0-9a-f]+`).MatchString(version) && !strings.HasSuffix(version, "-dirty")
}

// notes writes the section of CHANGELOG.md that the release has; a release without one is refused.
func (r *release) notes(context.Context) error {
	if !isRelease(r.version) {
		fmt.Fprintf(r.log, "%s is no release (vX.Y.Z): no notes\n", r.version)
		return nil
	}
	text, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	section := changes(string(text), r.version)
	if section == "" {
		return fmt.Errorf("CHANGELOG.md has no lines below %q (docs/dev/releasing.md)", "## "+r.version)
	}
	return r.write("NOTES.md", []byte(section+"\n"))
}

// changes is what a changelog says of one version.
func changes(text, version string) string {
	for section := range strings.SplitSeq("\n"+text, "\n## ") {
		title, lines, _ := strings.Cut(section, "\n")
		if name, _, _ := strings.Cut(title, " "); name == version {
			return strings.TrimSpace(lines)
		}
	}
	return ""
}
