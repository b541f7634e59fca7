package config

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// sum is a short stand-in for the content of a file, which may hold a secret.
func sum(body []byte) string { return fmt.Sprintf("%x", sha256.Sum256(body)) }

// readFile gives viper the config file, where one is named. A file can hold a password, so no
// fault repeats what is in it and no setting. JSON is YAML too.
func (l *loader) readFile(path string, src Sources) {
	if path == "" {
		return
	}
	refuse := func(rule string, args ...any) { l.fault(named("config").name(), path, "", rule, args...) }
	body, err := src.read(path)
	if err != nil {
		refuse("cannot be read: %v", err)
		return
	}
	l.config.File, l.config.FileSum = path, sum(body)
	if !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
		refuse("must end in .yaml, .yml or .json")
		return
	}
	root, err := parse(body)
	switch own := ruleError(""); {
	case errors.As(err, &own):
		refuse("%v", own)
	case err != nil:
		refuse("is no file that can be read: %v", err)
	default:
		l.takeAll(root)
	}
}

// takeAll gives viper what is in the file. viper's own readers fold the case of keys, let a doubled key win and read
// 010 as eight, which it is not in the environment.
func (l *loader) takeAll(root *yaml.Node) {
	var keys []string
	for _, s := range settings {
		if s.key != "config" {
			keys = append(keys, s.key)
		}
	}
	first := map[string]int{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i].Value, root.Content[i+1]
		source := fmt.Sprintf("file %s, line %d", l.config.File, root.Content[i].Line)
		line, twice := first[key]
		first[key] = root.Content[i].Line
		switch {
		case twice: // the second value would silently win
			l.fault(quote(key), "", source, "must come once, and is in line %d too", line)
		case !slices.Contains(keys, key):
			l.fault(quote(key), "", source, "is not a setting%s", meant(key, keys))
		default:
			l.take(named(key), value, source)
		}
	}
}

// take gives viper one value. Flag and environment win over it.
func (l *loader) take(s setting, value *yaml.Node, source string) {
	text, err := plain(value, s.kind.Kind() == reflect.Map, s.rule.must)
	switch {
	case err != nil:
		l.broken[s.key] = true
		l.fault(s.name(), "", source, "%v", err)
	case text != "":
		_ = l.v.MergeConfigMap(map[string]any{s.key: text}) // never fails
		if !l.given(s.key) {
			l.from[s.key] = source
		}
	}
}

// plain is the text of a value; a table becomes name=value pairs where the setting is a
// list of such.
func plain(n *yaml.Node, pairs bool, must string) (string, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return "", nil
	case n.Kind == yaml.ScalarNode:
		return n.Value, nil
	case !pairs:
		return "", ruleError("must be a single value, not a list or a table")
	}
	notPairs := ruleError("must be " + must + "; or a table of such pairs")
	if n.Kind != yaml.MappingNode {
		return "", notPairs
	}
	var all []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		text, err := plain(n.Content[i+1], false, "")
		if err != nil || strings.ContainsAny(name, "=,") {
			return "", notPairs
		}
		all = append(all, name+"="+text)
	}
	slices.Sort(all)
	return strings.Join(all, ","), nil
}

// parse reads a file into a table.
func parse(body []byte) (*yaml.Node, error) {
	d := yaml.NewDecoder(bytes.NewReader(body))
	var doc, more yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF): // nothing, or comments alone
		return &doc, nil
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
	if root.Kind != yaml.MappingNode && root.ShortTag() != "!!null" {
		return nil, ruleError("must be a table of settings, key: value")
	}
	return root, nil
}
