package holdfile

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

func record(uuid string, since time.Time) holdoff.Record {
	return holdoff.Record{
		Version: holdoff.RecordVersion, UUID: uuid, Name: "metal3~" + uuid, Spec: "s",
		Episodes: []holdoff.EpisodeRecord{{ID: "e-" + uuid, Kind: holdoff.Deployment, State: "deploy failed", Failures: 1, Since: since}},
	}
}

var since = time.Date(2026, 11, 22, 1, 2, 3, 456, time.UTC)

func TestSavedIsLoaded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holds.db")
	f, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if records, known, err := f.Load(); len(records) != 0 || known || err != nil {
		t.Errorf("new: %v, %v, %v", records, known, err)
	}
	if err := f.Save(holdoff.Batch{Puts: []holdoff.Record{record("a", since), record("b", since), record("c", since)}}); err != nil {
		t.Fatal(err)
	}
	if err := f.Save(holdoff.Batch{Puts: []holdoff.Record{record("c", since.Add(1))}, Deletes: []string{"b", "x"}}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second reads what the first has written anew
		f, err = Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		records, known, err := f.Load()
		if diff := cmp.Diff([]holdoff.Record{record("a", since), record("c", since.Add(1))}, records); diff != "" || !known || err != nil {
			t.Errorf("%v, %v: %s", known, err, diff)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
