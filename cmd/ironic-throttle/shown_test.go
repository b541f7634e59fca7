package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/internal/statusview"
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
var shownCommand = regexp.MustCompile("(?m)(?:^\\$ |^  +|`|[|&;(] ?|-- )(?:[A-Z_]+=\\S+ )*(?:bin/|/)?ironic-throttle((?: (?:[^`\n\\\\#|&;)]|\\\\\n)*)?)(?:$|[`#|&;)])")

// parses reports what is wrong with a command line.
func parses(line string) error {
	line = strings.ReplaceAll(line, "\\\n", " ")
	words := strings.Fields(strings.NewReplacer("'", "", `"`, "").Replace(line))
	if at := slices.Index(words, ">"); at >= 0 {
		words = words[:at]
	}
	root := (&process{}).rootCommand()
	root.InitDefaultCompletionCmd(words...)
	cmd, args, err := root.Find(words)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(args); err != nil {
		return flagError(cmd, err)
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// TestEveryCommandThatIsShownCanBeGiven: whoever pastes it gets no usage error.
func TestEveryCommandThatIsShownCanBeGiven(t *testing.T) {
	texts := usersPages(t)
	var examples func(cmd *cobra.Command)
	examples = func(cmd *cobra.Command) {
		texts[cmd.CommandPath()+" --help"] = cmd.Example + "\n"
		for _, sub := range cmd.Commands() {
			examples(sub)
		}
	}
	examples((&process{}).rootCommand())
	seen := map[string]bool{}
	for page, text := range texts {
		for _, m := range shownCommand.FindAllStringSubmatch(text, -1) {
			line := strings.TrimSpace(m[1])
			if strings.ContainsAny(line, "…[") || strings.Contains(line, "COMMAND") {
				continue // a pattern, or what is left out
			}
			seen[line] = true
			if err := parses(line); err != nil {
				t.Errorf("%s: ironic-throttle %s: %v", page, line, err)
			}
		}
	}
	if len(seen) < 50 {
		t.Errorf("found only %d commands: the search is broken: %q", len(seen), slices.Sorted(maps.Keys(seen)))
	}
	for _, wrong := range []string{"chek", "status --wach", "holds release", "check --error-count many", "breakers rset ironic"} {
		if parses(wrong) == nil {
			t.Errorf("%s: is no command, and nobody notices", wrong)
		}
	}
}

// allFlags are those of cmd and of the commands below it, with their defaults.
func allFlags(cmd *cobra.Command) map[string][]string {
	defaults := map[string][]string{}
	for _, fs := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		fs.VisitAll(func(f *pflag.Flag) { defaults[f.Name] = append(defaults[f.Name], f.DefValue) })
	}
	for _, sub := range cmd.Commands() {
		for name, more := range allFlags(sub) {
			defaults[name] = append(defaults[name], more...)
		}
	}
	return defaults
}

// TestDefaultsThatAreShownAre compares the tables and numbers of docs/commands.md with the
// program, and its settings with docs/settings.md, which is made of it.
func TestDefaultsThatAreShownAre(t *testing.T) {
	pages := usersPages(t)
	page := pages[filepath.Join("docs", "commands.md")]
	flags := allFlags((&process{}).rootCommand())
	rows := regexp.MustCompile("(?m)^\\| `(?:--([a-z-]+)|([A-Z_]+))`[^|]*\\| ([^|]*) \\|").FindAllStringSubmatch(page, -1)
	for _, row := range rows {
		flag, setting, shown := row[1], row[2], row[3]
		fits := func(def string) bool { return strings.Contains(shown, def) }
		if flag != "" && !slices.ContainsFunc(flags[flag], fits) {
			t.Errorf("--%s: the default is one of %q, and shown as %q", flag, flags[flag], shown)
		}
		if setting != "" {
			m := regexp.MustCompile("(?m)^\\| `" + setting + "` \\|[^|]*\\|[^|]*\\| ([^|]*) \\|").FindStringSubmatch(pages[filepath.Join("docs", "settings.md")])
			if len(m) < 2 || !fits(m[1]) {
				t.Errorf("%s: the default is %q, and shown as %q", setting, m, shown)
			}
		}
	}
	if len(rows) < 10 {
		t.Errorf("found %d defaults: the search is broken", len(rows))
	}
	flat := strings.Join(strings.Fields(page), " ")
	for _, number := range []string{
		fmt.Sprintf("every `--interval` (%s s)", strings.TrimSuffix(flags["interval"][0], "s")),
		fmt.Sprintf("waits %d s at most", int(api.DefaultTimeout.Seconds())),
		fmt.Sprintf("%d hosts of each pool, or `--limit` (up to %d,000)", statusview.QueueRows, maxQueueRows/1000),
		fmt.Sprintf("Listens on `--listen` (%s)", flags["listen"][0]),
		"| " + strconv.Itoa(exitYes) + " | yes", "| " + strconv.Itoa(exitNo) + " | no", "| " + strconv.Itoa(exitUse) + " | wrong use",
		"| " + strconv.Itoa(exitUnreachable) + " | the throttle or Ironic could not be reached",
	} {
		if !strings.Contains(flat, number) {
			t.Errorf("docs/commands.md lacks %q", number)
		}
	}
}

// TestEveryFlagThatIsNamedIs: a page that names one in its text means one of ours.
func TestEveryFlagThatIsNamedIs(t *testing.T) {
	known := allFlags((&process{}).rootCommand())
	known["help"] = nil
	found := 0
	for page, text := range usersPages(t) {
		for _, m := range regexp.MustCompile("`--([a-z][a-z-]+)[ =`]").FindAllStringSubmatch(text, -1) {
			found++
			if _, ok := known[m[1]]; !ok {
				t.Errorf("%s: no command has --%s", page, m[1])
			}
		}
	}
	if found < 50 {
		t.Errorf("found only %d flags: the search is broken", found)
	}
}

// TestEveryMetricThatIsNamedIs: docs/metrics.md has all, and a test of its own.
func TestEveryMetricThatIsNamedIs(t *testing.T) {
	pages := usersPages(t)
	found := 0
	for page, text := range pages {
		for _, name := range regexp.MustCompile(`\bironic_throttle_[a-z_]+[a-z]\b`).FindAllString(text, -1) {
			name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count"), "_sum")
			if found++; !strings.Contains(pages[filepath.Join("docs", "metrics.md")], "`"+name+"`") {
				t.Errorf("%s: %s is not in docs/metrics.md", page, name)
			}
		}
	}
	if found < 60 {
		t.Errorf("found only %d metrics: the search is broken", found)
	}
}
