package server

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// document is docs/openapi.yaml, as far as the program decides what it says.
type document struct {
	Paths map[string]struct {
		Get, Post *operation
	} `yaml:"paths"`
	Components struct {
		Schemas map[string]schema `yaml:"schemas"`
	} `yaml:"components"`
}

type operation struct {
	RequestBody content            `yaml:"requestBody"`
	Responses   map[string]content `yaml:"responses"`
}

type content struct {
	Content map[string]struct {
		Schema schema `yaml:"schema"`
	} `yaml:"content"`
}

type schema struct {
	Ref        string            `yaml:"$ref"`
	Type       string            `yaml:"type"`
	Format     string            `yaml:"format"`
	Enum       []string          `yaml:"enum"`
	Items      *schema           `yaml:"items"`
	Properties map[string]schema `yaml:"properties"`
	Required   []string          `yaml:"required"`
}

// bodies are what routes take and give, by METHOD PATH; what is not here has no JSON of a type.
var bodies = map[string]struct{ takes, gives any }{
	"GET /v1/isready":                           {nil, api.Answer{}},
	"POST /v1/isready":                          {api.Ask{}, api.Answer{}},
	"GET /v1/status":                            {nil, api.Status{}},
	"GET /v1/slots":                             {nil, api.SlotsView{}},
	"GET /v1/queue":                             {nil, api.Queue{}},
	"GET /v1/why/{namespace}/{name}":            {nil, api.Why{}},
	"GET /v1/holds":                             {nil, api.Holds{}},
	"POST /v1/holds/{namespace}/{name}/release": {api.ReleaseRequest{}, api.ReleaseAnswer{}},
	"GET /v1/breakers":                          {nil, api.Breakers{}},
	"POST /v1/breakers/{scope}/reset":           {nil, api.BreakerAnswer{}},
	"POST /v1/breakers/{scope}/trip":            {api.TripRequest{}, api.BreakerAnswer{}},
	"GET /v1/plan":                              {nil, api.Plan{}},
	"GET /v1/plan/hosts/{namespace}/{name}":     {nil, api.PlanExplanation{}},
}

// enums are the closed sets, by type.
var enums = map[reflect.Type][]string{
	reflect.TypeFor[api.Op]():         texts(api.Ops()),
	reflect.TypeFor[api.Reason]():     texts(api.Reasons()),
	reflect.TypeFor[api.PlanReason](): texts(api.PlanReasons()),
	reflect.TypeFor[api.PlanMethod](): texts([]api.PlanMethod{
		api.MethodEmptiness, api.MethodStaticDrift, api.MethodDrift, api.MethodMulti, api.MethodSingle,
	}),
	reflect.TypeFor[api.PlanDecision](): texts([]api.PlanDecision{api.PlanRelease, api.PlanReplace, api.PlanReprovision}),
	reflect.TypeFor[api.Standing](): texts([]api.Standing{
		api.StandingUnknown, api.StandingIdle, api.StandingWaiting, api.StandingStopped, api.StandingStarting, api.StandingWorking,
	}),
}

func texts[T ~string](words []T) (all []string) {
	for _, w := range words {
		all = append(all, string(w))
	}
	return all
}

// openAPI are the operations by METHOD PATH, and the schemas.
func openAPI(t *testing.T) (operations map[string]*operation, schemas map[string]schema) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := yaml.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	operations = map[string]*operation{}
	for path, item := range d.Paths {
		operations["GET "+path], operations["POST "+path] = item.Get, item.Post
	}
	maps.DeleteFunc(operations, func(_ string, o *operation) bool { return o == nil })
	return operations, d.Components.Schemas
}

// served are the routes of all listeners but profiles: METHOD PATH.
func served(t *testing.T) (all []string) {
	s := made(t, seen())
	for _, listener := range []routes{s.apiRoutes(), s.healthRoutes(), s.metricsRoutes()} {
		for pattern := range listener {
			all = append(all, strings.TrimSuffix(pattern, "{$}"))
		}
	}
	slices.Sort(all)
	return all
}

func TestOpenAPIHasEveryRouteAndBound(t *testing.T) {
	operations, _ := openAPI(t)
	want := served(t)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(operations))); diff != "" {
		t.Errorf("docs/openapi.yaml (-served +documented):\n%s", diff)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "http-api.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{
		fmt.Sprintf("body above %d KiB (%d KiB for changes)", maxAskBody>>10, maxChangeBody>>10),
		fmt.Sprintf("(0 to %d, %d if not given)", maxQueueRows, queueRows),
		fmt.Sprintf("waits for it, at most %d s", int(firstPollWait.Seconds())),
	}
	for _, route := range want {
		if strings.Contains(route, " /v1/") {
			lines = append(lines, route)
		}
	}
	for _, line := range lines {
		if !strings.Contains(string(text), line) {
			t.Errorf("docs/http-api.md lacks %q", line)
		}
	}
}

// TestOpenAPIHasEveryField holds the schemas to the types of pkg/api: fields, their types and words, and which of
// them are always there.
func TestOpenAPIHasEveryField(t *testing.T) {
	operations, schemas := openAPI(t)
	c := comparison{t, schemas, map[string]bool{}}
	c.same("Error", "#/components/schemas/ErrorBody", reflect.TypeFor[api.ErrorBody]())
	for route, body := range bodies {
		operation := operations[route]
		if operation == nil {
			t.Fatalf("docs/openapi.yaml lacks %s", route)
		}
		if body.takes != nil {
			c.compare(route+" takes", operation.RequestBody.Content["application/json"].Schema, reflect.TypeOf(body.takes))
		}
		c.compare(route+" gives", operation.Responses["200"].Content["application/json"].Schema, reflect.TypeOf(body.gives))
	}
	for name := range schemas {
		if !c.done[name] {
			t.Errorf("no answer has the schema %s", name)
		}
	}
}

// comparison is one of schemas by name with types.
type comparison struct {
	*testing.T
	schemas map[string]schema
	done    map[string]bool
}

// compare tells where s says something else than typ.
func (c comparison) compare(where string, s schema, typ reflect.Type) {
	c.Helper()
	switch {
	case typ == reflect.TypeFor[time.Time]():
		c.is(where, s.Type+" "+s.Format, "string date-time")
	case typ.Kind() == reflect.Pointer:
		c.compare(where, s, typ.Elem())
	case typ.Kind() == reflect.Struct:
		c.same(where, s.Ref, typ)
	case typ.Kind() == reflect.Slice:
		if c.is(where, s.Type, "array"); s.Items != nil {
			c.compare(where+"[]", *s.Items, typ.Elem())
		}
	default:
		kinds := map[reflect.Kind]string{
			reflect.Bool: "boolean", reflect.Float64: "number", reflect.Int: "integer", reflect.Int64: "integer", reflect.Uint64: "integer",
			reflect.String: "string", reflect.Map: "object",
		}
		c.is(where, s.Type, kinds[typ.Kind()])
		c.is(where, fmt.Sprint(s.Enum), fmt.Sprint(enums[typ]))
	}
}

// same compares the schema that ref names with a struct.
func (c comparison) same(where, ref string, typ reflect.Type) {
	c.Helper()
	if c.is(where, ref, "#/components/schemas/"+typ.Name()); c.done[typ.Name()] {
		return
	}
	c.done[typ.Name()] = true
	var fields, always []string
	s := c.schemas[typ.Name()]
	for i := range typ.NumField() {
		name, options, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		fields = append(fields, name)
		if options == "" {
			always = append(always, name)
		}
		if typ.Field(i).Type.Kind() != reflect.Interface {
			c.compare(typ.Name()+"."+name, s.Properties[name], typ.Field(i).Type)
		}
	}
	slices.Sort(fields)
	slices.Sort(always)
	c.is(typ.Name(), fmt.Sprint(slices.Sorted(maps.Keys(s.Properties))), fmt.Sprint(fields))
	c.is(typ.Name()+".required", fmt.Sprint(s.Required), fmt.Sprint(always))
}

func (c comparison) is(where, got, want string) {
	c.Helper()
	if got != want {
		c.Errorf("docs/openapi.yaml: %s is %s, want %s", where, got, want)
	}
}
