package gate

import (
	"fmt"
	"testing"
	"time"
)

func TestDirectoryIsBounded(t *testing.T) {
	d := directory{maxAge: time.Minute, known: map[string]entry{}}
	now := time.Now()
	for i := range maxIdentities + 10 {
		d.put(now, fmt.Sprint(i), identity{uuid: "u"})
		if want := i%maxIdentities + 1; len(d.known) != want {
			t.Fatalf("%d names are kept after %d, want %d", len(d.known), i+1, want)
		}
	}
	if _, ok := d.get(now.Add(2*time.Minute), fmt.Sprint(maxIdentities+9)); ok {
		t.Error("an old word is believed")
	}
	if _, ok := d.get(now.Add(-time.Minute), fmt.Sprint(maxIdentities+9)); ok {
		t.Error("a word from the future is believed")
	}
}
