package realironic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Batch is a number of nodes that are alike.
type Batch struct {
	Count  int
	Prefix string // of the name; a number of six digits follows
	State  string // provision_state
	// AgentURL tells whether driver_internal_info has an agent_url.
	AgentURL bool
	// Unmoved leaves provision_updated_at NULL, as for a node that was created
	// and never touched; else it is the time of the call.
	Unmoved bool
}

// AddNodes makes nodes by copying rows: thousands in a second, where the API
// takes 25 ms for each. UUIDs are derived from the row number.
func (i *Ironic) AddNodes(ctx context.Context, batches ...Batch) error {
	for _, b := range batches {
		if b.Count < 1 || b.Count > 999_999 || b.State == "" || b.Prefix == "" {
			return fmt.Errorf("batch %+v: needs a count from 1 to 999999, a prefix and a state", b)
		}
		if err := i.addBatch(ctx, b); err != nil {
			return fmt.Errorf("add %d nodes %s: %w", b.Count, b.Prefix, err)
		}
	}
	return nil
}

func (i *Ironic) addBatch(ctx context.Context, b Batch) error {
	// One node comes through the API, so that every column is as Ironic makes
	// it; the copies differ in what identifies them only.
	name := b.Prefix + fmt.Sprintf("%06d", 1)
	var first struct {
		UUID string `json:"uuid"`
	}
	body := fmt.Sprintf(`{"driver":"fake-hardware","name":%s}`, strconv.Quote(name))
	if err := i.call(ctx, http.MethodPost, "/v1/nodes", strings.NewReader(body), &first); err != nil {
		return err
	}
	info := "{}"
	if b.AgentURL {
		info = `{"agent_url":"http://127.0.0.1:9999"}`
	}
	moved := i.Ago("0")
	if b.Unmoved {
		moved = "NULL"
	}
	columns, err := i.nodeColumns(ctx)
	if err != nil {
		return err
	}
	_, err = i.SQL(ctx, batchSQL(b, first.UUID, columns, moved, info))
	return err
}

// nodeColumns are those that a copy takes over.
func (i *Ironic) nodeColumns(ctx context.Context) ([]string, error) {
	list := "SELECT name FROM pragma_table_info('nodes');"
	if i.place.mariadb {
		list = "SELECT column_name FROM information_schema.columns WHERE table_schema = 'ironic' AND table_name = 'nodes';"
	}
	out, err := i.SQL(ctx, list)
	if err != nil {
		return nil, err
	}
	columns := slices.DeleteFunc(strings.Fields(out), func(c string) bool {
		return c == "id" || c == "uuid" || c == "name"
	})
	if len(columns) == 0 {
		return nil, errors.New("the database has no nodes table")
	}
	return columns, nil
}

func batchSQL(b Batch, first string, columns []string, moved, info string) string {
	list := strings.Join(columns, ", ")
	return fmt.Sprintf(`BEGIN;
UPDATE nodes SET provision_state = %[1]s, provision_updated_at = %[2]s, driver_internal_info = %[3]s WHERE uuid = %[4]s;
INSERT INTO nodes (uuid, name, %[6]s)
WITH RECURSIVE n(k, base) AS (
  SELECT 2, (SELECT max(id) FROM nodes) UNION ALL SELECT k + 1, base FROM n WHERE k < %[5]d)
SELECT 'c0b10000-0000-4000-8000-' || substr('000000000000' || (base + k), -12), %[7]s || substr('000000' || k, -6), %[6]s
FROM n, nodes WHERE nodes.uuid = %[4]s AND k <= %[5]d;
COMMIT;
`, quote(b.State), moved, quote(info), quote(first), b.Count, list, quote(b.Prefix))
}
