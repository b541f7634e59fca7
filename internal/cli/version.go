package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version and commit are set by the linker (-X github.com/ironic-throttle/ironic-throttle/internal/cli.version=…).
var version, commit string

// buildInfo says what this binary was built from.
type buildInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the tree had changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Version is the version of this binary: the release, the commit, or dev.
func Version() string { return build().Version }

// build reads what the linker was told, and else what Go itself noted.
func build() buildInfo {
	b := buildInfo{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
		if b.Version == "" && info.Main.Version != "(devel)" {
			b.Version = info.Main.Version
		}
	}
	if b.Version == "" {
		b.Version = "dev"
	}
	if commit != "" { // a release is built without what Go notes of the tree
		b.Commit, b.Modified = commit, false
	}
	return b
}

func (p *Process) printVersion(program string) error {
	b := build()
	if p.JSON {
		return p.PrintJSON(b)
	}
	commit := ""
	if b.Commit != "" {
		commit = " commit " + b.Commit
	}
	if b.Modified {
		commit += " (modified)"
	}
	return p.Print(fmt.Sprintf("%s %s%s %s %s\n", program, b.Version, commit, b.Go, b.Platform))
}
