package released

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// goAPI are the promises of pkg/api: what a program that uses it compiles with.
func goAPI(root string) ([]string, error) {
	pkg, err := loadPackage(filepath.Join(root, "pkg", "api"))
	if err != nil {
		return nil, err
	}
	return promises(pkg), nil
}

// loadPackage reads the package in dir by what the compiler exports, which the build cache has.
func loadPackage(dir string) (*types.Package, error) {
	files, _ := filepath.Glob(filepath.Join(dir, "*.go")) // fails for a bad pattern alone
	for _, file := range files {
		if _, err := os.ReadFile(file); err != nil { // so that go test knows on what its cached result depends
			return nil, err
		}
	}
	var stderr bytes.Buffer
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,Name,Dir", ".")
	cmd.Dir, cmd.Stderr, cmd.Env = dir, &stderr, append(os.Environ(), "GOWORK=off", "GOPROXY=off")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w\n%s", dir, err, &stderr)
	}
	exports, last := map[string]string{}, ""
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath], last = p.Export, p.ImportPath // a package comes after what it imports
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	return importer.ForCompiler(token.NewFileSet(), "gc", open).Import(last)
}

// promises are what a package exports, a line each.
func promises(pkg *types.Package) (lines []string) {
	named := func(p *types.Package) string {
		if p == pkg {
			return ""
		}
		return p.Path()
	}
	text := func(t types.Type) string { return types.TypeString(t, named) }
	for _, name := range pkg.Scope().Names() {
		switch o := pkg.Scope().Lookup(name).(type) {
		case *types.Const:
			if o.Exported() {
				lines = append(lines, fmt.Sprintf("const %s %s = %s", name, text(o.Type()), o.Val().ExactString()))
			}
		case *types.Var:
			if o.Exported() {
				lines = append(lines, fmt.Sprintf("var %s %s", name, text(o.Type())))
			}
		case *types.Func:
			if o.Exported() {
				lines = append(lines, "func "+name+strings.TrimPrefix(text(o.Type()), "func"))
			}
		case *types.TypeName:
			if o.Exported() {
				lines = append(lines, typePromises(o, text)...)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func typePromises(o *types.TypeName, text func(types.Type) string) (lines []string) {
	name := o.Name()
	if o.IsAlias() {
		return []string{fmt.Sprintf("type %s = %s", name, text(types.Unalias(o.Type())))}
	}
	switch under := o.Type().Underlying().(type) {
	case *types.Struct:
		lines = append(lines, "type "+name+" struct")
		for i := range under.NumFields() {
			if f := under.Field(i); f.Exported() {
				lines = append(lines, fmt.Sprintf("type %s struct, %s %s %s", name, f.Name(), text(f.Type()), under.Tag(i)))
			}
		}
	default: // an interface as a whole: who implements it lacks a new method
		lines = append(lines, "type "+name+" "+text(under))
	}
	if types.IsInterface(o.Type()) {
		return lines
	}
	ofValue := types.NewMethodSet(o.Type())
	for m := range types.NewMethodSet(types.NewPointer(o.Type())).Methods() {
		receiver := name
		if ofValue.Lookup(o.Pkg(), m.Obj().Name()) == nil {
			receiver = "*" + name
		}
		if m.Obj().Exported() {
			lines = append(lines, fmt.Sprintf("method (%s) %s%s", receiver, m.Obj().Name(), strings.TrimPrefix(text(m.Type()), "func")))
		}
	}
	return lines
}
