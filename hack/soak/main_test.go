package main

import (
	"io"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run([]string{"-histories", "3", "-seed", "5", "-workers", "2"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"3 histories from seed 5", "virtual hours", "answers: granted", "faults:", "no law was broken"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	out.Reset()
	if err := run([]string{"-only", "7", "-match", "asks replica"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) < 3 || !strings.HasPrefix(lines[0], "seed 7 with") || !strings.Contains(lines[1], "asks replica") {
		t.Errorf("%q", lines[:min(3, len(lines))])
	}
	for _, args := range []string{"-histories 0", "-workers 0", "-for -1s", "more", "-only 1 -match ("} {
		if err := run(strings.Fields(args), io.Discard, io.Discard); err == nil {
			t.Errorf("%s is taken", args)
		}
	}
}
