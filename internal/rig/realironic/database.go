package realironic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// Names in the scratch folder.
const (
	sqliteFile    = "ironic.sqlite"
	mariadbSocket = "mariadb.sock"
)

// connection returns Ironic's setting of that name.
func (p place) connection() string {
	if p.MariaDB {
		return "mysql+pymysql://root@localhost/ironic?charset=utf8mb3&unix_socket=" + p.seen(mariadbSocket)
	}
	return "sqlite:///" + p.seen(sqliteFile) + "?timeout=60"
}

// startMariaDB makes an empty database, and starts its server.
func (i *Ironic) startMariaDB(ctx context.Context) (err error) {
	data := []string{"--no-defaults", "--user=root", "--datadir=" + i.place.seen("mariadb")}
	// root has no password: the scratch folder is closed to other users.
	install := append(data, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")
	if _, err := i.place.runOnce(ctx, "", "mariadb-install-db", install...); err != nil {
		return err
	}
	// Nothing there must outlive a crash of the machine, so no write waits for the disk.
	serve := append(data, "--skip-networking", "--socket="+i.place.seen(mariadbSocket),
		"--pid-file="+i.place.seen("mariadb.pid"), "--tmpdir="+i.place.seen("tmp"), "--innodb-flush-log-at-trx-commit=0")
	if i.database, err = i.serve("mariadbd", serve...); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return child.WaitReady(ctx, func() error {
		const create = "CREATE DATABASE IF NOT EXISTS ironic CHARACTER SET utf8mb3;"
		_, err := i.place.runOnce(ctx, create, "mariadb", i.place.mariadbArgs()...)
		return err
	}, i.database)
}

// schemas are the SQLite databases of new Ironics, by Root. They are all the same, and ironic-dbsync takes seconds for
// one.
var schemas = struct {
	sync.Mutex
	made map[string][]byte
}{made: map[string][]byte{}}

// createSchema makes the database of a new Ironic.
func (i *Ironic) createSchema(ctx context.Context) error {
	path := i.place.file(sqliteFile)
	schemas.Lock()
	defer schemas.Unlock()
	if made := schemas.made[i.place.Root]; made != nil && !i.place.MariaDB {
		return writeFiles(map[string]string{path: string(made)})
	}
	_, err := i.place.runOnce(ctx, "", "ironic-dbsync", i.args("create_schema")...)
	if err == nil && !i.place.MariaDB {
		schemas.made[i.place.Root], err = os.ReadFile(path)
	}
	return err
}

// mariadbArgs let the client speak the SQL of sqlite3: || joins texts, and a backslash is a character.
func (p place) mariadbArgs(more ...string) []string {
	return append([]string{
		"--no-defaults", "--user=root", "--socket=" + p.seen(mariadbSocket), "--batch", "--raw", "--skip-column-names",
		"--init-command=SET SESSION sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES', " +
			"max_recursive_iterations = 1000000",
	}, more...)
}

// SQL runs statements on Ironic's database, and returns what they print: a line for each row, with | between columns.
// Use it for what the API cannot do: states that need a ramdisk, locks, thousands of nodes. Ironic may run meanwhile.
func (i *Ironic) SQL(ctx context.Context, statements string) (string, error) {
	if !i.place.MariaDB {
		return i.place.runOnce(ctx, statements, "sqlite3", "-batch", "-bail", "-cmd", ".timeout 60000",
			i.place.seen(sqliteFile))
	}
	out, err := i.place.runOnce(ctx, statements, "mariadb", i.place.mariadbArgs("ironic")...)
	return strings.ReplaceAll(out, "\t", "|"), err
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// agentInfo returns a driver_internal_info with or without an agent_url.
func agentInfo(agent bool) string {
	if agent {
		return `{"agent_url":"http://127.0.0.1:9999"}`
	}
	return "{}"
}

// SetState brings a node into a state by SQL, with or without an agent.
func (i *Ironic) SetState(ctx context.Context, uuid, state string, agent bool) error {
	_, err := i.SQL(ctx, fmt.Sprintf("UPDATE nodes SET provision_state = %s, driver_internal_info = %s WHERE uuid = %s;",
		quote(state), quote(agentInfo(agent)), quote(uuid)))
	return err
}

// Batch describes nodes that are alike.
type Batch struct {
	Count    int
	Prefix   string // of their names; a number of six digits follows
	State    string // provision_state
	AgentURL bool   // driver_internal_info has an agent_url
	// Unmoved leaves provision_updated_at NULL, as for a new node. Otherwise it is the time of the call, which works only
	// with SQLite.
	Unmoved bool
}

// AddNodes makes thousands of nodes in a second, where the API takes 25 ms for each. The API makes the first one, so
// each column is as Ironic writes it; SQL copies its row. UUIDs follow from the row number.
func (i *Ironic) AddNodes(ctx context.Context, b Batch) error {
	var first struct {
		UUID string `json:"uuid"`
	}
	body := fmt.Sprintf(`{"driver":"fake-hardware","name":"%s%06d"}`, b.Prefix, 1)
	if err := i.call(ctx, http.MethodPost, "/v1/nodes", body, &first); err != nil {
		return err
	}
	moved := "strftime('%Y-%m-%d %H:%M:%f000', 'now')" // as Ironic writes it into SQLite
	if b.Unmoved {
		moved = "NULL"
	}
	columns, err := i.nodeColumns(ctx)
	if err != nil {
		return err
	}
	_, err = i.SQL(ctx, fmt.Sprintf(`BEGIN;
UPDATE nodes SET provision_state = %[1]s, provision_updated_at = %[2]s, driver_internal_info = %[3]s WHERE uuid = %[4]s;
INSERT INTO nodes (uuid, name, %[6]s)
WITH RECURSIVE n(k, base) AS (
  SELECT 2, (SELECT max(id) FROM nodes) UNION ALL SELECT k + 1, base FROM n WHERE k < %[5]d)
SELECT 'c0b10000-0000-4000-8000-' || substr('000000000000' || (base + k), -12), %[7]s || substr('000000' || k, -6), %[6]s
FROM n, nodes WHERE nodes.uuid = %[4]s AND k <= %[5]d;
COMMIT;
`, quote(b.State), moved, quote(agentInfo(b.AgentURL)), quote(first.UUID), b.Count, columns, quote(b.Prefix)))
	return err
}

// nodeColumns returns the columns that copies share.
func (i *Ironic) nodeColumns(ctx context.Context) (string, error) {
	list := "SELECT name FROM pragma_table_info('nodes');"
	if i.place.MariaDB {
		list = "SELECT column_name FROM information_schema.columns WHERE table_schema = 'ironic' AND table_name = 'nodes';"
	}
	out, err := i.SQL(ctx, list)
	own := []string{"id", "uuid", "name"}
	columns := slices.DeleteFunc(strings.Fields(out), func(c string) bool { return slices.Contains(own, c) })
	if err == nil && len(columns) == 0 {
		err = errors.New("the database has no nodes table")
	}
	return strings.Join(columns, ", "), err
}
