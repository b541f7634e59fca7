package main

import (
	"os"
	"testing"
)

// A break that does not fit the code any more would break nothing, or not compile.
func TestTheBreaksStillFit(t *testing.T) {
	t.Chdir("../..")
	if _, err := os.Stat("go.mod"); err != nil {
		t.Fatal(err)
	}
	for i, b := range breaks {
		if _, err := edited(i); err != nil {
			t.Errorf("%s: %v", b.what, err)
		}
	}
}
