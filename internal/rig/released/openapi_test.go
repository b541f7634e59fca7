package released

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// tree is a part of an OpenAPI document.
type tree = map[string]any

// openAPI are the promises of docs/openapi.yaml.
func openAPI(root string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "openapi.yaml"))
	if err != nil {
		return nil, err
	}
	return httpPromises(text)
}

func httpPromises(text []byte) (lines []string, err error) {
	var doc struct {
		Paths      map[string]tree
		Components struct {
			Parameters map[string]tree
			Responses  map[string]tree
			Schemas    map[string]tree
		}
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	for path, methods := range doc.Paths {
		if !strings.HasPrefix(path, "/v1/") && !slices.Contains([]string{"/healthz", "/readyz", "/metrics"}, path) {
			continue // the page is for people
		}
		for method, v := range methods {
			operation, ok := v.(tree)
			if !ok || operation["responses"] == nil {
				continue // servers, parameters
			}
			lines = append(lines, operationPromises(strings.ToUpper(method)+" "+path, operation)...)
		}
	}
	for kind, parts := range map[string]map[string]tree{"parameter": doc.Components.Parameters, "answer": doc.Components.Responses} {
		for name, part := range parts {
			lines = append(lines, fmt.Sprintf("%s %s: %s", kind, name, form(part)))
		}
	}
	for name, schema := range doc.Components.Schemas {
		lines = append(lines, schemaPromises("schema "+name, schema)...)
	}
	slices.Sort(lines)
	return lines, nil
}

func operationPromises(name string, o tree) []string {
	answers, _ := o["responses"].(tree)
	lines := []string{name, fmt.Sprintf("%s answers with %s", name, strings.Join(slices.Sorted(maps.Keys(answers)), " "))}
	for code, answer := range answers {
		lines = append(lines, fmt.Sprintf("%s answers %s: %s", name, code, form(answer)))
	}
	if body, ok := o["requestBody"]; ok {
		lines = append(lines, fmt.Sprintf("%s takes %s", name, form(body)))
	}
	parameters, _ := o["parameters"].([]any)
	var needed []string
	for _, v := range parameters {
		p, _ := v.(tree)
		lines = append(lines, fmt.Sprintf("%s takes %s", name, form(p)))
		if p["required"] == true {
			needed = append(needed, fmt.Sprint(p["name"]))
		}
	}
	slices.Sort(needed)
	return append(lines, fmt.Sprintf("%s needs parameters %v", name, needed))
}

// schemaPromises: what must be in a request is one line, as more of it breaks who asks; what is
// always in an answer is a line each, as more of it breaks nobody.
func schemaPromises(name string, s tree) []string {
	request := s["additionalProperties"] == false
	fields, isObject := s["properties"].(tree)
	if !isObject && !request {
		return []string{name + ": " + form(s)}
	}
	lines := []string{name}
	for field, v := range fields {
		lines = append(lines, fmt.Sprintf("%s.%s: %s", name, field, form(v)))
	}
	required, _ := s["required"].([]any)
	if request {
		return append(lines, fmt.Sprintf("%s is a request that needs %v", name, required))
	}
	for _, field := range required {
		lines = append(lines, fmt.Sprintf("%s.%v is always there", name, field))
	}
	return lines
}

// form is a part in one line, without what only people read.
func form(v any) string {
	switch v := v.(type) {
	case tree:
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if key == "description" || key == "summary" || key == "operationId" || key == "example" || key == "examples" {
				if _, isText := v[key].(string); isText || strings.HasPrefix(key, "example") {
					continue
				}
			}
			parts = append(parts, key+" "+form(v[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for _, part := range v {
			parts = append(parts, form(part))
		}
		return "[" + strings.Join(parts, " ") + "]"
	default:
		return fmt.Sprint(v)
	}
}
