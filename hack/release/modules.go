package main

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// moduleInfo is one module of a binary.
type moduleInfo struct {
	path, version string
	sum           string // h1: of go.sum; "" for what is in this repository
	texts         []legalText
}

// legalText is a licence or a notice of a module.
type legalText struct{ name, text string }

// licence is the SPDX expression of all licences of a module.
func (m moduleInfo) licence() string {
	var found []string
	for _, t := range m.texts {
		if notice(t.name) {
			continue
		}
		names := classify(t.text)
		if len(names) == 0 {
			return "NOASSERTION" // a half of the truth is none
		}
		found = append(found, names...)
	}
	slices.Sort(found)
	if len(found) == 0 {
		return "NOASSERTION"
	}
	return strings.Join(slices.Compact(found), " AND ")
}

// findModules reads which modules a binary was built of, and their licences in Go's module cache.
func (r *release) findModules(ctx context.Context, info *buildinfo.BuildInfo) ([]moduleInfo, error) {
	args := []string{"mod", "download", "-json"}
	for _, d := range info.Deps {
		if d.Replace == nil {
			args = append(args, d.Path+"@"+d.Version)
		}
	}
	text, err := r.output(ctx, buildEnv("amd64"), "go", args...)
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{}
	decoder := json.NewDecoder(strings.NewReader(text))
	for {
		var m struct{ Path, Dir, Sum string }
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		dirs[m.Path+" "+m.Sum] = m.Dir
	}
	var modules []moduleInfo
	for _, d := range info.Deps {
		m, dir := moduleInfo{path: d.Path, version: d.Version, sum: d.Sum}, dirs[d.Path+" "+d.Sum]
		if d.Replace != nil { // pkg/api, released with us
			m.version, dir = r.version, r.root
		}
		if dir == "" {
			return nil, fmt.Errorf("%s %s: the module cache has another sum than the binary, %s", d.Path, d.Version, d.Sum)
		}
		if m.texts, err = legalTexts(dir); err != nil {
			return nil, err
		}
		modules = append(modules, m)
	}
	return modules, nil
}

var (
	legalName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)([.-].*)?$`)
	notice    = regexp.MustCompile(`(?i)^notice`).MatchString
)

func legalTexts(dir string) ([]legalText, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found []legalText
	for _, e := range entries {
		if !e.Type().IsRegular() || !legalName.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		found = append(found, legalText{e.Name(), string(text)})
	}
	return found, nil
}

// phrases are sentences that only the text of that licence has; where two match, the module
// has both.
var phrases = []struct{ licence, has, lacks string }{
	{"Apache-2.0", "apache license version 2.0", ""},
	{"BSD-2-Clause", "redistributions in binary form must reproduce the above copyright notice", "neither the name"},
	{"BSD-3-Clause", "neither the name", ""},
	{"ISC", "this software for any purpose with or without fee is hereby granted", ""},
	{"MIT", "permission is hereby granted free of charge to any person obtaining a copy of this software and associated documentation files", ""},
	{"MPL-2.0", "mozilla public license version 2.0", ""},
}

// classify names the licences of a text; none where no phrase is known.
func classify(text string) (licences []string) {
	words := strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.'
	}), " ")
	for _, p := range phrases {
		if strings.Contains(words, p.has) && (p.lacks == "" || !strings.Contains(words, p.lacks)) {
			licences = append(licences, p.licence)
		}
	}
	return licences
}

// licences is the file with the licences and notices of all that the binary contains, as these
// licences ask of whoever passes it on.
func (r *release) licences(p program) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "ironic-throttle %s contains these modules, and the standard library of %s.\n", r.version, p.goVersion)
	all := p.modules
	goroot, err := legalTexts(r.goroot)
	if err != nil {
		return "", err
	}
	for _, m := range append(slices.Clip(all), moduleInfo{path: "Go", version: p.goVersion, texts: goroot}) {
		fmt.Fprintf(&b, "\n%s\n%s %s: %s\n", strings.Repeat("=", 80), m.path, m.version, m.licence())
		for _, t := range m.texts {
			fmt.Fprintf(&b, "\n--- %s\n\n%s\n", t.name, strings.TrimSpace(t.text))
		}
	}
	return b.String(), nil
}
