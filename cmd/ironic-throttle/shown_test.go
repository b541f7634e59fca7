package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/lab"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// usersPages are the pages that people copy from, by name.
func usersPages(t *testing.T) map[string]string {
	t.Helper()
	top := filepath.Join("..", "..")
	pages := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "deploy/*.md", "deploy/*/*/*.md", ".github/*.md"} {
		files, err := filepath.Glob(filepath.Join(top, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name, err := filepath.Rel(top, file)
			if err != nil {
				t.Fatal(err)
			}
			if name != "CHANGELOG.md" { // which tells of former times
				pages[name] = string(text)
			}
		}
	}
	return pages
}

// shownCommand is a command line of ours: in a console block, or in the text.
var shownCommand = regexp.MustCompile("(?m)(?:^\\$ |^  +|`|[|&;(] ?|-- )(?:[A-Z_]+=\\S+ )*" +
	"(?:bin/|/)?ironic-throttle(-lab)?((?: (?:[^`\n\\\\#|&;)]|\\\\\n)*)?)(?:$|[`#|&;)])")

// parses reports what is wrong with a command line.
func parses(program func(*cli.Process) *cobra.Command, line string) error {
	line = strings.ReplaceAll(line, "\\\n", " ")
	words := strings.Fields(strings.NewReplacer("'", "", `"`, "").Replace(line))
	if at := slices.Index(words, ">"); at >= 0 {
		words = words[:at]
	}
	root := program(&cli.Process{})
	root.InitDefaultCompletionCmd(words...)
	cmd, args, err := root.Find(words)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(args); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// TestEveryCommandThatIsShownCanBeGiven: whoever pastes it gets no usage error.
func TestEveryCommandThatIsShownCanBeGiven(t *testing.T) {
	texts := usersPages(t)
	for _, cmd := range allCommands() {
		texts[cmd.CommandPath()+" --help"] = cmd.Example + "\n"
	}
	seen := map[string]bool{}
	for page, text := range texts {
		for _, m := range shownCommand.FindAllStringSubmatch(text, -1) {
			line, program := strings.TrimSpace(m[2]), root
			if m[1] != "" {
				program = lab.Root
			}
			if strings.ContainsAny(line, "…[") || strings.Contains(line, "COMMAND") {
				continue // a pattern, or what is left out
			}
			seen[line] = true
			if err := parses(program, line); err != nil {
				t.Errorf("%s: ironic-throttle%s %s: %v", page, m[1], line, err)
			}
		}
	}
	if len(seen) < 35 {
		t.Errorf("found only %d commands: the search is broken: %q", len(seen), slices.Sorted(maps.Keys(seen)))
	}
	for _, wrong := range []string{
		"chek", "status --wach", "holds release", "check --error-count many", "breakers rset ironic", "demo",
	} {
		if parses(root, wrong) == nil {
			t.Errorf("%s: is no command, and nobody notices", wrong)
		}
	}
}

// allCommands are those of both programs.
func allCommands() []*cobra.Command {
	all := []*cobra.Command{root(&cli.Process{}), lab.Root(&cli.Process{})}
	for i := 0; i < len(all); i++ {
		all = append(all, all[i].Commands()...)
	}
	return all
}

// TestEveryFlagThatIsNamedIs: a page that names one in its text means one of ours.
func TestEveryFlagThatIsNamedIs(t *testing.T) {
	known := map[string]bool{"help": true}
	for _, cmd := range allCommands() {
		for _, fs := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
			fs.VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
		}
	}
	found := 0
	for page, text := range usersPages(t) {
		for _, m := range regexp.MustCompile("`--([a-z][a-z-]+)[ =`]").FindAllStringSubmatch(text, -1) {
			found++
			if !known[m[1]] {
				t.Errorf("%s: no command has --%s", page, m[1])
			}
		}
	}
	if found < 25 {
		t.Errorf("found only %d flags: the search is broken", found)
	}
}

// TestTroubleshootingHasEveryReason: an answer sends its reader there.
func TestTroubleshootingHasEveryReason(t *testing.T) {
	text := usersPages(t)[filepath.Join("docs", "troubleshooting.md")]
	for _, r := range api.Reasons() {
		if !strings.Contains(text, "\n| `"+string(r)+"` | ") {
			t.Errorf("docs/troubleshooting.md has no row for %s", r)
		}
	}
}
