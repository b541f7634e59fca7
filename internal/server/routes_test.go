package server

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestUnknownPathsAndMethods(t *testing.T) {
	s := made(t, seen())
	for _, row := range []struct {
		method, path string
		code         int
		allow        string
	}{
		{"GET", "/v1/nothing", 404, ""},
		{"GET", "/healthz", 404, ""},
		// None is redirected: a client would repeat a POST as a GET, and take what is vacant for a yes.
		{"POST", "/v1/isready/", 404, ""},
		{"POST", "//v1/isready", 404, ""},
		{"GET", "/v1/../v1/status", 404, ""},
		{"GET", "/v1/status/.", 404, ""},
		{"OPTIONS", "*", 404, ""},
		{"POST", "/v1/holds//host/release", 404, ""},
		{"GET", "/v1/why/ns/", 404, ""},
		{"POST", "/v1/breakers/image:http://x/reset", 404, ""},
		{"GET", "/v1/holds/{namespace}/{name}/release", 405, "POST"},
		{"HEAD", "/v1/breakers/ironic/trip", 405, "POST"},
		{"PUT", "/v1/isready", 405, "GET, HEAD, POST"},
		{"POST", "/", 405, "GET, HEAD"},
		{"POST", "/v1/breakers/group%3Arack1/trip", 415, ""},
	} {
		w := send(t, s.api, row.method, row.path, "")
		isError(t, w, row.code, "")
		if got := w.Header().Get("Allow"); got != row.allow {
			t.Errorf("%s %s: Allow %q, want %q", row.method, row.path, got, row.allow)
		}
	}
	const series = "\nironic_throttle_http_request_duration_seconds_count{" // a label is never what a client sent
	body := send(t, s.metrics, http.MethodGet, "/metrics", "").Body.String()
	for _, want := range []string{`code="404",route="other"`, `code="405",route="other"`, `code="415",route="/v1/breakers/{scope}/trip"`} {
		if !strings.Contains(body, series+want) || strings.Count(body, series) != 3 {
			t.Errorf("no series with %s, or too many: %d", want, strings.Count(body, series))
		}
	}
}

func TestPanicsBecome500AndALogLine(t *testing.T) {
	f := seen()
	f.on = func() { panic("at the disco") }
	s, log := logged(t, f)
	w := send(t, s.api, http.MethodPost, "/v1/isready", goodAsk, jsonType...)
	if e := isError(t, w, http.StatusInternalServerError, ""); strings.Contains(e.Message, "disco") {
		t.Errorf("the cause leaks: %q", e.Message)
	}
	if got := log.String(); !strings.Contains(got, "at the disco") || !strings.Contains(got, "routes_test.go") {
		t.Errorf("log lacks the cause or the stack: %s", got)
	}
}

// document is docs/openapi.yaml, as far as the program decides what it says.
type document struct {
	Paths      map[string]struct{ Get, Post *operation }
	Components struct{ Schemas map[string]schema }
}

type operation struct {
	RequestBody content            `yaml:"requestBody"`
	Responses   map[string]content `yaml:"responses"`
}

type content struct {
	Content map[string]struct{ Schema schema }
}

type schema struct {
	Type, Format string
	Dollar       string `yaml:"$ref"`
	Enum         []string
	Items        *schema
	Properties   map[string]schema
	Required     []string
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

// docs/openapi.yaml has every route, and of the bodies every field, its type, and whether it is always there.
func TestOpenAPIHasEveryRouteAndField(t *testing.T) {
	text, err := os.ReadFile("../../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := yaml.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	documented := map[string]*operation{}
	for path, item := range d.Paths {
		documented["GET "+path], documented["POST "+path] = item.Get, item.Post
	}
	maps.DeleteFunc(documented, func(_ string, o *operation) bool { return o == nil })
	var served []string
	s := made(t, seen())
	for _, listener := range []routes{s.apiRoutes(), s.healthRoutes(), s.metricsRoutes()} {
		for pattern := range listener {
			served = append(served, strings.TrimSuffix(pattern, "{$}"))
		}
	}
	slices.Sort(served)
	if diff := cmp.Diff(served, slices.Sorted(maps.Keys(documented))); diff != "" {
		t.Errorf("docs/openapi.yaml (-served +documented):\n%s", diff)
	}
	c := comparison{t, d.Components.Schemas, map[string]bool{}}
	c.compare("Error", schema{Dollar: "#/components/schemas/ErrorBody"}, reflect.TypeFor[api.ErrorBody]())
	for route, body := range bodies {
		if body.takes != nil {
			c.compare(route+" takes", documented[route].RequestBody.Content["application/json"].Schema, reflect.TypeOf(body.takes))
		}
		c.compare(route+" gives", documented[route].Responses["200"].Content["application/json"].Schema, reflect.TypeOf(body.gives))
	}
	for name := range c.schemas {
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

var kinds = map[reflect.Kind]string{
	reflect.Bool: "boolean", reflect.Float64: "number", reflect.Int: "integer", reflect.Uint64: "integer", reflect.String: "string", reflect.Map: "object",
}

// compare tells where s says something else than typ.
func (c comparison) compare(where string, s schema, typ reflect.Type) {
	switch {
	case typ == reflect.TypeFor[time.Time]():
		c.is(where, s.Type+" "+s.Format, "string date-time")
	case typ.Kind() == reflect.Pointer:
		c.compare(where, s, typ.Elem())
	case typ.Kind() == reflect.Slice:
		if c.is(where, s.Type, "array"); s.Items != nil {
			c.compare(where+"[]", *s.Items, typ.Elem())
		}
	case typ.Kind() != reflect.Struct:
		c.is(where, s.Type, kinds[typ.Kind()])
		if typ == reflect.TypeFor[api.Op]() || typ == reflect.TypeFor[api.Reason]() {
			c.is(where, fmt.Sprint(s.Enum), map[string]string{"Op": fmt.Sprint(api.Ops()), "Reason": fmt.Sprint(api.Reasons())}[typ.Name()])
		}
	default:
		if c.is(where, s.Dollar, "#/components/schemas/"+typ.Name()); c.done[typ.Name()] {
			return
		}
		c.done[typ.Name()] = true
		var fields, always []string
		of := c.schemas[typ.Name()]
		for f := range typ.Fields() {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			fields = append(fields, name)
			if options == "" {
				always = append(always, name)
			}
			c.compare(typ.Name()+"."+name, of.Properties[name], f.Type)
		}
		slices.Sort(fields)
		slices.Sort(always)
		c.is(typ.Name(), fmt.Sprint(slices.Sorted(maps.Keys(of.Properties))), fmt.Sprint(fields))
		c.is(typ.Name()+".required", fmt.Sprint(of.Required), fmt.Sprint(always))
	}
}

func (c comparison) is(where, got, want string) {
	c.Helper()
	if got != want {
		c.Errorf("docs/openapi.yaml: %s is %s, want %s", where, got, want)
	}
}
