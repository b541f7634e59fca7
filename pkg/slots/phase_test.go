package slots

import (
	"maps"
	"os"
	"regexp"
	"testing"
)

// TestTheDrawingIsTheTable compares the life of a slot that doc.go draws with the one that
// the ledger follows.
func TestTheDrawingIsTheTable(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	drawn := map[[3]string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^//\t(\w+) +─+(\w+)─+▶ +(\w+)`).FindAllStringSubmatch(string(text), -1) {
		drawn[[3]string(m[1:])] = true
	}
	inForce := map[[3]string]bool{}
	for from, to := range transitions {
		inForce[[3]string{from.from.String(), from.on.String(), to.String()}] = true
	}
	if len(drawn) == 0 || !maps.Equal(drawn, inForce) {
		t.Errorf("drawn:    %v\nin force: %v", drawn, inForce)
	}
}

// TestEveryPhaseHasAWayOut follows the table: a slot can end from wherever it is, and every
// phase can be reached.
func TestEveryPhaseHasAWayOut(t *testing.T) {
	reached := map[phase]bool{vacant: true}
	ends := map[phase]bool{}
	for range transitions {
		for s, to := range transitions {
			if reached[s.from] {
				reached[to] = true
			}
			if to == vacant || ends[to] {
				ends[s.from] = true
			}
		}
	}
	for _, p := range []phase{leased, working, lingering} {
		if !reached[p] || !ends[p] {
			t.Errorf("%s: reached %t, has an end %t", p, reached[p], ends[p])
		}
	}
}
