package child

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestLogBookIsReadWhileItIsWritten(t *testing.T) {
	var b LogBook
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for range 100 {
				_, _ = fmt.Fprintf(&b, "level=INFO msg=stopped n=%d\n", n)
				_ = b.String()
			}
		})
	}
	all.Wait()
	if n := b.Count("msg=stopped", "n=3"); n != 100 {
		t.Errorf("%d lines of the last writer, want 100", n)
	}
	if n := b.Count(); n != 400 {
		t.Errorf("%d lines, want 400", n)
	}
}

func TestLogBookFindsLines(t *testing.T) {
	var b LogBook
	if _, ok := b.Line(); ok {
		t.Error("a line in an empty log")
	}
	_, _ = b.Write([]byte("one a\ntwo a b\nthree b"))
	_, _ = b.Write([]byte(" a\n"))
	for _, tc := range []struct {
		words []string
		line  string
		count int
	}{
		{nil, "one a\n", 3},
		{[]string{"a"}, "one a\n", 3},
		{[]string{"b", "a"}, "two a b\n", 2}, // of one line, in any order
		{[]string{"three", "a"}, "three b a\n", 1},
		{[]string{"one", "two"}, "", 0},
	} {
		line, ok := b.Line(tc.words...)
		if line != tc.line || ok != (tc.count > 0) || b.Count(tc.words...) != tc.count {
			t.Errorf("%q: %q, %v, %d lines; want %q, %d", tc.words, line, ok, b.Count(tc.words...), tc.line, tc.count)
		}
	}
	_, _ = b.Write([]byte(strings.Repeat("x", 2*tailBytes) + "end"))
	if got := b.Tail(); len(got) != tailBytes || !strings.HasSuffix(got, "end") {
		t.Errorf("tail of %d bytes, ends %q", len(got), got[len(got)-5:])
	}
}
