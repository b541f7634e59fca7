package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/lab"
)

// gosWords are those of strconv, time and encoding packages, which name no rule.
var gosWords = regexp.MustCompile(`strconv|parsing|invalid syntax|time: |missing unit|unmarshal|value out of range`)

// wrongNumbers are no value of any flag of numbers, spans of time or switches.
var wrongNumbers = []string{"many", "1.5.2", "0x", "-", "1e99999"}

// numeric are the flags of cmd whose values are checked when they are read.
func numeric(cmd *cobra.Command) []*pflag.Flag {
	var found []*pflag.Flag
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains([]string{"string", "stringSlice", "help", "format"}, f.Value.Type()) && f.Name != "help" {
			found = append(found, f)
		}
	})
	return found
}

func refused(t *testing.T, program func(*cli.Process) *cobra.Command, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	p := &cli.Process{Stdout: &out, Stderr: &errs}
	if code := p.Execute(t.Context(), program(p), args); code != cli.WrongUse || out.Len() > 0 {
		t.Errorf("%v: exit code %d, stdout %q", args, code, &out)
	}
	if words := gosWords.FindString(errs.String()); words != "" {
		t.Errorf("%v: %q in %q", args, words, &errs)
	}
	return errs.String()
}

func TestWrongNumbersInFlagsNameFlagValueAndRule(t *testing.T) {
	seen := 0
	for _, program := range []func(*cli.Process) *cobra.Command{root, lab.Root} {
		for _, cmd := range program(&cli.Process{}).Commands() {
			if cmd.Name() == "serve" {
				continue // TestWrongNumbersInSettings…
			}
			for _, f := range numeric(cmd) {
				for _, value := range wrongNumbers {
					seen++
					// Where the value were taken the next flag would end the command.
					got := refused(t, program, cmd.Name(), "--"+f.Name+"="+value, "--no-such-flag")
					if want := fmt.Sprintf("error: --%s %q: must be ", f.Name, value); !strings.HasPrefix(got, want) {
						t.Errorf("%s: %q, want %q", cmd.Name(), got, want)
					}
				}
			}
		}
	}
	if seen < 250 {
		t.Errorf("only %d flags and values were tried", seen)
	}
}

func TestWrongNumbersInSettingsNameSettingValuePlaceAndRule(t *testing.T) {
	cmd := (&process{&cli.Process{}}).serveCommand()
	variable := regexp.MustCompile(`\[env (\w+)\]`)
	var flags, file, names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		kind := f.Value.Type()
		name := variable.FindStringSubmatch(f.Usage)
		if !slices.Contains([]string{"number", "duration", "boolfunc"}, kind) || name == nil {
			return
		}
		key := regexp.MustCompile("-.").ReplaceAllStringFunc(f.Name, func(s string) string { return strings.ToUpper(s[1:]) })
		names = append(names, name[1])
		flags = append(flags, "--"+f.Name+"=many")
		file = append(file, key+": many")
	})
	if len(names) < 15 {
		t.Fatalf("only %d settings were tried: %q", len(names), names)
	}
	config := filepath.Join(t.TempDir(), "throttle.yaml")
	if err := os.WriteFile(config, []byte(strings.Join(file, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	places := map[string]string{
		"flag --":       refused(t, root, append([]string{"serve"}, flags...)...),
		"throttle.yaml": refused(t, root, "serve", "--config", config),
	}
	for _, name := range names {
		t.Setenv(name, "many")
	}
	places["environment"] = refused(t, root, "serve")
	for place, got := range places {
		for _, name := range names {
			line := regexp.MustCompile("(?m)^(error: |warning: )?.*" + name + `="many" \(.*` + place + `.*\).* must be .+$`)
			if !line.MatchString(got) {
				t.Errorf("%s, %s: no line with name, value, place and rule in\n%s", place, name, got)
			}
		}
	}
}
