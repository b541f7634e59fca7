// Package cli has what both programs share: exit codes, output, the ready file, the version, and errors of wrong use.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Process is the part of the operating system process that commands use.
type Process struct {
	Stdout, Stderr io.Writer
	JSON           bool // --output json
}

// Run runs the program of this process, and returns its exit code. SIGINT and SIGTERM end the context of the command;
// a second signal kills the process.
func Run(root func(*Process) *cobra.Command) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	p := &Process{Stdout: os.Stdout, Stderr: os.Stderr}
	return p.Execute(ctx, root(p), os.Args[1:])
}

// Execute runs one command line of a program and returns its exit code.
func (p *Process) Execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return Yes
	}
	if err.Error() != "" {
		fmt.Fprintf(p.Stderr, "error: %v\n", err)
	}
	var e *exit
	if errors.As(err, &e) {
		return e.code
	}
	fmt.Fprintf(p.Stderr, "See '%s --help'.\n", cmd.CommandPath())
	return WrongUse
}

// PrintJSON prints v as one indented document.
func (p *Process) PrintJSON(v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return Exit(No, fmt.Errorf("output: %w", err))
	}
	return p.Print(string(text) + "\n")
}

// Print prints text. It fails if it cannot write all of it: a script must not go on with half an answer.
func (p *Process) Print(text string) error {
	if _, err := io.WriteString(p.Stdout, text); err != nil {
		return Exit(No, fmt.Errorf("output: %w", err))
	}
	return nil
}

// Terminal reports whether w is a terminal.
func Terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// ReadyFileHelp is the help of --ready-file.
const ReadyFileHelp = "`file` that appears, with the addresses as JSON, once all listeners are open"

// WriteReadyFile writes a file that tells scripts that all listeners are open, and their addresses. The file appears
// whole. Without a path, it writes nothing.
func WriteReadyFile(path string, addresses any) error {
	if path == "" {
		return nil
	}
	text, err := json.Marshal(addresses)
	if err == nil {
		err = os.WriteFile(path+".part", append(text, '\n'), 0o600)
	}
	if err == nil {
		err = os.Rename(path+".part", path)
	}
	if err != nil {
		return fmt.Errorf("ready file: %w", err)
	}
	return nil
}
