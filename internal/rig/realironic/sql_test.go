package realironic

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAssign(t *testing.T) {
	got, err := assign(map[string]any{"reservation": nil, "name": "it's", "maintenance": true, "id": 7})
	if want := "id = 7, maintenance = 1, name = 'it''s', reservation = NULL"; err != nil || got != want {
		t.Errorf("assign = %q, %v, want %q", got, err, want)
	}
	for _, bad := range []map[string]any{nil, {"id": 1.5}} {
		if got, err := assign(bad); err == nil {
			t.Errorf("assign(%v) = %q, want an error", bad, got)
		}
	}
}

func TestAddNodesRefusesHalfABatch(t *testing.T) {
	for _, b := range []Batch{
		{Prefix: "x", State: "active"}, {Count: -1, Prefix: "x", State: "active"},
		{Count: 1, State: "active"}, {Count: 1, Prefix: "x"}, {Count: 1_000_000, Prefix: "x", State: "active"},
	} {
		if err := (&Ironic{}).AddNodes(t.Context(), b); err == nil {
			t.Errorf("%+v: no error", b)
		}
	}
}

// TestBatchSQL runs the copy on a table of our own.
func TestBatchSQL(t *testing.T) {
	i := &Ironic{Dir: t.TempDir()}
	i.place = place{dir: i.Dir}
	if err := Installed(Options{}); err != nil && strings.Contains(err.Error(), "sqlite3") {
		t.Skip("no sqlite3 here: hack/ironic/install.sh brings it, and make e2e runs the real thing")
	}
	create := `CREATE TABLE nodes (id INTEGER PRIMARY KEY, uuid TEXT UNIQUE, name TEXT UNIQUE, provision_state TEXT,
		provision_updated_at TEXT, driver_internal_info TEXT, driver TEXT);
		INSERT INTO nodes VALUES (5, 'u-1', 'p~000001', 'enroll', NULL, '{}', 'fake');`
	if _, err := i.SQL(t.Context(), create); err != nil {
		t.Fatal(err)
	}
	columns, err := i.nodeColumns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := Batch{Count: 3, Prefix: "p~", State: "it's"}
	if _, err := i.SQL(t.Context(), batchSQL(b, "u-1", columns, "'now'", `{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	got, err := i.SQL(t.Context(), "SELECT * FROM nodes ORDER BY id;")
	if err != nil {
		t.Fatal(err)
	}
	want := `5|u-1|p~000001|it's|now|{"a":1}|fake
6|c0b10000-0000-4000-8000-000000000007|p~000002|it's|now|{"a":1}|fake
7|c0b10000-0000-4000-8000-000000000008|p~000003|it's|now|{"a":1}|fake
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := i.SQL(t.Context(), "SELECT nonsense;"); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("a wrong statement: %v", err)
	}
	if _, err := i.SQL(t.Context(), "ATTACH '"+filepath.Join(i.Dir, "none", "x")+"' AS y; SELECT 1;"); err == nil {
		t.Error("an error in the first of two statements is lost")
	}
}
