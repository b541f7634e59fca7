package released

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"
)

// TestWhatBreaks says of changes which ones take something back: each is told by one line at least,
// and an addition by none.
func TestWhatBreaks(t *testing.T) {
	goLines := func(text string) []string {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "p.go", "package p\n"+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		pkg, err := new(types.Config).Check("p", fset, []*ast.File{file}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return promises(pkg)
	}
	httpLines := func(text string) []string {
		lines, err := httpPromises([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return lines
	}
	const (
		program = "type Ask struct { Name string `json:\"name\"` }\nfunc (Ask) Check() error { return nil }\n" +
			"type Word string\nconst Yes Word = \"yes\"\ntype Asker interface { IsReady(Ask) bool }\nfunc New(url string) *Ask { return nil }\n"
		service = `
paths:
  /v1/isready:
    post:
      parameters: [{name: wait, in: query, required: false, schema: {type: integer}}]
      responses: {"200": {description: OK}, "400": {$ref: '#/components/responses/BadRequest'}}
components:
  schemas:
    Ask: {type: object, additionalProperties: false, properties: {op: {type: string}}, required: [op]}
    Answer: {type: object, properties: {reason: {type: string, enum: [full, granted]}, place: {type: integer}}, required: [reason]}
`
		scrape   = "# TYPE ironic_throttle_slots gauge\nironic_throttle_slots{pool=\"\"} 1\n"
		settings = "| `IRONIC_THROTTLE_LINGER` | `linger` | `--linger` | 45s |\n"
		manual   = ".SH SYNOPSIS\n.B ironic\\-throttle holds release HOST [flags]\n.SH OPTIONS\n.TP\n.B \\-\\-episode \\fIfailure\\fR\nit\n"
	)
	for _, tt := range []struct {
		name     string
		lines    func(string) []string
		text     string
		from, to string
		breaks   bool
	}{
		{"a field more", goLines, program, "Name string", "More int; Name string", false},
		{"a field less", goLines, program, "Name string `json:\"name\"`", "", true},
		{"another name on the wire", goLines, program, `json:\"name\"`, `json:\"host\"`, true},
		{"another type", goLines, program, "Name string", "Name []byte", true},
		{"a method less", goLines, program, "Check()", "check()", true},
		{"a method that needs a pointer", goLines, program, "(Ask) Check", "(*Ask) Check", true},
		{"a method more of an interface", goLines, program, "IsReady(Ask) bool", "IsReady(Ask) bool; More()", true},
		{"another value of a constant", goLines, program, `"yes"`, `"ja"`, true},
		{"a parameter more", goLines, program, "New(url string)", "New(url string, more ...int)", true},
		{"a function more", goLines, program, "type Word", "func More() {}\ntype Word", false},

		{"a path less", httpLines, service, "/v1/isready", "/v2/isready", true},
		{"another method", httpLines, service, "post:", "put:", true},
		{"a status code more", httpLines, service, `{"200"`, `{"202": {}, "200"`, true},
		{"a status code less", httpLines, service, `"200": {description: OK}, `, "", true},
		{"a parameter is needed now", httpLines, service, "required: false", "required: true", true},
		{"a field of the ask more", httpLines, service, "{op: {type: string}}", "{op: {type: string}, more: {type: string}}", false},
		{"a field of the ask is needed now", httpLines, service, "{op: {type: string}}, required: [op]", "{op: {type: string}, more: {type: string}}, required: [more, op]", true},
		{"a field of the answer more", httpLines, service, "place:", "more: {type: string}, place:", false},
		{"a field of the answer less", httpLines, service, ", place: {type: integer}", "", true},
		{"a field of another type", httpLines, service, "place: {type: integer}", "place: {type: string}", true},
		{"a field that may be missing now", httpLines, service, "required: [reason]", "required: []", true},
		{"a field that is always there now", httpLines, service, "required: [reason]", "required: [place, reason]", false},
		{"a word more of a closed set", httpLines, service, "[full,", "[full, late,", true},
		{"another description", httpLines, service, "description: OK", "description: Well", false},

		{"a metric less", metricPromises, scrape, "ironic_throttle_slots", "ironic_throttle_places", true},
		{"another label", metricPromises, scrape, "pool=", "group=", true},
		{"another type of metric", metricPromises, scrape, "gauge", "counter", true},
		{"another key in the file", settingPromises, settings, "`linger`", "`lingers`", true},
		{"another default", settingPromises, settings, "45s", "50s", false},
		{"another command", commandPromises, manual, "release HOST", "free HOST", true},
		{"another flag", commandPromises, manual, "episode", "failure", true},
		{"a flag without value", commandPromises, manual, ` \fIfailure\fR`, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changed := strings.Replace(tt.text, strings.ReplaceAll(tt.from, `\"`, `"`), strings.ReplaceAll(tt.to, `\"`, `"`), 1)
			if changed == tt.text {
				t.Fatal("nothing was changed")
			}
			before, after := tt.lines(tt.text), tt.lines(changed)
			if lost := missing(before, after); len(before) == 0 || (len(lost) > 0) != tt.breaks {
				t.Errorf("%d lines before, lost %q; want some lost: %v", len(before), lost, tt.breaks)
			}
		})
	}
}

func TestTheNewestReleaseCounts(t *testing.T) {
	for _, pair := range [][2]string{{"v0.2.0", "v0.10.0"}, {"v0.9.9", "v1.0.0"}, {"v1.0.1", "v1.0.2"}} {
		if compare(pair[0], pair[1]) >= 0 {
			t.Errorf("%s is not before %s", pair[0], pair[1])
		}
	}
}
