package archtest

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
)

// maxLines is the longest a Go file may be (aim at 300).
const maxLines = 400

// importFaults says what is wrong with the imports of s by table t, a sentence each.
func importFaults(t map[string]imports, s source) []string {
	row, known := t[s.pkg]
	if !known {
		return []string{fmt.Sprintf("package %s has no row in the import table: add one to internal/rig/archtest/table.go"+
			" that says what it may import", s.pkg)}
	}
	var faults []string
	for _, imp := range s.imports {
		if !row.allows(s, imp) {
			faults = append(faults, fmt.Sprintf("%s: %s may not import %s: not in its row of internal/rig/archtest/table.go", s.path, s.pkg, imp))
		}
	}
	return faults
}

func (r imports) allows(s source, imp string) bool {
	if imp == "C" {
		return false // the binary is static
	}
	if standard(imp) {
		return true
	}
	inner, house := strings.CutPrefix(imp, module+"/")
	if house && slices.Contains(r.house, inner) || !house && below(r.outside, imp) {
		return true
	}
	if !s.test() {
		return false
	}
	if house {
		return inner == s.pkg || slices.Contains(r.tests, inner) || s.pkg != "pkg/api" && slices.Contains(testPackages, inner)
	}
	return below(testLibraries, imp) || below(r.tests, imp)
}

// standard reports whether imp is of the standard library: no dot in the first
// element of its path.
func standard(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return !strings.Contains(first, ".")
}

func below(allowed []string, imp string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool { return imp == a || strings.HasPrefix(imp, a+"/") })
}

// shapeFaults says what is wrong with the file as such.
func shapeFaults(s source) []string {
	var faults []string
	if s.lines > maxLines && !s.generated() {
		faults = append(faults, fmt.Sprintf("%s: %d lines, at most %d: when a file wants a second subject, it is two files", s.path, s.lines, maxLines))
	}
	if s.test() {
		for _, line := range sleeps(s) {
			faults = append(faults, fmt.Sprintf("%s:%d: time.Sleep in a test: use testing/synctest or wait for the event itself", s.path, line))
		}
	}
	return faults
}

// sleeps lists the lines of s that use time.Sleep, whatever time is called there.
func sleeps(s source) []int {
	name := ""
	for _, spec := range s.file.Imports {
		if spec.Path.Value == `"time"` {
			name = "time"
			if spec.Name != nil {
				name = spec.Name.Name
			}
		}
	}
	var lines []int
	ast.Inspect(s.file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Sleep" {
			return true
		}
		if id, ok := sel.X.(*ast.Ident); ok && name != "" && id.Name == name {
			lines = append(lines, s.fset.Position(sel.Pos()).Line)
		}
		return true
	})
	return lines
}

// undocumented lists the packages without a package comment. A package that is
// tests alone has it in one of these.
func undocumented(all []source) []string {
	documented := map[string]bool{}
	code := map[string]bool{}
	for _, s := range all {
		code[s.pkg] = code[s.pkg] || !s.test()
	}
	for _, s := range all {
		documented[s.pkg] = documented[s.pkg] || s.doc && s.test() != code[s.pkg]
	}
	var missing []string
	for pkg, ok := range documented {
		if !ok {
			missing = append(missing, pkg)
		}
	}
	slices.Sort(missing)
	return missing
}

// homePath finds absolute paths below somebody's home or work folder.
var homePath = regexp.MustCompile(`(?m)(?:^|[\s"'` + "`" + `=(:,])(/(?:root|home|Users|work)/[\w.-]+)`)

// machinePaths lists paths in text that exist on one machine only: home folders,
// and the folder that the module lies in now.
func machinePaths(root, text string) []string {
	var found []string
	for _, m := range homePath.FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	if strings.Contains(text, root+"/") {
		found = append(found, root)
	}
	return found
}
