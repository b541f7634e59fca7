package archtest

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The licences that a module may have: one that is in the program, and one that only tests need.
var (
	allowed        = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"}
	allowedInTests = append([]string{"MPL-2.0"}, allowed...)
)

// dependency is a module that is compiled in.
type dependency struct {
	dir     string
	product bool // and not by tests alone
}

// dependencies are what the program and its tests are built of, without what is ours.
func dependencies(t *testing.T) map[string]dependency {
	t.Helper()
	found := map[string]dependency{}
	for _, args := range [][]string{{"-test", "./..."}, {"./cmd/ironic-throttle"}} {
		args = append([]string{"list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Dir}}{{end}}"}, args...)
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = root(t), append(os.Environ(), "GOWORK=off", "GOPROXY=off", "GOFLAGS=-mod=readonly")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go %s: %v", strings.Join(args, " "), err)
		}
		for line := range strings.Lines(string(out)) {
			module, dir, ok := strings.Cut(strings.TrimSpace(line), "\t")
			if ok && !strings.HasPrefix(module, "github.com/ironic-throttle/") {
				found[module] = dependency{dir, len(args) == 5 && args[4] == "./cmd/ironic-throttle"}
			}
		}
	}
	return found
}

// marks are what only the text of that licence has, with single spaces.
var marks = map[string]*regexp.Regexp{
	"Apache-2.0": regexp.MustCompile(`Apache License,? Version 2\.0`),
	"MIT":        regexp.MustCompile(`Permission is hereby granted, free of charge`),
	"ISC":        regexp.MustCompile(`Permission to use, copy, modify, and/?(or)? distribute this software for any purpose`),
	"MPL-2.0":    regexp.MustCompile(`Mozilla Public License,? [Vv](ersion|\.) ?2\.0`),
	"GPL":        regexp.MustCompile(`GNU (LESSER |AFFERO )?GENERAL PUBLIC LICENSE`),
	"BSL":        regexp.MustCompile(`Business Source License`),
}

// licencesIn are those whose text stands in a file.
func licencesIn(text string) (all []string) {
	text = strings.Join(strings.Fields(text), " ")
	for name, mark := range marks {
		if mark.MatchString(text) {
			all = append(all, name)
		}
	}
	if strings.Contains(text, "Redistribution and use in source and binary forms") {
		name := "BSD-2-Clause"
		if regexp.MustCompile(`(?i)neither the names? of`).MatchString(text) {
			name = "BSD-3-Clause"
		}
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// licences are those of the module in dir.
func licences(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	for _, e := range entries {
		if name := strings.ToUpper(e.Name()); !e.IsDir() && (strings.HasPrefix(name, "LICEN") || strings.HasPrefix(name, "COPYING")) {
			b, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			text.Write(b)
		}
	}
	return licencesIn(text.String()), nil
}

// TestLicences: every module that is compiled in has a licence that we may pass on.
func TestLicences(t *testing.T) {
	all := dependencies(t)
	for _, module := range slices.Sorted(maps.Keys(all)) {
		d := all[module]
		has, err := licences(d.dir)
		if err != nil {
			t.Fatal(err)
		}
		may := allowedInTests
		if d.product {
			may = allowed
		}
		for _, l := range has {
			if !slices.Contains(may, l) {
				t.Errorf("%s has the licence %s, allowed are %s", module, l, strings.Join(may, ", "))
			}
		}
		if len(has) == 0 {
			t.Errorf("%s has no licence that is known: read it, and teach this test its text", module)
		}
	}
	if len(all) < 30 {
		t.Errorf("found %d modules: the search is broken", len(all))
	}
}

func TestLicencesIn(t *testing.T) {
	for text, want := range map[string]string{
		"                                 Apache License\n                           Version 2.0, January 2004\n":                           "Apache-2.0",
		"Permission is hereby granted, free\nof charge, to any person":                                                                      "MIT",
		"Redistribution and use in source and binary forms … Neither the name of Google Inc.":                                               "BSD-3-Clause",
		"Redistribution and use in source and binary forms":                                                                                 "BSD-2-Clause",
		"Mozilla Public License Version 2.0":                                                                                                "MPL-2.0",
		"GNU GENERAL PUBLIC LICENSE Version 3":                                                                                              "GPL",
		"Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee … Permission is hereby given": "ISC",
		"All rights reserved.": "",
	} {
		if got := strings.Join(licencesIn(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
