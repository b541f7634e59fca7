package main

import (
	"io"
	"os"

	"github.com/charmbracelet/x/term"
)

// isTerminal reports whether somebody looks at w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}
