package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	o, err := parse([]string{"-cells", "cliff-25-0-,shared-any", "-hosts", "50,60", "-seeds", "2", "-warm", "9", "-strict"}, io.Discard)
	if err != nil || len(o.plan.Cells) != 2*(2+3) || o.plan.Seeds != 2 || o.plan.Warm != 9 || !o.strict || o.sweep {
		t.Errorf("%+v, %v", o, err)
	}
	for _, args := range []string{"-seeds 0", "-seeds x", "-cells nope", "-hosts 1", "-hosts many", "-warm -1", "-hosts ,", "-told -warm 9", "-told -sweep", "more"} {
		if _, err := parse(strings.Fields(args), io.Discard); !errors.Is(err, errUse) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// TestLimitsSweepsThenPlays: what the file knows is not played again.
func TestLimitsSweepsThenPlays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fixed.jsonl")
	play := func(args ...string) (string, error) {
		var out strings.Builder
		args = append([]string{"-fixed", file, "-hosts", "16", "-cells", "shared-10-0-", "-seeds", "1"}, args...)
		err := run(t.Context(), args, &out, io.Discard)
		return out.String(), err
	}
	if _, err := play(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	out, err := play("-sweep")
	if err != nil || strings.Count(out, ": best ") != 3 || !strings.Contains(out, "shared-5-0-16: best ") {
		t.Errorf("%v, swept:\n%s", err, out)
	}
	if out, err = play("-sweep"); err != nil || out != "" {
		t.Errorf("%v, swept again:\n%s", err, out)
	}
	out, err = play()
	if err != nil || !strings.Contains(out, "shared-10-0-16-halved") || !strings.Contains(out, "2 cells by the best fixed limit") {
		t.Errorf("%v, played:\n%s", err, out)
	}
	if out, err = play("-told"); err != nil || !strings.Contains(out, "2 cells by the best fixed limit") {
		t.Errorf("%v, told:\n%s", err, out)
	}
	if _, err := play("-told", "-hosts", "12"); err == nil || !strings.Contains(err.Error(), "no fixed limits are known") {
		t.Errorf("told what nobody knows: %v", err)
	}
	if _, err := play("-hosts", "12"); err == nil {
		t.Error("a cell that the file does not know was compared")
	}
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := play(); err == nil || !strings.Contains(err.Error(), file+": entry 1: fixed: must name at least one limit") {
		t.Errorf("a broken file: %v", err)
	}
}
