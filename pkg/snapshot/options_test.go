package snapshot

import (
	"strings"
	"testing"
	"time"
)

func TestNewNamesEveryWrongOption(t *testing.T) {
	_, err := New(Options[string, int]{MaxAge: 0, ListTimeout: -3})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"List is nil; it is required",
		"MaxAge is 0s; must be more than 0",
		"ListTimeout is -3ns; must not be negative",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
	c, err := New(newSource().options())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	holds(t, "retry", c.o.Retry, time.Second)
	holds(t, "list timeout", c.o.ListTimeout, time.Minute)
}
