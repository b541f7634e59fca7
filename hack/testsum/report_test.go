package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	tests := []struct {
		name   string
		events string
		want   counts
		shown  []string
		hidden []string
	}{
		{
			name: "a pass is one line and its output is dropped",
			events: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"chatter\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"pass","Package":"p","Elapsed":1.25}`,
			want: counts{passed: 1}, shown: []string{"ok   p (1.2 s)"}, hidden: []string{"chatter"},
		},
		{
			name: "a test that took long is named, its subtests are not",
			events: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/x"}
{"Action":"pass","Package":"p","Test":"TestA/x","Elapsed":30}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":31.4}
{"Action":"pass","Package":"p","Test":"TestB","Elapsed":19.9}
{"Action":"pass","Package":"p","Elapsed":52}`,
			want: counts{passed: 2}, shown: []string{"     31 s in TestA\n"}, hidden: []string{"TestA/x", "TestB"},
		},
		{
			name: "subtests count, not what holds them",
			events: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/x"}
{"Action":"run","Package":"p","Test":"TestA/y"}
{"Action":"output","Package":"p","Test":"TestA/y","Output":"y is wrong\n"}
{"Action":"pass","Package":"p","Test":"TestA/x"}
{"Action":"fail","Package":"p","Test":"TestA/y"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}`,
			want: counts{passed: 1, failed: 1}, shown: []string{"y is wrong", "FAIL p"},
		},
		{
			name: "a test that fails after its subtests passed",
			events: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/x"}
{"Action":"pass","Package":"p","Test":"TestA/x"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}`,
			want: counts{passed: 1, failed: 1},
		},
		{
			name: "a package that does not build is one failure",
			events: `{"ImportPath":"p","Action":"build-output","Output":"p/p.go:1:1: syntax error\n"}
{"ImportPath":"p","Action":"build-fail"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p"}`,
			want: counts{failed: 1}, shown: []string{"syntax error", "build failed"},
		},
		{
			name: "a test that never ended is shown",
			events: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"panic: boom\n"}
{"Action":"fail","Package":"p"}`,
			want: counts{failed: 1}, shown: []string{"panic: boom"},
		},
		{
			name: "no test files and skipped tests",
			events: `{"Action":"skip","Package":"q"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}`,
			want: counts{skipped: 1}, hidden: []string{"q"},
		},
		{
			name:   "what is no event is shown as it is",
			events: "warning: something\n{torn",
			shown:  []string{"warning: something", "{torn"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			r := newReport(&out, false)
			if err := r.read(strings.NewReader(tt.events)); err != nil {
				t.Fatal(err)
			}
			if r.counts != tt.want {
				t.Errorf("counts %v, want %v", r.counts, tt.want)
			}
			for _, s := range tt.shown {
				if !strings.Contains(out.String(), s) {
					t.Errorf("%q is not in the output:\n%s", s, &out)
				}
			}
			for _, s := range tt.hidden {
				if strings.Contains(out.String(), s) {
					t.Errorf("%q is in the output:\n%s", s, &out)
				}
			}
		})
	}
}

func TestVerboseShowsWhatPassed(t *testing.T) {
	var out bytes.Buffer
	events := `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"2000 histories\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}`
	if err := newReport(&out, true).read(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "2000 histories") {
		t.Errorf("the output of a pass is missing:\n%s", &out)
	}
}

func TestTallyAddsUp(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tally")
	for _, c := range []counts{{passed: 3, skipped: 1}, {passed: 2}} {
		if err := appendTally(file, c); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	none := func(string) string { return "" }
	if code := run(t.Context(), []string{"-total", file}, none, &out, &errs); code != 0 || out.String() != "5 passed, 0 failed, 1 skipped\n" {
		t.Errorf("exit %d, output %q, want 0 and the sum\n%s", code, &out, &errs)
	}
	if err := appendTally(file, counts{failed: 1}); err != nil {
		t.Fatal(err)
	}
	if code := run(t.Context(), []string{"-total", file}, none, &out, &errs); code != 1 {
		t.Errorf("exit %d with a failure in the tally, want 1", code)
	}
}

func TestTotalRefusesWhatItCannotRead(t *testing.T) {
	dir := t.TempDir()
	torn := filepath.Join(dir, "torn")
	if err := os.WriteFile(torn, []byte("1 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{torn, filepath.Join(dir, "missing")} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), []string{"-total", file}, os.Getenv, &out, &errs); code != 1 || errs.Len() == 0 {
			t.Errorf("%s: exit %d, stderr %q, want 1 and a reason", file, code, &errs)
		}
	}
}

func TestNothingRunIsAFailure(t *testing.T) {
	if code := (counts{skipped: 4}).exitCode(); code != 1 {
		t.Errorf("exit %d when nothing passed, want 1", code)
	}
}
