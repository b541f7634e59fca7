package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"

	"github.com/ironic-throttle/ironic-throttle/internal/nearest"
	"github.com/ironic-throttle/ironic-throttle/internal/plainfile"
)

// maxFile bounds the config file, bytes.
const maxFile = 1 << 20

// readFile reads the regular file at path.
func readFile(path string) ([]byte, error) { return plainfile.Read(path, maxFile) }

// sum is a short stand-in for the content of a file, which may hold a secret.
func sum(body []byte) string { return fmt.Sprintf("%x", sha256.Sum256(body)) }

func extension(path string) string { return strings.TrimPrefix(filepath.Ext(path), ".") }

// readable reports whether parse knows the extension of path.
func readable(path string) bool {
	return slices.Contains([]string{"yaml", "yml", "json", "toml"}, extension(path))
}

// merge gives viper the settings in the config file, where one is named.
func (l *loader) merge(path string, read func(string) ([]byte, error)) {
	if path == "" {
		return
	}
	if read == nil {
		read = readFile
	}
	body, err := read(path)
	if err != nil {
		l.fault(nameConfig, path, "", "cannot be read: %v", err)
		return
	}
	l.config.FileSum = sum(body)
	root, err := parse(path, body)
	if err != nil {
		l.fault(nameConfig, path, "", "%v", err)
		return
	}
	_ = l.v.MergeConfigMap(l.settingsIn(path, root)) // never fails
}

// settingsIn are the settings in a file, as text. Each value is kept as it is written: 010
// is then the ten that it is in the environment and not the eight that YAML makes of it.
func (l *loader) settingsIn(path string, root *yaml.Node) map[string]any {
	known := map[string]setting{}
	var keys []string
	for _, s := range table {
		if !s.noFile {
			known[s.key()] = s
			keys = append(keys, s.key())
			if was, ok := s.former(); ok {
				known[was.key()] = s
			}
		}
	}
	found, formers := map[string]any{}, []formerKey{}
	first := map[string]int{} // line of each key
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		s, ok := known[key.Value]
		source := place(path, key)
		if line, twice := first[key.Value]; twice { // the second value would silently win
			l.fault(quote(key.Value), "", source, "must come once, and is in line %d too", line)
			continue
		}
		first[key.Value] = key.Line
		if !ok {
			near, _ := nearest.Word(key.Value, keys)
			l.fault(quote(key.Value), "", source, "is not a setting; did you mean %s?", near)
			continue
		}
		text, err := plain(value, s.pairs)
		switch {
		case err != nil:
			l.broken[s.name] = true
			l.fault(s.name, "", source, "%v", err)
		case key.Value != s.key():
			formers = append(formers, formerKey{s, key.Value, text, source})
		case text != "":
			found[s.key()] = text
			if !l.given(s.name) { // else flag or environment win
				l.from[s.name] = source
			}
		}
	}
	l.formerKeys(formers, found)
	return found
}

// place names where a key stands; TOML's reader tells no lines.
func place(path string, key *yaml.Node) string {
	if key.Line == 0 {
		return fmt.Sprintf("file %s, key %s", path, key.Value)
	}
	return fmt.Sprintf("file %s, line %d", path, key.Line)
}

// plain is the text of a value; a table becomes name=value pairs where the setting is a
// list of such: pairs is then an example of it.
func plain(n *yaml.Node, pairs string) (string, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return "", nil
	case n.Kind == yaml.ScalarNode:
		return n.Value, nil
	case pairs == "":
		return "", ruleError("must be a single value, not a list or a table")
	case n.Kind != yaml.MappingNode:
		return "", notPairs(pairs)
	}
	var all []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		text, err := plain(n.Content[i+1], "")
		if err != nil || strings.ContainsAny(name, "=,") {
			return "", notPairs(pairs)
		}
		all = append(all, name+"="+text)
	}
	slices.Sort(all)
	return strings.Join(all, ","), nil
}

// notPairs is the fault of what cannot be read as name=value pairs.
func notPairs(example string) error {
	return ruleError(fmt.Sprintf("must be a text such as %q or a table of such pairs", example))
}

// parse reads a file by its extension into a table. A file can hold a password, so no
// error repeats its values.
func parse(path string, body []byte) (*yaml.Node, error) {
	root := &yaml.Node{Kind: yaml.MappingNode}
	ext := extension(path)
	var err error
	switch {
	case !readable(path):
		return nil, ruleError("must end in .yaml, .yml, .json or .toml")
	case len(bytes.TrimSpace(body)) == 0:
	case ext == "toml":
		root, err = parseTOML(body)
	case ext == "json" && !json.Valid(body):
		err = errors.New("it is not valid")
	default: // JSON is YAML too
		root, err = parseYAML(body)
	}
	if err != nil && !errors.As(err, new(ruleError)) {
		err = fmt.Errorf("is no %s that can be read: %w", ext, err)
	}
	return root, err
}

func parseTOML(body []byte) (*yaml.Node, error) {
	decoder, err := viper.NewCodecRegistry().Decoder("toml")
	if err != nil {
		return nil, err
	}
	tree, root := map[string]any{}, &yaml.Node{}
	return root, errors.Join(decoder.Decode(body, tree), root.Encode(tree))
}

func parseYAML(body []byte) (*yaml.Node, error) {
	d := yaml.NewDecoder(bytes.NewReader(body))
	var doc, more yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF): // comments alone
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
