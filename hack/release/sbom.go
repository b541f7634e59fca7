package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"
)

// What is in a binary, as SPDX 2.3 (JSON). The field names are the specification's.
type (
	spdxDocument struct {
		Version       string             `json:"spdxVersion"`
		DataLicense   string             `json:"dataLicense"`
		ID            string             `json:"SPDXID"`
		Name          string             `json:"name"`
		Namespace     string             `json:"documentNamespace"`
		Creation      spdxCreation       `json:"creationInfo"`
		Packages      []spdxPackage      `json:"packages"`
		Relationships []spdxRelationship `json:"relationships"`
	}
	spdxCreation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		ID               string          `json:"SPDXID"`
		Name             string          `json:"name"`
		Version          string          `json:"versionInfo"`
		FileName         string          `json:"packageFileName,omitempty"`
		DownloadLocation string          `json:"downloadLocation"`
		FilesAnalyzed    bool            `json:"filesAnalyzed"`
		Purpose          string          `json:"primaryPackagePurpose"`
		Checksums        []spdxChecksum  `json:"checksums,omitempty"`
		SourceInfo       string          `json:"sourceInfo,omitempty"`
		Declared         string          `json:"licenseDeclared"`
		Concluded        string          `json:"licenseConcluded"`
		Copyright        string          `json:"copyrightText"`
		References       []spdxReference `json:"externalRefs"`
	}
	spdxChecksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	spdxReference struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	spdxRelationship struct {
		From string `json:"spdxElementId"`
		Type string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	}
)

const product = "github.com/ironic-throttle/ironic-throttle"

// spdx lists what p consists of: itself, its modules and Go's standard library.
func (r *release) spdx(p program) ([]byte, error) {
	sum := fmt.Sprintf("%x", sha256.Sum256(p.binary))
	name := r.name("_linux_" + p.arch)
	own, err := legalTexts(r.root)
	if err != nil {
		return nil, err
	}
	goroot, err := legalTexts(r.goroot)
	if err != nil {
		return nil, err
	}
	main := spdxModule("SPDXRef-binary", moduleInfo{path: product, version: r.version, texts: own})
	main.FileName, main.Purpose = "ironic-throttle", "APPLICATION"
	main.Checksums = []spdxChecksum{{"SHA256", sum}}
	main.SourceInfo = "commit " + r.commit
	d := spdxDocument{
		Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name,
		// Two documents never have the same: the binary's checksum is in it.
		Namespace:     "https://" + product + "/spdx/" + name + "-" + sum,
		Creation:      spdxCreation{r.date.Format(time.RFC3339), []string{"Tool: ironic-throttle-hack-release"}},
		Packages:      []spdxPackage{main},
		Relationships: []spdxRelationship{{"SPDXRef-DOCUMENT", "DESCRIBES", main.ID}},
	}
	standard := moduleInfo{path: "stdlib", version: p.goVersion, texts: goroot}
	for i, m := range append([]moduleInfo{standard}, p.modules...) {
		part := spdxModule(fmt.Sprintf("SPDXRef-module-%d", i), m)
		d.Packages = append(d.Packages, part)
		d.Relationships = append(d.Relationships, spdxRelationship{main.ID, "DEPENDS_ON", part.ID})
	}
	text, err := json.MarshalIndent(d, "", " ")
	return append(text, '\n'), err
}

func spdxModule(id string, m moduleInfo) spdxPackage {
	part := spdxPackage{
		ID: id, Name: m.path, Version: m.version, DownloadLocation: "NOASSERTION", Purpose: "LIBRARY",
		Declared: m.licence(), Concluded: "NOASSERTION", Copyright: "NOASSERTION",
		References: []spdxReference{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + m.path + "@" + m.version}},
	}
	// The sum of go.sum is one over a list of files, not that of an archive: no checksum of SPDX.
	if m.sum != "" {
		part.SourceInfo = "go.sum " + m.sum
	}
	return part
}
