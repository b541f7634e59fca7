package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manDir is where packagers find the manual pages.
var manDir = filepath.Join("..", "..", "docs", "man")

// TestManPagesAreUpToDate holds docs/man to the commands and their flags. UPDATE_DOCS=1 renews
// it: UPDATE_DOCS=1 go test ./cmd/ironic-throttle -run ManPages.
func TestManPagesAreUpToDate(t *testing.T) {
	root := (&process{}).rootCommand()
	root.InitDefaultCompletionCmd("")
	want := map[string]string{}
	manPages(root, want)
	if len(want) < 15 {
		t.Errorf("only %d pages: the search is broken", len(want))
	}
	files, err := filepath.Glob(filepath.Join(manDir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE_DOCS") != "" {
		for _, file := range files {
			if want[filepath.Base(file)] == "" {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			}
		}
		for name, text := range want {
			if err := os.WriteFile(filepath.Join(manDir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	got := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got[filepath.Base(file)] = string(text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/man (-program +files):\n%s", diff)
	}
}

// manPages adds the page of cmd and those of the commands below it.
func manPages(cmd *cobra.Command, pages map[string]string) {
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	var b strings.Builder
	fmt.Fprintf(&b, ".\\\" Made of the commands of the program: UPDATE_DOCS=1 go test ./cmd/ironic-throttle -run ManPages\n")
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"ironic-throttle\" \"User Commands\"\n", strings.ToUpper(name))
	b.WriteString(".nh\n.ad l\n") // a name that is broken cannot be pasted
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(cmd.Short))
	use := strings.TrimSuffix(cmd.UseLine(), " [flags]")
	if cmd.HasAvailableSubCommands() {
		use += " [command]"
	}
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s [flags]\n", roff(use))
	b.WriteString(".SH DESCRIPTION\n" + paragraphs(cmd.Long))
	var basic, advanced []*pflag.Flag
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Name == "help":
		case f.Hidden:
			advanced = append(advanced, f)
		default:
			basic = append(basic, f)
		}
	})
	writeFlags(&b, "OPTIONS", basic)
	writeFlags(&b, "ADVANCED OPTIONS", advanced)
	var inherited []*pflag.Flag
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { inherited = append(inherited, f) })
	writeFlags(&b, "COMMON OPTIONS", inherited)
	var near []string
	if cmd.HasParent() {
		near = append(near, strings.ReplaceAll(cmd.Parent().CommandPath(), " ", "-"))
	}
	var commands strings.Builder
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			fmt.Fprintf(&commands, ".TP\n.B %s\n%s\n", roff(sub.Use), roff(sub.Short))
			if cmd.Name() != "completion" { // which tells all there is to say
				near = append(near, name+"-"+sub.Name())
				manPages(sub, pages)
			}
		}
	}
	if commands.Len() > 0 {
		b.WriteString(".SH COMMANDS\n" + commands.String())
	}
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n" + example(cmd.Example))
	}
	if len(near) > 0 {
		for i, other := range near {
			near[i] = ".BR " + roff(other) + " (1)"
		}
		b.WriteString(".SH SEE ALSO\n" + strings.Join(near, "\n") + "\n")
	}
	pages[name+".1"] = b.String()
}

func writeFlags(b *strings.Builder, title string, flags []*pflag.Flag) {
	if len(flags) == 0 {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	for _, f := range flags {
		value, usage := pflag.UnquoteUsage(f)
		term := "--" + f.Name
		if f.Shorthand != "" {
			term = "-" + f.Shorthand + ", " + term
		}
		fmt.Fprintf(b, ".TP\n.B %s", roff(term))
		if value != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", roff(value))
		}
		if !slices.Contains([]string{"", "false", "0", "0s", "[]"}, f.DefValue) {
			usage += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(b, "\n%s\n", roff(usage))
	}
}

// paragraphs are texts of help: those that are indented stay as they are.
func paragraphs(text string) string {
	var out []string
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if strings.HasPrefix(part, "\t") || strings.HasPrefix(part, "  ") {
			out = append(out, example(part))
			continue
		}
		var lines []string
		for line := range strings.SplitSeq(part, "\n") {
			lines = append(lines, roff(line))
		}
		out = append(out, strings.Join(lines, "\n")+"\n")
	}
	return strings.Join(out, ".PP\n")
}

func example(text string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		lines = append(lines, roff(strings.TrimPrefix(strings.TrimPrefix(line, "\t"), "  ")))
	}
	return ".nf\n" + strings.Join(lines, "\n") + "\n.fi\n"
}

// roff is text in which nothing is a command to the typesetter.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}

func TestRoff(t *testing.T) {
	for text, want := range map[string]string{
		"--for a\\b": `\-\-for a\eb`, ".TH is no command": `\&.TH is no command`, "'holds' shows it": `\&'holds' shows it`,
	} {
		if got := roff(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	pages := map[string]string{}
	manPages((&process{}).rootCommand(), pages)
	if !slices.Contains(slices.Collect(maps.Keys(pages)), "ironic-throttle-holds-release.1") {
		t.Errorf("no page of a command below another: %q", slices.Sorted(maps.Keys(pages)))
	}
}
