package released

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// metricNames are the metrics with type and labels, of the scrape that internal/metrics compares.
func metricNames(root string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, "internal", "metrics", "testdata", "metrics.txt"))
	if err != nil {
		return nil, err
	}
	return metricPromises(string(text)), nil
}

var (
	typeLine = regexp.MustCompile(`(?m)^# TYPE (ironic_throttle_\w+) (\w+)\n([^\n]*)`)
	label    = regexp.MustCompile(`(\w+)="`)
)

func metricPromises(text string) (lines []string) {
	for _, m := range typeLine.FindAllStringSubmatch(text, -1) {
		var labels []string
		for _, l := range label.FindAllStringSubmatch(m[3], -1) {
			if l[1] != "le" {
				labels = append(labels, l[1])
			}
		}
		lines = append(lines, fmt.Sprintf("%s %s {%s}", m[1], m[2], strings.Join(labels, ",")))
	}
	return lines
}

// settingNames are the names of each setting in the environment, the file and as a flag.
func settingNames(root string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "settings.md"))
	if err != nil {
		return nil, err
	}
	return settingPromises(string(text)), nil
}

var settingRow = regexp.MustCompile("(?m)^\\| `([A-Z0-9_]+)` \\|\\s*(?:`(\\w+)`)? \\|\\s*(?:`(--[a-z0-9-]+)`)? \\|")

func settingPromises(text string) (lines []string) {
	for _, m := range settingRow.FindAllStringSubmatch(text, -1) {
		lines = append(lines, strings.Join(slices.DeleteFunc(m[1:], func(s string) bool { return s == "" }), " "))
	}
	return lines
}

// commandNames are the commands with their arguments and flags, of the man pages.
func commandNames(root string) (lines []string, err error) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "man", "*.1"))
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		lines = append(lines, commandPromises(string(text))...)
	}
	return lines, err
}

var (
	synopsis = regexp.MustCompile(`(?m)^\.SH SYNOPSIS\n\.B ([^\n]+)`)
	flagTerm = regexp.MustCompile(`(?m)^\.TP\n\.B ((?:-\w, )?--[a-z0-9-]+)(?: \\fI([^\n\\]+)\\fR)?$`)
)

func commandPromises(text string) (lines []string) {
	text = strings.ReplaceAll(text, `\-`, "-")
	head := synopsis.FindStringSubmatch(text)
	if head == nil {
		return nil
	}
	name := strings.TrimSuffix(head[1], " [flags]")
	lines = append(lines, name)
	command, _, _ := strings.Cut(name, " [")
	for _, m := range flagTerm.FindAllStringSubmatch(text, -1) {
		value := "without a value"
		if m[2] != "" {
			value = "with a value"
		}
		lines = append(lines, fmt.Sprintf("%s: %s %s", strings.TrimRight(command, " "), m[1], value))
	}
	return lines
}
