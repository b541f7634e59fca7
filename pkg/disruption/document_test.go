package disruption_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

func (l *lab) document() *disruption.Document {
	return &disruption.Document{Version: disruption.DocumentVersion, Config: l.c, State: l.s}
}

// TestADocumentIsReadAsItWasWritten, of random states.
func TestADocumentIsReadAsItWasWritten(t *testing.T) {
	for seed := range uint64(30) {
		l := mixed(seed, false)
		l.s.Pools[0].Policy.ConsolidateAfter = new(disruption.Never)
		d := l.document()
		got, err := disruption.ReadDocument(bytes.NewReader(mustJSON(t, d)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(mustJSON(t, d), mustJSON(t, got)); diff != "" {
			t.Fatalf("seed %d (-written +read):\n%s", seed, diff)
		}
	}
}

func TestADocumentSaysWhereItIsWrong(t *testing.T) {
	const state = `{"version":1,"state":{"takenAt":"2026-11-25T12:00:00Z","throttle":{"limit":1},`
	for text, said := range map[string][]string{
		``:                                {"document"},
		`{"version":1,"state":`:           {"document", "byte"},
		`{"version":2}`:                   {"version"},
		`{"version":1,"extra":1}`:         {"document", "extra"},
		state + `"hosts":[{"lable":1}]}}`: {"document", "lable"},
		state + `"hosts":[{"name":7}]}}`:  {"document", "name"},
		state + `"hosts":[{"name":"a"},{"name":"a"}]}}`:                                             {"state"},
		state + `"hosts":[{"name":"a","node":"n"},{"name":"b","node":"n"}]}}`:                       {"state", "node"},
		state + `"pools":[{"name":"a","kind":"MachineSet","policy":{"consolidateAfter":"soon"}}]}}`: {"document", "soon"},
		`{"version":1,"config":{"consolidateAfter":"-1s"}}`:                                         {"document", "-1s"},
		`{"version":1,"config":{"tariffPerKWh":-1}}`:                                                {"config.tariffPerKWh"},
	} {
		_, err := disruption.ReadDocument(strings.NewReader(text))
		for _, words := range said {
			if err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%s\nthe error is %v, want one that says %q", text, err, words)
			}
		}
	}
}

func TestADocumentWithoutSettingsHasTheDefaults(t *testing.T) {
	d, err := disruption.ReadDocument(strings.NewReader(`{"version":1,"config":{"consolidateAfter":"3ns"}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := disruption.Default()
	want.ConsolidateAfter = 3
	if diff := cmp.Diff(want, d.Config); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
