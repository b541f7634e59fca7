package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// buildInfo says what this binary was built from.
type buildInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the tree had changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

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

func (p *process) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "print the version", Args: cobra.NoArgs,
		Long: "Prints version, commit, Go version and platform of this binary.",
		RunE: func(*cobra.Command, []string) error { return p.printVersion() },
	}
}

func (p *process) printVersion() error {
	b := build()
	if p.json {
		return p.printJSON(b)
	}
	commit := ""
	if b.Commit != "" {
		commit = " commit " + b.Commit
	}
	if b.Modified {
		commit += " (modified)"
	}
	return p.print(fmt.Sprintf("ironic-throttle %s%s %s %s\n", b.Version, commit, b.Go, b.Platform))
}
