package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// dockerConfig is what the last stage of a Dockerfile says of how its image runs: one source for
// the image of make image and for ours. vars are its build arguments.
func dockerConfig(path string, vars map[string]string) (v1.Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return v1.Config{}, err
	}
	config := v1.Config{Labels: map[string]string{}, ExposedPorts: map[string]struct{}{}}
	lines := strings.ReplaceAll(string(text), "\\\n", " ")
	lines = lines[strings.LastIndex(lines, "\nFROM "):]
	for line := range strings.SplitSeq(lines, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		rest = expand(rest, vars)
		switch word {
		case "USER":
			config.User = rest
		case "EXPOSE":
			for port := range strings.FieldsSeq(rest) {
				config.ExposedPorts[port+"/tcp"] = struct{}{}
			}
		case "ENTRYPOINT":
			err = json.Unmarshal([]byte(rest), &config.Entrypoint)
		case "CMD":
			err = json.Unmarshal([]byte(rest), &config.Cmd)
		case "LABEL":
			for _, m := range regexp.MustCompile(`([\w.-]+)="([^"]*)"`).FindAllStringSubmatch(rest, -1) {
				config.Labels[m[1]] = m[2]
			}
		case "", "#", "FROM", "ARG", "COPY":
		default:
			err = fmt.Errorf("an image cannot have %s yet", word)
		}
		if err != nil {
			return v1.Config{}, fmt.Errorf("%s: %s: %w", path, line, err)
		}
	}
	return config, nil
}

func expand(text string, vars map[string]string) string {
	for name, value := range vars {
		text = strings.ReplaceAll(text, "${"+name+"}", value)
	}
	return text
}
