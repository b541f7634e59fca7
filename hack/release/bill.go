package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

const product = "github.com/ironic-throttle/ironic-throttle"

// moduleInfo is one module of a binary; the first is the product itself, the second Go's standard library.
type moduleInfo struct {
	path, version string
	texts         map[string]string // its licences and notices, by the name of their file
}

// findModules reads which modules a binary was built of, and their licences in Go's module cache.
func (r *release) findModules(ctx context.Context, arch string, info *buildinfo.BuildInfo) ([]moduleInfo, error) {
	const format = "{{with .Module}}{{.Path}}\t{{.Dir}}{{end}}"
	list, err := r.output(ctx, buildEnv(arch), "go", "list", "-deps", "-f", format, "./cmd/ironic-throttle")
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{}
	for line := range strings.SplitSeq(list, "\n") {
		path, dir, _ := strings.Cut(line, "\t")
		dirs[path] = dir
	}
	if dirs["stdlib"], err = r.output(ctx, buildEnv(arch), "go", "env", "GOROOT"); err != nil {
		return nil, err
	}
	modules := []moduleInfo{{path: product, version: r.version}, {path: "stdlib", version: info.GoVersion}}
	for _, d := range info.Deps {
		if d.Replace != nil { // pkg/api, released with us
			d.Version, dirs[d.Path] = r.version, r.root
		}
		modules = append(modules, moduleInfo{path: d.Path, version: d.Version})
	}
	for i, m := range modules {
		if modules[i].texts, err = legalTexts(dirs[m.path]); err != nil {
			return nil, fmt.Errorf("%s: %w", m.path, err)
		}
	}
	return modules, nil
}

func legalTexts(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, e := range entries {
		if !e.Type().IsRegular() || !regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)([.-].*)?$`).MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		found[e.Name()] = string(text)
	}
	return found, nil
}

// phrases are sentences that only the text of that licence has; where two match, the module has both.
var phrases = map[string]string{
	"Apache-2.0":   "apache license version 2.0",
	"BSD-2-Clause": "redistributions in binary form must reproduce the above copyright notice", // and BSD-3-Clause
	"ISC":          "this software for any purpose with or without fee is hereby granted",
	"MIT":          "permission is hereby granted free of charge to any person obtaining a copy of this software",
	"MPL-2.0":      "mozilla public license version 2.0",
}

// licences names those of a module; none where one of its texts has no phrase that is known: half of the truth is none.
func (m moduleInfo) licences() (found []string) {
	for file, text := range m.texts {
		if strings.EqualFold(file[:min(6, len(file))], "notice") {
			continue
		}
		words := strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.'
		}), " ")
		before := len(found)
		for licence, phrase := range phrases {
			if licence == "BSD-2-Clause" && strings.Contains(words, "neither the name") {
				licence = "BSD-3-Clause"
			}
			if strings.Contains(words, phrase) {
				found = append(found, licence)
			}
		}
		if len(found) == before {
			return nil
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// licences is the file with the licences and notices of all that the binary contains, as these
// licences ask of whoever passes it on.
func licences(p program) []byte {
	var b bytes.Buffer
	for _, m := range p.modules[1:] {
		fmt.Fprintf(&b, "%s\n%s %s: %s\n", strings.Repeat("=", 80), m.path, m.version, strings.Join(m.licences(), " AND "))
		for _, file := range slices.Sorted(maps.Keys(m.texts)) {
			fmt.Fprintf(&b, "\n--- %s\n\n%s\n", file, strings.TrimSpace(m.texts[file]))
		}
	}
	return b.Bytes()
}

// bill lists what p consists of, as CycloneDX.
func (r *release) bill(p program) ([]byte, error) {
	var all []cdx.Component
	var refs []string
	for _, m := range p.modules {
		purl := "pkg:golang/" + m.path + "@" + m.version
		var licences cdx.Licenses
		for _, id := range m.licences() {
			licences = append(licences, cdx.LicenseChoice{License: &cdx.License{ID: id}})
		}
		refs = append(refs, purl)
		all = append(all, cdx.Component{
			BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: m.path, Version: m.version, PackageURL: purl,
			Licenses: &licences,
		})
	}
	main, rest, below := all[0], all[1:], refs[1:]
	main.Type = cdx.ComponentTypeApplication
	main.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sha256.Sum256(p.binary))}}
	main.Properties = &[]cdx.Property{{Name: "commit", Value: r.commit}}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: r.date.Format(time.RFC3339), Component: &main}
	bom.Components = &rest
	bom.Dependencies = &[]cdx.Dependency{{Ref: refs[0], Dependencies: &below}}
	var b bytes.Buffer
	err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	return b.Bytes(), err
}
