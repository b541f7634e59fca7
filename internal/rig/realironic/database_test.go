package realironic

import (
	"slices"
	"strings"
	"testing"
)

func TestDatabaseIsChosen(t *testing.T) {
	t.Setenv("IRONIC_CHROOT", "/chroot")
	for _, tc := range []struct {
		variable string
		options  Options
		want     Options
	}{
		{"", Options{}, Options{Database: SQLite}},
		{"sqlite", Options{}, Options{Database: SQLite}},
		{"mariadb", Options{}, Options{Database: MariaDB, Root: "/chroot", Dir: "/chroot/tmp"}},
		{"mariadb", Options{Root: "/c"}, Options{Database: MariaDB, Root: "/c", Dir: "/c/tmp"}},
		{"mariadb", Options{Database: SQLite}, Options{Database: SQLite}},
		{"", Options{Database: MariaDB}, Options{Database: MariaDB, Root: "/chroot", Dir: "/chroot/tmp"}},
	} {
		t.Setenv("IRONIC_DATABASE", tc.variable)
		got, err := tc.options.checked()
		if err != nil || got.Database != tc.want.Database || got.Root != tc.want.Root || got.Dir != tc.want.Dir {
			t.Errorf("IRONIC_DATABASE=%s, %+v: %+v, %v, want %+v", tc.variable, tc.options, got, err, tc.want)
		}
	}
	t.Setenv("IRONIC_DATABASE", "oracle")
	if _, err := (Options{}).checked(); err == nil || !strings.Contains(err.Error(), `"oracle" (or IRONIC_DATABASE): must be sqlite or mariadb`) {
		t.Errorf("a database that nobody knows: %v", err)
	}
	if err := Installed(Options{}); err == nil {
		t.Error("Installed takes it")
	}
}

func TestMariaDBIsReachedBySocketAlone(t *testing.T) {
	p := place{root: "/chroot", dir: "/chroot/tmp/i", mariadb: true}
	if got, want := p.config(nil)["database"]["connection"], "mysql+pymysql://root@localhost/ironic?charset=utf8mb3&unix_socket=/tmp/i/mariadb.sock"; got != want {
		t.Errorf("connection %s, want %s", got, want)
	}
	if got := p.mariadbArgs("ironic"); !slices.Contains(got, "--socket=/tmp/i/mariadb.sock") || got[0] != "--no-defaults" || got[len(got)-1] != "ironic" {
		t.Errorf("arguments of the client: %q", got)
	}
	if got := programs(Options{Database: MariaDB}); slices.Contains(got, "sqlite3") || !slices.Contains(got, "mariadbd") {
		t.Errorf("programs %q", got)
	}
}
