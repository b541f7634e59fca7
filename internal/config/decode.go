package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"
)

func extension(path string) string { return strings.TrimPrefix(filepath.Ext(path), ".") }

// decodable reports whether decode knows the extension of path.
func decodable(path string) bool {
	return slices.Contains([]string{"yaml", "yml", "json", "toml"}, extension(path))
}

// decode turns the text of a file into keys and values, by its extension. A file
// can hold a password, so no error repeats its values.
func decode(path string, body []byte) (map[string]any, error) {
	ext := extension(path)
	var tree map[string]any
	var err error
	switch {
	case !decodable(path):
		return nil, ruleError("must end in .yaml, .yml, .json or .toml")
	case len(bytes.TrimSpace(body)) == 0:
	case ext == "json":
		tree, err = decodeJSON(body)
	case ext == "toml":
		tree, err = decodeViper(ext, body)
	default:
		tree, err = decodeYAML(body)
	}
	var rule ruleError
	if err != nil && !errors.As(err, &rule) {
		err = fmt.Errorf("is no %s that can be read: %w", ext, err)
	}
	return tree, err
}

func decodeViper(ext string, body []byte) (map[string]any, error) {
	decoder, err := viper.NewCodecRegistry().Decoder(ext)
	if err != nil {
		return nil, err
	}
	tree := map[string]any{}
	return tree, decoder.Decode(body, tree)
}

func decodeJSON(body []byte) (map[string]any, error) {
	tree, err := decodeViper("json", body)
	if err != nil {
		return nil, err
	}
	if key, found := twiceInJSON(json.NewDecoder(bytes.NewReader(body))); found {
		return nil, twice(key)
	}
	return tree, nil
}

// twice is the fault of a key whose second value would silently win.
func twice(key string) error {
	return ruleError(fmt.Sprintf("must give each key once, %s comes twice", quote(key)))
}

// twiceInJSON reads one value, known to be sound, and reports the first key that
// an object in it has twice. Its depth is that of encoding/json, at most 10,000.
func twiceInJSON(d *json.Decoder) (string, bool) {
	t, _ := d.Token()
	open, _ := t.(json.Delim)
	if open == 0 {
		return "", false
	}
	seen := map[string]bool{}
	for d.More() {
		if open == '{' {
			t, _ := d.Token()
			key, _ := t.(string)
			if seen[key] {
				return key, true
			}
			seen[key] = true
		}
		if key, found := twiceInJSON(d); found {
			return key, true
		}
	}
	_, _ = d.Token() // the closing brace
	return "", false
}

// decodeYAML keeps each value as it is written: 010 is then the ten that it is
// in the environment and not the eight that YAML makes of it.
func decodeYAML(body []byte) (map[string]any, error) {
	d := yaml.NewDecoder(bytes.NewReader(body))
	var doc, more yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF): // comments alone
		return nil, nil
	case err != nil:
		return nil, err
	}
	switch err := d.Decode(&more); {
	case err == nil:
		return nil, ruleError(fmt.Sprintf("must hold one YAML document, a second one begins at line %d", more.Line))
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	root := doc.Content[0]
	switch {
	case root.Kind == yaml.MappingNode:
		return yamlTable(root, true)
	case root.ShortTag() == "!!null":
		return nil, nil
	}
	return nil, ruleError("must be a table of settings, key: value")
}

// yamlTable is a mapping, and one below it: deeper there are no settings, and an
// alias could lead in circles.
func yamlTable(n *yaml.Node, nested bool) (map[string]any, error) {
	tree := map[string]any{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i].Value, n.Content[i+1]
		if _, found := tree[key]; found {
			return nil, twice(key)
		}
		if v.Kind == yaml.AliasNode {
			v = v.Alias
		}
		switch {
		case v.Kind == yaml.MappingNode && nested:
			table, err := yamlTable(v, false)
			if err != nil {
				return nil, err
			}
			tree[key] = table
		case v.Kind != yaml.ScalarNode:
			tree[key] = []any{}
		case v.ShortTag() == "!!null":
			tree[key] = nil
		default:
			tree[key] = v.Value
		}
	}
	return tree, nil
}
