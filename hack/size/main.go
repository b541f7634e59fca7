// Size prints how many lines each room of the house has: the product, its tests, and the most that the product may
// have (rooms.go).
//
//	go run ./hack/size
//
// It counts all lines of all Go files, as wc -l does.
package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

func main() {
	sizes, err := count(os.DirFS("."))
	if err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
	show(os.Stdout, sizes)
}

// size is the lines of a room.
type size struct{ product, tests int }

// count returns the lines of each room, by its name. root is the folder of the module.
func count(root fs.FS) (map[string]size, error) {
	sizes := map[string]size{}
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && file != "." && (strings.HasPrefix(name, ".") || skipped[name]) {
			return fs.SkipDir
		}
		if d.IsDir() || path.Ext(file) != ".go" {
			return nil
		}
		text, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		room := roomOf(file)
		s := sizes[room]
		if lines := bytes.Count(text, []byte("\n")); strings.HasSuffix(file, "_test.go") {
			s.tests += lines
		} else {
			s.product += lines
		}
		sizes[room] = s
		return nil
	})
	return sizes, err
}

// skipped folders hold no source of ours.
var skipped = map[string]bool{"testdata": true, "bin": true, "build": true, "dist": true}

// roomOf names the room whose path is the longest that holds file, else the last room of the product.
func roomOf(file string) string {
	found, longest := rest, 0
	for _, r := range rooms {
		for _, p := range r.paths {
			if len(p) > longest && (file == p || strings.HasPrefix(file, p+"/")) {
				found, longest = r.name, len(p)
			}
		}
	}
	return found
}

// show prints the table.
func show(w io.Writer, sizes map[string]size) {
	line := func(name string, s size, most int) {
		fmt.Fprintf(w, "%-30s %8d %8d %8d\n", name, s.product, s.tests, most)
	}
	fmt.Fprintf(w, "%-30s %8s %8s %8s\n", "room", "product", "tests", "at most")
	var all, product size
	ceiling := 0
	for _, r := range rooms {
		s := sizes[r.name]
		all = size{all.product + s.product, all.tests + s.tests}
		if line(r.name, s, r.ceiling); r.name != rig {
			product, ceiling = all, ceiling+r.ceiling
		}
	}
	line("the product", product, ceiling)
	fmt.Fprintf(w, "tests of all rooms: %d, at most %d\n", all.tests, allTests)
}
