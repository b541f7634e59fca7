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

// notes copies releasenotes/vX.Y.Z.md; a release without one is refused.
func (r *release) notes(context.Context) error {
	if !isRelease(r.version) {
		fmt.Fprintf(r.log, "%s is no release (vX.Y.Z): no notes\n", r.version)
		return nil
	}
	text, err := os.ReadFile(filepath.Join(r.root, "releasenotes", r.version+".md"))
	if err != nil {
		return fmt.Errorf("%w (docs/dev/releasing.md)", err)
	}
	return r.write("NOTES.md", text)
}
