package snapshot

import (
	"strings"
	"testing"
	"time"
)

func TestNewNamesEveryWrongOption(t *testing.T) {
	_, err := New(Options[string, int]{MaxAge: 0, MaxStale: -time.Second, ProbeEvery: -2, ListTimeout: -3})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"List is nil; it is required",
		"MaxAge is 0s; must be more than 0",
		"MaxStale is -1s; must be at least MaxAge, 0s",
		"ProbeEvery is -2ns; must not be negative",
		"ListTimeout is -3ns; must not be negative",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
	o := newSource().options()
	o.MaxStale = o.MaxAge - 1
	if _, err := New(o); err == nil {
		t.Error("MaxStale below MaxAge is allowed")
	}
	o.MaxStale = o.MaxAge
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	holds(t, "retry", c.o.Retry, time.Second)
	holds(t, "list timeout", c.o.ListTimeout, time.Minute)
}
