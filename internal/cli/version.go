package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// The linker sets version and commit (-X github.com/ironic-throttle/ironic-throttle/internal/cli.version=…).
var version, commit string

type buildInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Version returns the version of this binary: the release, the pseudo-version that Go made of the commit, or dev.
func Version() string { return build().Version }

// build reads what the linker has set, else what Go itself has noted.
func build() buildInfo {
	b := buildInfo{Version: version, Commit: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		if b.Version == "" && info.Main.Version != "(devel)" {
			b.Version = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Commit = cmp.Or(b.Commit, s.Value)
			}
		}
	}
	b.Version = cmp.Or(b.Version, "dev")
	return b
}

func (p *Process) printVersion(program string) error {
	b := build()
	if p.JSON {
		return p.PrintJSON(b)
	}
	commit := cmp.Or(b.Commit, "unknown")
	return p.Print(fmt.Sprintf("%s %s commit %s %s %s\n", program, b.Version, commit, b.Go, b.Platform))
}
