package realironic

import (
	"context"
	"fmt"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// Names in the scratch folder.
const (
	sqliteFile    = "ironic.sqlite"
	mariadbFolder = "mariadb"
	mariadbSocket = "mariadb.sock"
)

// database is the path, as Ironic sees it, at which its database is reached.
func (p place) database() string {
	if p.mariadb {
		return p.seen(mariadbSocket)
	}
	return p.seen(sqliteFile)
}

// connection is Ironic's own setting.
func (p place) connection() string {
	if p.mariadb {
		return "mysql+pymysql://root@localhost/ironic?charset=utf8mb3&unix_socket=" + p.database()
	}
	return "sqlite:///" + p.database() + "?timeout=60"
}

// startDatabase makes an empty database and starts its server, where it has one.
func (i *Ironic) startDatabase(ctx context.Context) error {
	if !i.place.mariadb {
		return nil
	}
	data := []string{"--no-defaults", "--user=root", "--datadir=" + i.place.seen(mariadbFolder)}
	// root has no password: who may enter the scratch folder may enter the database.
	install := append(data, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")
	if _, err := i.place.runOnce(ctx, "", "mariadb-install-db", install...); err != nil {
		return err
	}
	// Nothing there outlives a crash of the machine, so no write waits for the disk.
	serve := append(data, "--skip-networking", "--socket="+i.place.database(), "--pid-file="+i.place.seen("mariadb.pid"),
		"--tmpdir="+i.place.seen("tmp"), "--innodb-flush-log-at-trx-commit=0")
	server, err := i.place.start(child.Command{Name: "mariadbd", Args: serve, LogFile: i.place.file("mariadb.log")})
	if err != nil {
		return err
	}
	i.mu.Lock()
	i.server = server
	i.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, i.ready)
	defer cancel()
	err = child.WaitReady(ctx, func() error {
		_, err := i.place.runOnce(ctx, "CREATE DATABASE IF NOT EXISTS ironic CHARACTER SET utf8mb3;", "mariadb", i.place.mariadbArgs()...)
		return err
	}, server)
	if err != nil {
		return fmt.Errorf("%w\n--- mariadb\n%s", err, child.TailFile(i.place.file("mariadb.log")))
	}
	return nil
}

// Ago is SQL for the time that was so many minutes ago, SQL for a whole number, as Ironic
// writes it.
func (i *Ironic) Ago(minutes string) string {
	if i.place.mariadb {
		return "utc_timestamp() - INTERVAL (" + minutes + ") MINUTE"
	}
	return "strftime('%Y-%m-%d %H:%M:%f000', 'now', '-' || (" + minutes + ") || ' minutes')"
}

// mariadbArgs make the client speak the SQL that sqlite3 speaks too: || joins texts, and a
// backslash is one.
func (p place) mariadbArgs(more ...string) []string {
	return append([]string{
		"--no-defaults", "--user=root", "--socket=" + p.database(), "--batch", "--raw", "--skip-column-names",
		"--init-command=SET SESSION sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES', max_recursive_iterations = 1000000",
	}, more...)
}

// query runs statements and returns a row per line, columns with | between them.
func (p place) query(ctx context.Context, statements string) (string, error) {
	if !p.mariadb {
		return p.runOnce(ctx, statements, "sqlite3", "-batch", "-bail", "-cmd", ".timeout 60000", p.database())
	}
	out, err := p.runOnce(ctx, statements, "mariadb", p.mariadbArgs("ironic")...)
	return strings.ReplaceAll(out, "\t", "|"), err
}
