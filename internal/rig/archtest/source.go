package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// source is one Go file of this repository.
type source struct {
	path    string // relative to the module's root, with slashes
	pkg     string // its folder, likewise
	lines   int
	doc     bool // has a package comment
	imports []string
	file    *ast.File
	fset    *token.FileSet
}

func (s source) test() bool { return strings.HasSuffix(s.path, "_test.go") }

// generated follows the rule that the go tool has for its header line.
func (s source) generated() bool { return ast.IsGenerated(s.file) }

// skipped are folders that hold nothing of ours: build products and git's own.
var skipped = map[string]bool{".git": true, "bin": true, "build": true, "dist": true, "vendor": true}

// walk calls visit for each file below root, those of other modules there too, and leaves
// out build products.
func walk(root string, visit func(rel string) error) error {
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		if !d.IsDir() {
			if !d.Type().IsRegular() {
				return nil
			}
			return visit(filepath.ToSlash(rel))
		}
		if rel == "." {
			return nil
		}
		if skipped[d.Name()] {
			return filepath.SkipDir
		}
		return nil
	})
}

// load parses every Go file below root.
func load(root string) ([]source, error) {
	var all []source
	err := walk(root, func(rel string) error {
		if !strings.HasSuffix(rel, ".go") || strings.Contains("/"+rel, "/testdata/") {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(rel)))
		if err != nil {
			return err
		}
		s, err := parse(rel, text)
		if err != nil {
			return err
		}
		all = append(all, s)
		return nil
	})
	return all, err
}

func parse(rel string, text []byte) (source, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, rel, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	s := source{
		path:  rel,
		pkg:   path.Dir(rel),
		lines: strings.Count(string(text), "\n"),
		doc:   file.Doc != nil && strings.TrimSpace(file.Doc.Text()) != "",
		file:  file,
		fset:  fset,
	}
	for _, spec := range file.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return source{}, err
		}
		s.imports = append(s.imports, p)
	}
	return s, nil
}
