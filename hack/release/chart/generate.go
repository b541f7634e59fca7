package chart

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Build is kustomize: it builds a kustomization of these lines.
type Build func(lines string) (string, error)

// Generate makes the templates, by file name.
func Generate(build Build) (map[string]string, error) {
	g := generator{sets: samples()}
	g.trees = make([]map[string]*yaml.Node, len(g.sets))
	for i, on := range g.sets {
		text, err := build(Kustomization(on))
		if err != nil {
			return nil, err
		}
		if g.trees[i], err = g.parse(text); err != nil {
			return nil, err
		}
	}
	return g.files()
}

// generator holds what kustomize has built: of each sample the objects by their keys.
type generator struct {
	sets  []map[string]bool
	trees []map[string]*yaml.Node
	keys  []string // of all objects, in the order in which they were first seen
}

// parse reads objects. An object's key is its kind and name.
func (g *generator) parse(text string) (map[string]*yaml.Node, error) {
	objects := map[string]*yaml.Node{}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		object := document.Content[0]
		key := field(object, "kind").Value + " " + field(field(object, "metadata"), "name").Value
		objects[key] = object
		if !slices.Contains(g.keys, key) {
			g.keys = append(g.keys, key)
		}
	}
}

// field is the value of a key of a mapping; nil where there is none.
func field(mapping *yaml.Node, key string) *yaml.Node {
	if mapping == nil {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// object is one object as it stands in its file.
type object struct{ when, text string }

// files writes all objects, each in the file of the feature that it comes with.
func (g *generator) files() (map[string]string, error) {
	found := map[string][]object{}
	everywhere := make([]bool, len(g.sets))
	for i := range everywhere {
		everywhere[i] = true
	}
	for _, key := range g.keys {
		nodes := make([]*yaml.Node, len(g.sets))
		for i := range nodes {
			nodes[i] = g.trees[i][key]
		}
		c, err := explain(g.sets, everywhere, present(nodes))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		w := writer{sets: g.sets, object: key}
		if err := w.mapping(nodes, "", 0); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		name := c.file
		if name == "" {
			name = fileOf(key)
		}
		found[name+".yaml"] = append(found[name+".yaml"], object{c.when, "---\n" + w.b.String()})
	}
	files := map[string]string{}
	for name, objects := range found {
		text := "{{- /* Generated from deploy/ (docs/dev/releasing.md). */}}\n"
		open := ""
		for _, o := range append(objects, object{}) { // the last closes what is open
			if o.when != open && open != "" {
				text += "{{- end }}\n"
			}
			if o.when != open && o.when != "" {
				text += "{{- if " + o.when + " }}\n"
			}
			text, open = text+o.text, o.when
		}
		files[name] = text
	}
	return files, nil
}

// fileOf is the file of an object that is always there.
func fileOf(key string) string {
	kind, name, _ := strings.Cut(key, " ")
	switch {
	case name == "ironic-throttle-config":
		return "config" // it changes live: no new pod
	case kind == "ConfigMap":
		return "settings"
	case strings.Contains(kind, "Role") || kind == "ServiceAccount":
		return "rights"
	}
	return strings.ToLower(kind)
}

// present tells which samples have a node.
func present(nodes []*yaml.Node) []bool {
	has := make([]bool, len(nodes))
	for i, n := range nodes {
		has[i] = n != nil
	}
	return has
}
