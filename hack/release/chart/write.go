package chart

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// writer writes one object: what all samples have of it, with ifs around the rest.
type writer struct {
	sets   []map[string]bool
	object string
	b      strings.Builder
}

// part is one entry of a mapping or a list, in all samples that have it.
type part struct {
	name  string
	nodes []*yaml.Node
}

func (w *writer) line(indent int, text string) {
	w.b.WriteString(strings.Repeat(" ", indent) + text + "\n")
}

// parts writes entries one after the other, and an if around those that come with a feature.
func (w *writer) parts(parent []*yaml.Node, all []part, indent int, write func(part) error) error {
	open := ""
	for _, p := range all {
		c, err := explain(w.sets, present(parent), present(p.nodes))
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if c.when != open {
			w.end(indent, open)
			if open = c.when; open != "" {
				w.line(indent, "{{- if "+open+" }}")
			}
		}
		if err := write(p); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	w.end(indent, open)
	return nil
}

func (w *writer) end(indent int, open string) {
	if open != "" {
		w.line(indent, "{{- end }}")
	}
}

// mapping writes a mapping and what the values of the chart add to it.
func (w *writer) mapping(nodes []*yaml.Node, path string, indent int) error {
	keys := map[string]bool{}
	for _, n := range nodes {
		for i := 0; n != nil && i < len(n.Content); i += 2 {
			keys[n.Content[i].Value] = true
		}
	}
	var all []part
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		p := part{name: key}
		for _, n := range nodes {
			p.nodes = append(p.nodes, field(n, key))
		}
		all = append(all, p)
	}
	err := w.parts(nodes, all, indent, func(p part) error { return w.value(p, path+"/"+p.name, indent) })
	for text := range strings.Lines(added[w.object+path]) {
		w.line(indent, strings.TrimSuffix(text, "\n"))
	}
	return err
}

// value writes one entry of a mapping.
func (w *writer) value(p part, path string, indent int) error {
	if text, ok := replaced[w.object+path]; ok {
		w.line(indent, p.name+": "+text)
		return nil
	}
	switch one := first(p.nodes); one.Kind {
	case yaml.MappingNode:
		if empty(p.nodes) {
			w.line(indent, p.name+": {}")
			return nil
		}
		w.line(indent, p.name+":")
		return w.mapping(p.nodes, path, indent+2)
	case yaml.SequenceNode:
		return w.list(p, path, indent)
	default:
		return w.scalar(p, indent)
	}
}

func first(nodes []*yaml.Node) *yaml.Node {
	return nodes[slices.IndexFunc(nodes, func(n *yaml.Node) bool { return n != nil })]
}

// empty reports whether nobody has anything in it.
func empty(nodes []*yaml.Node) bool {
	return !slices.ContainsFunc(nodes, func(n *yaml.Node) bool { return n != nil && len(n.Content) > 0 })
}

// list writes a list. What has a name is the same element in all samples; else what is equal.
func (w *writer) list(p part, path string, indent int) error {
	var all []part
	bare := make([]bool, len(p.nodes))
	for i, n := range p.nodes {
		bare[i] = n != nil && len(n.Content) == 0
		at := 0
		for j := 0; n != nil && j < len(n.Content); j++ {
			name := identity(n.Content[j])
			k := slices.IndexFunc(all, func(e part) bool { return e.name == name })
			if k < 0 {
				k = at
				all = slices.Insert(all, k, part{name, make([]*yaml.Node, len(p.nodes))})
			}
			all[k].nodes[i], at = n.Content[j], k+1
		}
	}
	if slices.Contains(bare, true) {
		c, err := explain(w.sets, present(p.nodes), negated(bare, present(p.nodes)))
		if err != nil {
			return err
		}
		w.line(indent, p.name+":{{ if not ("+c.when+") }} []{{ end }}")
	} else {
		w.line(indent, p.name+":")
	}
	return w.parts(p.nodes, all, indent, func(e part) error {
		w.b.WriteString(strings.Repeat(" ", indent) + "- ")
		begin := w.b.Len()
		if first(e.nodes).Kind != yaml.MappingNode {
			return w.scalar(e, -1)
		}
		if empty(e.nodes) {
			w.line(0, "{}")
			return nil
		}
		name := e.name
		if field(first(e.nodes), "name") == nil {
			name = "-"
		}
		if err := w.mapping(e.nodes, path+"/"+name, indent+2); err != nil {
			return err
		}
		// The first line stands beside the dash.
		text := w.b.String()
		w.b.Reset()
		w.b.WriteString(text[:begin] + strings.TrimLeft(text[begin:], " "))
		return nil
	})
}

func negated(has, in []bool) []bool {
	not := make([]bool, len(has))
	for i := range has {
		not[i] = in[i] && !has[i]
	}
	return not
}

func identity(n *yaml.Node) string {
	if name := field(n, "name"); n.Kind == yaml.MappingNode && name != nil {
		return name.Value
	}
	text, err := yaml.Marshal(n)
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(text)
}

// scalar writes a value, by condition where it is not the same in all samples. With indent -1 it is
// an element of a list.
func (w *writer) scalar(p part, indent int) error {
	var texts []string
	has := map[string][]bool{}
	for i, n := range p.nodes {
		if n == nil {
			continue
		}
		text, err := w.text(p.name, n, indent)
		if err != nil {
			return err
		}
		if has[text] == nil {
			texts, has[text] = append(texts, text), make([]bool, len(p.nodes))
		}
		has[text][i] = true
	}
	key := ""
	if indent >= 0 {
		key = p.name + ": "
	}
	if len(texts) == 1 {
		w.line(max(indent, 0), key+texts[0])
		return nil
	}
	if len(texts) > 2 {
		return fmt.Errorf("%d values: %q", len(texts), texts)
	}
	c, err := explain(w.sets, present(p.nodes), has[texts[1]])
	if err == nil && strings.HasPrefix(c.when, "not ") {
		slices.Reverse(texts)
		c, err = explain(w.sets, present(p.nodes), has[texts[1]])
	}
	w.line(max(indent, 0), key+"{{ if "+c.when+" }}"+texts[1]+"{{ else }}"+texts[0]+"{{ end }}")
	return err
}

// text is a value as it stands in a template.
func (w *writer) text(key string, n *yaml.Node, indent int) (string, error) {
	bare := *n
	bare.HeadComment, bare.LineComment, bare.FootComment = "", "", ""
	encoded, err := yaml.Marshal(&bare)
	if err != nil {
		return "", err
	}
	text := strings.TrimSuffix(string(encoded), "\n")
	text = strings.ReplaceAll(text, "{{", `{{ "{{" }}`)
	// Lines of a block, below their key.
	text = strings.ReplaceAll(text, "\n    ", "\n"+strings.Repeat(" ", max(indent, 0)+2))
	switch {
	case text == "metal3" && (key == "namespace" || key == "WATCH_NAMESPACE"):
		return `"{{ .Values.watchNamespace }}"`, nil
	case strings.Contains(text, ours) && !strings.Contains(text, "\n"):
		return `"` + strings.ReplaceAll(strings.Trim(text, `"'`), ours, "{{ .Release.Namespace }}") + `"`, nil
	case strings.Contains(text, ours):
		return strings.ReplaceAll(text, ours, "{{ .Release.Namespace }}"), nil
	}
	return text, nil
}

// ours is the namespace of the manifests.
const ours = "baremetal-operator-system"

// Where values of the chart stand for what the manifests say, by object and path.
const (
	deployment = "Deployment ironic-throttle/spec"
	pod        = deployment + "/template/spec"
	container  = pod + "/containers/ironic-throttle"
)

var replaced = map[string]string{
	deployment + "/replicas":                            "{{ .Values.replicas }}",
	container + "/image":                                `"{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"`,
	container + "/imagePullPolicy":                      "{{ .Values.image.pullPolicy }}",
	container + "/resources":                            "{{- toYaml .Values.resources | nindent 10 }}",
	"ConfigMap ironic-throttle-config/data/config.yaml": "|\n    {{- toYaml .Values.config | nindent 4 }}",
}

var added = map[string]string{
	deployment + "/template/metadata/annotations": `checksum/settings: {{ include (print $.Template.BasePath "/settings.yaml") . | sha256sum }}`,
	pod:                             "{{- with .Values.pod }}\n{{- toYaml . | nindent 6 }}\n{{- end }}",
	"ConfigMap ironic-throttle-env": "{{- with .Values.env }}\ndata:\n  {{- range $name, $value := . }}\n  {{ $name }}: {{ $value | quote }}\n  {{- end }}\n{{- end }}",
}
