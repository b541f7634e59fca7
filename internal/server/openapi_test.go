package server

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// operation is what docs/openapi.yaml says of a method of a path beside what its types say.
type operation struct {
	method, path string
	summary      string
	query        []parameter
	body, answer any // nil: there is none; a string: the media type of an answer that is not JSON
	also         []int
}

type parameter struct {
	Name        string `yaml:"name"`
	In          string `yaml:"in"`
	Required    bool   `yaml:"required,omitempty"`
	Description string `yaml:"description,omitempty"`
	Schema      schema `yaml:"schema"`
}

const (
	plainText = "text/plain"
	html      = "text/html"
)

// operations are those of all listeners; a test holds them to the routes.
func operations() []operation {
	words := func(all []api.Reason) (no []any) {
		for _, r := range all {
			if !r.Yes() {
				no = append(no, string(r))
			}
		}
		return no
	}
	filters := []parameter{
		{Name: "limit", Description: "hosts of each pool", Schema: schema{"type": "integer", "minimum": 0, "maximum": maxQueueRows, "default": queueRows}},
		{Name: "namespace", Description: "hosts of this namespace alone", Schema: schema{"type": "string"}},
		{Name: "pool", Description: "the queue of this pool alone; empty is the total", Schema: schema{"type": "string"}},
		{Name: "reason", Description: "hosts that were told this last", Schema: schema{"type": "string", "enum": words(api.Reasons())}},
	}
	change := []int{400, 404, 413, 415, 500}
	return []operation{
		{"GET", "/v1/isready", "Is a slot free, for nobody in particular? It takes nothing.", nil, nil, api.Answer{}, nil},
		{"POST", "/v1/isready", "May this host start now? A yes takes a slot for it.", nil, api.Ask{}, api.Answer{}, []int{400, 413, 415}},
		{"GET", "/v1/status", "What runs, what is in force, and what matters now.", nil, nil, api.Status{}, []int{304}},
		{"GET", "/v1/slots", "Who holds a slot.", nil, nil, api.SlotsView{}, nil},
		{"GET", "/v1/queue", "Who waits, in which order, and why.", filters, nil, api.Queue{}, []int{400}},
		{"GET", "/v1/why/{namespace}/{name}", "The story of one host; nothing changes.", nil, nil, api.Why{}, nil},
		{"GET", "/v1/holds", "Hosts that failed and have not gone well since.", nil, nil, api.Holds{}, nil},
		{"POST", "/v1/holds/{namespace}/{name}/release", "Let a host be tried again before its time.", nil, api.ReleaseRequest{}, api.ReleaseAnswer{}, append(change, 409)},
		{"GET", "/v1/breakers", "The circuit breakers.", nil, nil, api.Breakers{}, nil},
		{"POST", "/v1/breakers/{scope}/reset", "Close a breaker.", nil, struct{}{}, api.BreakerAnswer{}, change},
		{"POST", "/v1/breakers/{scope}/trip", "Open a breaker.", nil, api.TripRequest{}, api.BreakerAnswer{}, change},
		{"GET", "/v1/events", "That the status has changed, as server-sent events (api.Change).", nil, nil, "text/event-stream", nil},
		{"GET", "/v1/plan", "Which hosts could be released or provisioned again; nothing changes.", nil, nil, api.Plan{}, []int{404, 502}},
		{"GET", "/v1/plan/state", "All that the plan is made of, as the command plan reads it.", nil, nil, map[string]any{}, []int{404, 502}},
		{"GET", "/v1/plan/hosts/{namespace}/{name}", "Why a host is a candidate of planned work, or not.", nil, nil, api.PlanExplanation{}, []int{404, 502}},
		{"GET", "/", "The same as a page.", nil, nil, html, nil},
		{"GET", "/why/{namespace}/{name}", "The story of one host as a page.", nil, nil, html, nil},
		{"GET", "/page.css", "How the page looks.", nil, nil, "text/css", nil},
		{"GET", "/page.js", "What keeps the page live.", nil, nil, "text/javascript", nil},
		{"GET", "/healthz", "The process serves.", nil, nil, plainText, nil},
		{"GET", "/readyz", "This replica decides by a fresh view; else the reasons.", nil, nil, plainText, []int{503}},
		{"GET", "/metrics", "Every metric, for Prometheus.", nil, nil, plainText, nil},
	}
}

// where has the base of the listeners other than that of the API.
var where = map[string]string{
	"/healthz": "http://127.0.0.1:9441", "/readyz": "http://127.0.0.1:9441", "/metrics": "http://127.0.0.1:8444",
}

// pathParameters are those of all paths.
var pathParameters = map[string]string{
	"namespace": "of the BareMetalHost; - for a node that BMO did not name",
	"name":      "of the BareMetalHost; after - the name or UUID of a node",
	"scope":     "ironic, group:NAME, driver:NAME or image:CHECKSUM, a slash percent-encoded",
}

// routesOf are the methods and paths of a handler, as it tells them itself.
func routesOf(t *testing.T, h http.Handler) []string {
	t.Helper()
	_, paths, _ := strings.Cut(isError(t, send(t, h, http.MethodGet, "/no/such/path", ""), http.StatusNotFound, "").Message, "known are ")
	var all []string
	for path := range strings.SplitSeq(paths, ", ") {
		allowed := send(t, h, "BREW", path, "").Header().Get("Allow")
		for method := range strings.SplitSeq(allowed, ", ") {
			if method != http.MethodHead {
				all = append(all, method+" "+path)
			}
		}
	}
	return all
}

func TestOpenAPIHasEveryRoute(t *testing.T) {
	s := made(t, seen())
	want := slices.Concat(routesOf(t, s.API()), routesOf(t, s.Health()), routesOf(t, s.Metrics()))
	var got []string
	for _, op := range operations() {
		got = append(got, op.method+" "+op.path)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 10 {
		t.Errorf("operations() (-served +documented):\n%s", diff)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "http-api.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, bound := range []string{
		fmt.Sprintf("body above %d KiB (%d KiB for changes)", maxAskBody>>10, maxChangeBody>>10),
		fmt.Sprintf("(0 to %d, %d if not given)", maxQueueRows, queueRows),
		fmt.Sprintf("waits for it, at most %d s", int(firstPollWait.Seconds())),
	} {
		if !strings.Contains(string(text), bound) {
			t.Errorf("docs/http-api.md lacks %q", bound)
		}
	}
	for _, op := range operations() {
		if !strings.Contains(string(text), op.method+" "+op.path) && strings.HasPrefix(op.path, "/v1/") {
			t.Errorf("docs/http-api.md lacks %s %s", op.method, op.path)
		}
	}
}

// TestOpenAPIIsUpToDate holds docs/openapi.yaml to routes and types. UPDATE_DOCS=1 renews it:
// UPDATE_DOCS=1 go test ./internal/server -run OpenAPI.
func TestOpenAPIIsUpToDate(t *testing.T) {
	var want bytes.Buffer
	want.WriteString("# Generated from the routes and types of the program: UPDATE_DOCS=1 go test ./internal/server -run OpenAPI\n")
	e := yaml.NewEncoder(&want)
	e.SetIndent(2)
	if err := e.Encode(openAPI(t)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "docs", "openapi.yaml")
	if os.Getenv("UPDATE_DOCS") != "" {
		if err := os.WriteFile(path, want.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf("docs/openapi.yaml (-program +file):\n%s", diff)
	}
}

// document is the whole file, in the order in which people read it.
type document struct {
	OpenAPI    string              `yaml:"openapi"`
	Info       schema              `yaml:"info"`
	Servers    []schema            `yaml:"servers"`
	Security   []map[string][]any  `yaml:"security"`
	Paths      map[string]pathItem `yaml:"paths"`
	Components schema              `yaml:"components"`
}

type pathItem map[string]any

func openAPI(t *testing.T) document {
	t.Helper()
	types := newSchemas(t, "../../pkg/api")
	d := document{
		OpenAPI: "3.1.0",
		Info: schema{
			"title": "ironic-throttle", "version": "v1", "license": schema{"name": "Apache-2.0", "identifier": "Apache-2.0"},
			"description": "What each field and error means is in docs/http-api.md. A refusal is a 200 with ready false.",
		},
		Servers:  []schema{{"url": "http://127.0.0.1:8087", "description": "IRONIC_THROTTLE_LISTEN_ADDRESS"}},
		Security: []map[string][]any{{}, {"bearer": {}}},
		Paths:    map[string]pathItem{},
	}
	for _, op := range operations() {
		item := d.Paths[op.path]
		if item == nil {
			item = pathItem{}
			d.Paths[op.path] = item
			if base := where[op.path]; base != "" {
				item["servers"] = []schema{{"url": base}}
			}
		}
		item[strings.ToLower(op.method)] = op.describe(types)
	}
	d.Components = schema{
		"schemas":         types.all,
		"responses":       types.failures,
		"securitySchemes": schema{"bearer": schema{"type": "http", "scheme": "bearer", "description": "where the API is guarded, see docs/kubernetes.md"}},
	}
	return d
}

// describe is the operation object of op.
func (op operation) describe(types *schemas) schema {
	out := schema{"summary": op.summary, "operationId": op.id()}
	var parameters []parameter
	for segment := range strings.SplitSeq(op.path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			parameters = append(parameters, parameter{name, "path", true, pathParameters[name], schema{"type": "string"}})
		}
	}
	for _, p := range op.query {
		p.In = "query"
		parameters = append(parameters, p)
	}
	if parameters != nil {
		out["parameters"] = parameters
	}
	if op.body != nil {
		out["requestBody"] = schema{"required": op.path == "/v1/isready", "content": schema{"application/json": schema{"schema": types.request(op.body)}}}
	}
	media, good := "application/json", schema{"type": "string"}
	if text, ok := op.answer.(string); ok {
		media = text
	} else {
		good = types.of(op.answer)
	}
	responses := map[string]schema{"200": {"description": http.StatusText(http.StatusOK), "content": schema{media: schema{"schema": good}}}}
	codes := slices.Clone(op.also)
	if where[op.path] == "" {
		codes = append(codes, 401, 403, 421, 503) // nobody can say who asks
	}
	for _, code := range codes {
		switch {
		case code == http.StatusNotModified:
			responses[strconv.Itoa(code)] = schema{"description": http.StatusText(code)}
		case media == plainText:
			responses[strconv.Itoa(code)] = schema{"description": http.StatusText(code), "content": schema{plainText: schema{"schema": good}}}
		default:
			responses[strconv.Itoa(code)] = types.failure(code)
		}
	}
	out["responses"] = responses
	return out
}

// id names op for generated clients: getStatus, postHoldsRelease.
func (op operation) id() string {
	id := strings.ToLower(op.method)
	for _, segment := range strings.FieldsFunc(strings.TrimPrefix(op.path, "/v1"), func(r rune) bool { return r == '/' || r == '.' }) {
		if !strings.HasPrefix(segment, "{") {
			id += strings.ToUpper(segment[:1]) + segment[1:]
		}
	}
	if op.answer == html {
		id += "Page"
	}
	return id
}

func TestOperationsHaveNamesOfTheirOwn(t *testing.T) {
	ids := map[string]bool{}
	for _, op := range operations() {
		ids[op.id()] = true
	}
	if len(ids) != len(operations()) {
		t.Errorf("%q", slices.Sorted(maps.Keys(ids)))
	}
}

// TestPagesNamePathsThatAre: whoever pastes a path, or grants the right to one, means a route.
func TestPagesNamePathsThatAre(t *testing.T) {
	s := made(t, seen())
	paths := map[string]bool{}
	for _, route := range routesOf(t, s.API()) {
		_, path, _ := strings.Cut(route, " ")
		paths[path] = true
	}
	variable := regexp.MustCompile(`\{.*?\}`)
	leads := func(path string) bool {
		for route := range paths {
			given, known := strings.Split(path, "/"), strings.Split(variable.ReplaceAllString(route, "*"), "/")
			if strings.HasSuffix(path, "*") { // of a rule of RBAC
				given, known = given[:len(given)-1], known[:min(len(known), len(given)-1)]
			}
			if ok, err := filepath.Match(strings.Join(known, "/"), strings.Join(given, "/")); ok && err == nil {
				return true
			}
		}
		return false
	}
	found := 0
	for _, pattern := range []string{"*.md", "docs/*.md", "deploy/*.md"} {
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range regexp.MustCompile(`/v1/[a-z][A-Za-z0-9%{}._~:/*-]*`).FindAllString(string(text), -1) {
				path = strings.TrimRight(path, ".:")
				if strings.HasPrefix(path, "/v1/nodes") || filepath.Base(file) == "CHANGELOG.md" {
					continue // Ironic's, or of former times
				}
				if found++; !leads(path) {
					t.Errorf("%s: %s is no path of the API", filepath.Base(file), path)
				}
			}
		}
	}
	if found < 25 || leads("/v1/hold") || leads("/v1/statuses/*") || leads("/v1/holds/a/b/relase") {
		t.Errorf("found %d paths: the search is broken", found)
	}
}
