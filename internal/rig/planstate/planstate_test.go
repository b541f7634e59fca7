package planstate

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// The samples of testdata/plan are made here. UPDATE_GOLDEN=1 renews them:
// UPDATE_GOLDEN=1 go test ./internal/rig/planstate.
func TestSamplesAreUpToDate(t *testing.T) {
	for name, d := range map[string]*disruption.Document{"small.json": Small(), "hundred.json": Fleet(100, 8, 1)} {
		var want bytes.Buffer
		if err := d.Write(&want); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("..", "..", "..", "testdata", "plan", name)
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(path, want.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s is not what the generator makes", name)
		}
		if _, err := disruption.ReadDocument(bytes.NewReader(got)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAFleetIsTheSameEachTimeAndAsLargeAsAsked(t *testing.T) {
	var one, again, other bytes.Buffer
	for b, seed := range map[*bytes.Buffer]uint64{&one: 7, &again: 7, &other: 8} {
		if err := Fleet(120, 4, seed).Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(one.Bytes(), again.Bytes()) || bytes.Equal(one.Bytes(), other.Bytes()) {
		t.Error("the seed does not decide")
	}
	s := Fleet(1000, 20, 1).State
	if len(s.Hosts) != 1000 || len(s.Nodes) != 1000 || len(s.Pods) < 12_000 || len(s.Pools) != 20 {
		t.Errorf("%d hosts, %d nodes, %d pods, %d pools", len(s.Hosts), len(s.Nodes), len(s.Pods), len(s.Pools))
	}
}
