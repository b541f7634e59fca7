package config

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/viper"
)

// maxFile bounds the config file, bytes.
const maxFile = 1 << 20

// readFile reads path unless it is larger than maxFile.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// fromFile reads the settings in the file at path.
func fromFile(rows []setting, path string, read func(string) ([]byte, error)) (layer, []error) {
	if read == nil {
		read = readFile
	}
	fault := func(rule string) (layer, []error) {
		return nil, []error{&Fault{Setting: nameConfig, Value: path, Rule: rule}}
	}
	body, err := read(path)
	if err != nil {
		return fault(fmt.Sprintf("cannot be read: %v", err))
	}
	if len(body) > maxFile {
		return fault(fmt.Sprintf("must not be larger than %d bytes", maxFile))
	}
	tree, err := decode(path, body)
	if err != nil {
		return fault(err.Error())
	}
	return fromTree(rows, path, tree)
}

// decode turns the text of a file into keys and values, by its extension.
func decode(path string, body []byte) (map[string]any, error) {
	ext := strings.TrimPrefix(filepath.Ext(path), ".")
	switch ext {
	case "yaml", "yml", "json", "toml":
	default:
		return nil, ruleError("must end in .yaml, .yml, .json or .toml")
	}
	decoder, err := viper.NewCodecRegistry().Decoder(ext)
	if err != nil {
		return nil, err
	}
	tree := map[string]any{}
	if len(strings.TrimSpace(string(body))) == 0 {
		return tree, nil
	}
	if err := decoder.Decode(body, tree); err != nil {
		return nil, fmt.Errorf("is no %s that can be read: %w", ext, err)
	}
	return tree, nil
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
			near, _ := nearest(key, keys)
			faults = append(faults, &Fault{
				Setting: quote(key), Source: "file " + path,
				Rule: fmt.Sprintf("is not a setting; did you mean %s?", near),
			})
			continue
		}
		source := fmt.Sprintf("file %s, key %s", path, key)
		text, err := plain(tree[key], s.name == namePoolLimits)
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
// name=value pairs where the setting is a list of such.
func plain(v any, table bool) (string, error) {
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
		if !table {
			break
		}
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			text, err := plain(v[name], false)
			if err != nil {
				return "", err
			}
			pairs = append(pairs, name+"="+text)
		}
		return strings.Join(pairs, ","), nil
	}
	if table {
		return "", ruleError(`must be a text such as "rack1=8,rack2=12" or a table of numbers`)
	}
	return "", ruleError("must be a single value, not a list or a table")
}
