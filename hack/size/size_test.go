package main

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

func TestRoomsKeepTheirLimits(t *testing.T) {
	sizes, err := count(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range limits {
		lines := 0
		for _, name := range l.rooms {
			if l.tests {
				lines += sizes[name].tests
			} else {
				lines += sizes[name].product
			}
		}
		if lines > l.most {
			t.Errorf("%s: %d lines, at most %d are allowed", l.what, lines, l.most)
		}
	}
	for _, r := range rooms {
		for _, p := range r.paths { // a room whose folder has moved is below every limit
			if _, err := os.Stat("../../" + p); err != nil {
				t.Errorf("room %q: %v", r.name, err)
			}
		}
	}
}

func TestLinesAreCountedInTheirRoom(t *testing.T) {
	two := &fstest.MapFile{Data: []byte("package x\n\n")}
	sizes, err := count(fstest.MapFS{
		"pkg/slots/a.go": two, "pkg/slots/a_test.go": two, "pkg/slots/testdata/b.go": two, "pkg/slots/c.txt": two,
		"internal/kube/hosts/a.go": two, "internal/kube/fleet/a.go": two, "internal/app/kube.go": two,
		"internal/app/new.go": two, "pkg/slotsmore/a.go": two, ".git/a.go": two, "hack/size/main.go": two,
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]size{
		slots: {2, 2}, "kube, store, clusterhosts": {4, 0}, "planned work": {2, 0}, rest: {4, 0}, rig: {2, 0},
	} {
		if sizes[name] != want {
			t.Errorf("%s: %+v, want %+v", name, sizes[name], want)
		}
	}
	var out strings.Builder
	if show(&out, sizes); !strings.Contains(out.String(), "the product                          12        2    28700") {
		t.Error(out.String())
	}
}
