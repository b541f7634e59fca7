package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// shipped is the binary in the archive.
func shipped(t *testing.T) []byte {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(built(t, forArch(".tar.gz"))))
	if err != nil {
		t.Fatal(err)
	}
	_, contents := unpacked(t, plain)
	return contents[forArch("")+"/ironic-throttle"]
}

func bill(t *testing.T) spdxDocument {
	t.Helper()
	var d spdxDocument
	decoder := json.NewDecoder(bytes.NewReader(built(t, forArch(".spdx.json"))))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestTheBillListsExactlyTheModulesOfTheBinary: the one that is in the archive.
func TestTheBillListsExactlyTheModulesOfTheBinary(t *testing.T) {
	binary := shipped(t)
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{info.Main.Path + " " + builtVersion + " commit " + builtCommit, "stdlib " + info.GoVersion + " "}
	for _, d := range info.Deps {
		if d.Replace != nil {
			want = append(want, d.Path+" "+builtVersion+" ")
			continue
		}
		want = append(want, d.Path+" "+d.Version+" go.sum "+d.Sum)
	}
	d := bill(t)
	var got []string
	for _, p := range d.Packages {
		got = append(got, p.Name+" "+p.Version+" "+p.SourceInfo)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-binary +bill):\n%s", diff)
	}
	if len(want) < 50 {
		t.Errorf("%d modules: the search is broken", len(want))
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(binary)); d.Packages[0].Checksums[0].Value != sum {
		t.Errorf("the binary's checksum is %s, the bill says %s", sum, d.Packages[0].Checksums[0].Value)
	}
}

// TestTheBillIsSPDX: what the specification (2.3) demands of a document, its packages and relationships.
func TestTheBillIsSPDX(t *testing.T) {
	d := bill(t)
	if d.Version != "SPDX-2.3" || d.DataLicense != "CC0-1.0" || d.ID != "SPDXRef-DOCUMENT" || d.Name == "" || len(d.Creation.Creators) == 0 ||
		!strings.HasPrefix(d.Namespace, "https://") || strings.Contains(d.Namespace, "#") {
		t.Errorf("document %+v", d)
	}
	if _, err := time.Parse("2006-01-02T15:04:05Z", d.Creation.Created); err != nil {
		t.Error(err)
	}
	for _, c := range d.Creation.Creators {
		if !regexp.MustCompile(`^(Tool|Organization|Person): \S`).MatchString(c) {
			t.Errorf("creator %q", c)
		}
	}
	ids := map[string]bool{d.ID: true}
	licence := regexp.MustCompile(`^[A-Za-z0-9.-]+( AND [A-Za-z0-9.-]+)*$`)
	for _, p := range d.Packages {
		if ids[p.ID] || !regexp.MustCompile(`^SPDXRef-[A-Za-z0-9.-]+$`).MatchString(p.ID) || p.Name == "" || p.DownloadLocation == "" || p.FilesAnalyzed {
			t.Errorf("package %+v", p)
		}
		ids[p.ID] = true
		if !licence.MatchString(p.Declared) || p.Declared == "NOASSERTION" {
			t.Errorf("%s: nobody knows its licence (%s)", p.Name, p.Declared)
		}
	}
	described := 0
	for _, r := range d.Relationships {
		if !ids[r.From] || !ids[r.To] || !slices.Contains([]string{"DESCRIBES", "DEPENDS_ON"}, r.Type) {
			t.Errorf("relationship %+v", r)
		}
		if r.Type == "DESCRIBES" {
			described++
		}
	}
	if described != 1 || len(d.Relationships) != len(d.Packages) {
		t.Errorf("%d relationships of %d packages, %d described", len(d.Relationships), len(d.Packages), described)
	}
}

func TestClassify(t *testing.T) {
	const redistribution = "Redistributions in binary form must reproduce the above\n// copyright notice, this list"
	for text, want := range map[string]string{
		"": "NOASSERTION",
		"Apache License\n    Version 2.0, January 2004":            "Apache-2.0",
		`Licensed under the Apache License, Version 2.0 (the "L")`: "Apache-2.0",
		"MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a copy\nof this software and associated documentation files (the \"Software\")": "MIT",
		redistribution: "BSD-2-Clause",
		redistribution + "\n * Neither the name of Google Inc.":                                                           "BSD-3-Clause",
		"Permission to use, copy, modify, and/or distribute this software for any\npurpose with or without fee is hereby": "NOASSERTION",
		"GNU GENERAL PUBLIC LICENSE\nVersion 3":                                                                           "NOASSERTION",
	} {
		m := moduleInfo{texts: []legalText{{"LICENSE", text}}}
		if got := m.licence(); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	two := moduleInfo{texts: []legalText{{"LICENSE", "Mozilla Public License, version 2.0"}, {"LICENSE.old", "who knows"}, {"NOTICE", "this"}}}
	if got := two.licence(); got != "NOASSERTION" {
		t.Errorf("one text of two is known: %s", got)
	}
}
