package server

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"net/http"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// schema is a piece of an OpenAPI document.
type schema map[string]any

// schemas makes schemas of Go types, with the comments of their source as descriptions.
type schemas struct {
	all      map[string]schema // by the name of the type
	failures map[string]schema // answers that are errors, by what they mean
	comments map[string]string // of Type and Type.Field
}

// enums are the closed sets, by type.
var enums = map[reflect.Type][]any{
	reflect.TypeFor[api.Op]():           anys(api.Ops()),
	reflect.TypeFor[api.Reason]():       anys(api.Reasons()),
	reflect.TypeFor[api.PlanReason]():   anys(api.PlanReasons()),
	reflect.TypeFor[api.PlanMethod]():   anys(api.PlanMethods()),
	reflect.TypeFor[api.PlanDecision](): anys(api.PlanDecisions()),
	reflect.TypeFor[api.Standing](): anys([]api.Standing{
		api.StandingUnknown, api.StandingIdle, api.StandingWaiting, api.StandingStopped, api.StandingStarting, api.StandingWorking,
	}),
}

func anys[T ~string](words []T) (all []any) {
	for _, w := range words {
		all = append(all, string(w))
	}
	return all
}

// rowNumber is a row of the specification, which tells users of the API nothing.
var rowNumber = regexp.MustCompile(` \(([A-Z]+-\d+(, )?)+\)| \(docs/[^)]*\)`)

func newSchemas(t *testing.T, dir string) *schemas {
	t.Helper()
	s := &schemas{all: map[string]schema{}, failures: map[string]schema{}, comments: map[string]string{}}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(gotoken.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, s.comment)
	}
	return s
}

// comment notes those of a type declaration.
func (s *schemas) comment(n ast.Node) bool {
	d, ok := n.(*ast.GenDecl)
	if !ok || d.Tok != gotoken.TYPE {
		return true
	}
	for _, spec := range d.Specs {
		named, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		s.note(named.Name.Name, d.Doc)
		if fields, ok := named.Type.(*ast.StructType); ok {
			for _, f := range fields.Fields.List {
				for _, name := range f.Names {
					s.note(named.Name.Name+"."+name.Name, f.Doc, f.Comment)
				}
			}
		}
	}
	return false
}

func (s *schemas) note(name string, groups ...*ast.CommentGroup) {
	var words []string
	for _, g := range groups {
		words = append(words, strings.Fields(g.Text())...) // nil has no text
	}
	s.comments[name] = rowNumber.ReplaceAllString(strings.Join(words, " "), "")
}

// of is the schema of the type of v.
func (s *schemas) of(v any) schema { return s.ofType(reflect.TypeOf(v)) }

// request is of for a body: what is unknown in it is refused.
func (s *schemas) request(v any) schema {
	t := reflect.TypeOf(v)
	if t.NumField() == 0 {
		return schema{"type": "object", "additionalProperties": false}
	}
	ref := s.ofType(t)
	s.all[t.Name()]["additionalProperties"] = false
	return ref
}

func (s *schemas) ofType(t reflect.Type) schema {
	if t == reflect.TypeFor[time.Time]() {
		return schema{"type": "string", "format": "date-time"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.ofType(t.Elem())
	case reflect.Interface:
		return schema{} // anything
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return schema{"type": "integer"}
	case reflect.Uint, reflect.Uint64:
		return schema{"type": "integer", "minimum": 0}
	case reflect.Float64:
		return schema{"type": "number"}
	case reflect.Slice:
		return schema{"type": "array", "items": s.ofType(t.Elem())}
	case reflect.Map:
		return schema{"type": "object", "additionalProperties": s.ofType(t.Elem())}
	case reflect.Struct:
		return s.object(t)
	case reflect.String:
		out := schema{"type": "string"}
		if words := enums[t]; words != nil {
			out["enum"] = words
		}
		return out
	default:
		panic("no schema is made of " + t.String())
	}
}

// failure refers to the answer with an error of that code.
func (s *schemas) failure(code int) schema {
	name := strings.ReplaceAll(http.StatusText(code), " ", "")
	s.failures[name] = schema{
		"description": http.StatusText(code),
		"content":     schema{"application/json": schema{"schema": s.of(api.ErrorBody{})}},
	}
	return schema{"$ref": "#/components/responses/" + name}
}

// object makes the component of a struct and returns the reference to it.
func (s *schemas) object(t reflect.Type) schema {
	ref := schema{"$ref": "#/components/schemas/" + t.Name()}
	if s.all[t.Name()] != nil {
		return ref
	}
	out := schema{"type": "object", "description": s.comments[t.Name()]}
	s.all[t.Name()] = out // before its fields, which may be of the same type
	fields, required := map[string]schema{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		field := s.ofType(f.Type)
		if text := s.comments[t.Name()+"."+f.Name]; text != "" {
			field["description"] = text
		}
		fields[name] = field
		if options == "" {
			required = append(required, name)
		}
	}
	out["properties"] = fields
	if len(required) > 0 {
		slices.Sort(required)
		out["required"] = required
	}
	return ref
}
