package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// pkg is a package to break.
type pkg struct {
	rel   string // its folder, relative to the module
	dir   string
	name  string
	types *types.Package
	info  *types.Info
	fset  *token.FileSet
	files []*file
}

// file is one of its sources, without the tests.
type file struct {
	path string
	src  []byte
	ast  *ast.File
}

// listed is what go list tells of a package.
type listed struct {
	Dir, ImportPath, Name, Export string
	GoFiles                       []string
	Module                        *struct{ Dir string }
	DepOnly                       bool
}

// load reads and type-checks the package at path, which go list understands.
func load(ctx context.Context, path string) (*pkg, error) {
	all, err := list(ctx, "-export", "-deps", path)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	var of listed
	for _, l := range all {
		exports[l.ImportPath] = l.Export
		if !l.DepOnly {
			of = l
		}
	}
	if of.Module == nil {
		return nil, fmt.Errorf("%s is no package of a module", path)
	}
	rel, err := filepath.Rel(of.Module.Dir, of.Dir)
	if err != nil {
		return nil, err
	}
	p := &pkg{rel: filepath.ToSlash(rel), dir: of.Dir, name: of.Name, fset: token.NewFileSet()}
	var trees []*ast.File
	for _, name := range of.GoFiles {
		f := &file{path: filepath.Join(of.Dir, name)}
		if f.src, err = os.ReadFile(f.path); err != nil {
			return nil, err
		}
		if f.ast, err = parser.ParseFile(p.fset, f.path, f.src, parser.SkipObjectResolution); err != nil {
			return nil, err
		}
		p.files, trees = append(p.files, f), append(trees, f.ast)
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	p.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: importer.ForCompiler(p.fset, "gc", open)}
	p.types, err = conf.Check(of.ImportPath, p.fset, trees, p.info)
	return p, err
}

// usesRapid tells whether the tests of the package at path are linked with rapid.
func usesRapid(ctx context.Context, path string) (bool, error) {
	deps, err := list(ctx, "-deps", "-test", path)
	return slices.ContainsFunc(deps, func(l listed) bool { return l.ImportPath == "pgregory.net/rapid" }), err
}

func list(ctx context.Context, args ...string) ([]listed, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-json=Dir,ImportPath,Name,Export,GoFiles,Module,DepOnly"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
}

// typeName writes t as f can, which may not import the package of t.
func (p *pkg) typeName(f *file, t types.Type) (string, bool) {
	ok := true
	name := types.TypeString(t, func(of *types.Package) string {
		if of == p.types {
			return ""
		}
		for _, s := range f.ast.Imports {
			if strings.Trim(s.Path.Value, `"`) == of.Path() {
				if s.Name != nil {
					return s.Name.Name
				}
				return of.Name()
			}
		}
		ok = false
		return ""
	})
	return name, ok && !strings.Contains(name, "untyped")
}
