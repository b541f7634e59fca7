package config

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/internal/nearest"
	"github.com/ironic-throttle/ironic-throttle/internal/plainfile"
)

// maxFile bounds the config file, bytes.
const maxFile = 1 << 20

// readFile reads the regular file at path.
func readFile(path string) ([]byte, error) { return plainfile.Read(path, maxFile) }

// sum is a short stand-in for the content of a file, which may hold a secret.
func sum(body []byte) string { return fmt.Sprintf("%x", sha256.Sum256(body)) }

// fromFile reads the settings in the file at path and the sum of its content.
func fromFile(rows []setting, path string, read func(string) ([]byte, error)) (layer, string, []error) {
	if read == nil {
		read = readFile
	}
	fault := func(rule string) (layer, string, []error) {
		return nil, "", []error{&Fault{Setting: nameConfig, Value: path, Rule: rule}}
	}
	body, err := read(path)
	if err != nil {
		return fault(fmt.Sprintf("cannot be read: %v", err))
	}
	tree, err := decode(path, body)
	if err != nil {
		return fault(err.Error())
	}
	found, faults := fromTree(rows, path, tree)
	return found, sum(body), faults
}

// fromTree picks our settings out of a decoded file.
func fromTree(rows []setting, path string, tree map[string]any) (layer, []error) {
	known := map[string]setting{}
	var keys []string
	for _, s := range rows {
		if !s.noFile {
			known[s.key()] = s
			keys = append(keys, s.key())
		}
	}
	found := layer{}
	var faults []error
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		s, ok := known[key]
		if !ok {
			near, _ := nearest.Word(key, keys)
			faults = append(faults, &Fault{
				Setting: quote(key), Source: "file " + path,
				Rule: fmt.Sprintf("is not a setting; did you mean %s?", near),
			})
			continue
		}
		source := fmt.Sprintf("file %s, key %s", path, key)
		text, err := plain(tree[key], s.pairs)
		if err != nil {
			faults = append(faults, &Fault{Setting: s.name, Source: source, Rule: err.Error()})
			continue
		}
		if text != "" {
			found[s.name] = given{text, source}
		}
	}
	return found, faults
}

// plain is the text of a decoded value; a table of plain values becomes
// name=value pairs where the setting is a list of such: pairs is then an example
// of it.
func plain(v any, pairs string) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case bool, int, int64, uint64:
		return fmt.Sprint(v), nil
	case float64:
		// JSON has no other number.
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case map[string]any:
		if pairs == "" {
			break
		}
		var all []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			text, err := plain(v[name], "")
			if err != nil || strings.ContainsAny(name, "=,") {
				return "", notPairs(pairs)
			}
			all = append(all, name+"="+text)
		}
		return strings.Join(all, ","), nil
	}
	if pairs != "" {
		return "", notPairs(pairs)
	}
	return "", ruleError("must be a single value, not a list or a table")
}

// notPairs is the fault of what cannot be read as name=number pairs.
func notPairs(example string) error {
	return ruleError(fmt.Sprintf("must be a text such as %q or a table of such pairs", example))
}
