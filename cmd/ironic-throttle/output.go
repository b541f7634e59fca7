package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"
)

// printJSON writes v as one indented document.
func (p *process) printJSON(v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return &exitError{exitNo, fmt.Errorf("output: %w", err)}
	}
	return p.print(string(text) + "\n")
}

// print writes text, and fails where nobody takes it: a script must not go on
// with half an answer.
func (p *process) print(text string) error {
	if _, err := p.stdout.Write([]byte(text)); err != nil {
		return &exitError{exitNo, fmt.Errorf("output: %w", err)}
	}
	return nil
}

// addresses are where a server can be reached.
type addresses struct {
	API     string `json:"api"`
	Local   string `json:"local,omitempty"`
	Health  string `json:"health,omitempty"`
	Metrics string `json:"metrics,omitempty"`
	Gateway string `json:"gateway,omitempty"`
	Admin   string `json:"admin,omitempty"`
}

// writeReadyFile tells scripts, by the appearance of a file, that all listeners
// are open and where. The file appears whole.
func writeReadyFile(path string, a addresses) error {
	if path == "" {
		return nil
	}
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("ready file: %w", err)
	}
	if err := writePrivate(path, append(text, '\n')); err != nil {
		return fmt.Errorf("ready file: %w", err)
	}
	return nil
}

// writePrivate writes a file that only its owner may read; it appears whole, or stays as it was.
func writePrivate(path string, text []byte) error {
	part, err := os.CreateTemp(filepath.Dir(path), ".part-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(part.Name()) //nolint:errcheck // gone already when all went well
	_, err = part.Write(text)
	if err == nil {
		err = part.Sync()
	}
	if closed := part.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(part.Name(), path)
	}
	return err
}

const readyFileHelp = "`file` that appears, with the addresses as JSON, once all listeners are open"

// environment looks a name up among the process's variables; "" when it is not
// set.
func (p *process) environment(name string) string {
	for _, entry := range p.environ {
		if key, value, _ := strings.Cut(entry, "="); key == name {
			return value
		}
	}
	return ""
}

// isTerminal reports whether somebody looks at w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// columns is how wide the terminal is that shows stdout; 0: it is none, and lines may have
// any length.
func (p *process) columns() int {
	f, ok := p.stdout.(*os.File)
	if p.width > 0 || !ok {
		return p.width
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// anyWidth shows text that a terminal may break where it wants.
func anyWidth[T any](text func(T) string) func(T, int) string {
	return func(answer T, _ int) string { return text(answer) }
}
