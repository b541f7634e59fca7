package realironic

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Options say which Ironic to run. The zero value is a good one: plain HTTP,
// no authentication.
type Options struct {
	// BasicAuth asks for auth_strategy http_basic with one user (Ironic.User).
	BasicAuth bool
	// TLS serves the API with a certificate for 127.0.0.1 and localhost.
	TLS bool
	// Settings are laid over our own settings: section, option, value.
	Settings map[string]map[string]string
	// Dir is where the scratch folder is made; empty: the system's place for
	// temporary files, or that of Root.
	Dir string
	// Root is the absolute path of a folder that hack/ironic/chroot.sh has made: the
	// programs in it run with it as their /, and the scratch folder must lie in it. It
	// takes root. Empty: the machine's own programs.
	Root string
	// Hardware makes the ipmi driver one of pretended hosts, with the interfaces that
	// the operator asks for. It needs Root. nil: none.
	Hardware *Hardware
	// Database is SQLite or MariaDB. Empty: SQLite. MariaDB is there in Root alone, which
	// is Chroot then unless it is set.
	Database string
}

const (
	startTimeout = 90 * time.Second
	stopTimeout  = 30 * time.Second
)

// Chroot is the folder that hack/ironic/chroot.sh makes, for Options.Root: IRONIC_CHROOT, or
// the place that the script takes without it.
func Chroot() string { return cmp.Or(os.Getenv("IRONIC_CHROOT"), "/var/cache/ironic-throttle/trixie") }

// ErrNotInstalled is the error of Start on a machine without the packages, or with a Root
// that has none. What wraps it names the script that brings them.
var ErrNotInstalled = errors.New("no real Ironic on this machine")

// programs are looked up before anything is started.
func programs(o Options) []string {
	p := []string{"ironic-dbsync", "ironic-conductor", "ironic-api"}
	if o.Database == MariaDB {
		p = append(p, "mariadb-install-db", "mariadbd", "mariadb")
	} else {
		p = append(p, "sqlite3")
	}
	if o.Root != "" {
		p = append(p, "python3")
	}
	if o.BasicAuth {
		p = append(p, "htpasswd")
	}
	return p
}

// checkInstalled names all missing programs at once.
func checkInstalled(o Options, lookPath func(string) (string, error)) error {
	var missing []string
	for _, p := range programs(o) {
		if _, err := lookPath(p); err != nil {
			missing = append(missing, p)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	script := "hack/ironic/install.sh"
	if o.Root != "" {
		script = "hack/ironic/chroot.sh"
	}
	return fmt.Errorf("%w: run %s as root (missing: %s)", ErrNotInstalled, script, strings.Join(missing, ", "))
}

// Installed tells whether Start would find what it needs: nil, or an
// ErrNotInstalled that names what is missing.
func Installed(o Options) error {
	o, err := o.checked()
	if err != nil {
		return err
	}
	return checkInstalled(o, func(name string) (string, error) { return lookPath(o.Root, name) })
}

// checked returns o with Database, Root and Dir as Start uses them.
func (o Options) checked() (Options, error) {
	switch o.Database = cmp.Or(o.Database, SQLite); o.Database {
	case SQLite:
	case MariaDB:
		o.Root = cmp.Or(o.Root, Chroot())
	default:
		return o, fmt.Errorf("options: Database %q: must be %s or %s", o.Database, SQLite, MariaDB)
	}
	if o.Root == "" {
		if o.Hardware != nil {
			return o, errors.New("options: Hardware without Root: only the Ironic of hack/ironic/chroot.sh has pretended hosts")
		}
		return o, nil
	}
	o.Root = filepath.Clean(o.Root)
	if !filepath.IsAbs(o.Root) || o.Root == "/" {
		return o, fmt.Errorf("options: Root %q: must be the absolute path of a folder that is not /", o.Root)
	}
	if o.Dir == "" {
		o.Dir = filepath.Join(o.Root, "tmp")
	}
	if o.Dir = filepath.Clean(o.Dir); !strings.HasPrefix(o.Dir, o.Root+"/") {
		return o, fmt.Errorf("options: Dir %q: must lie below Root %q", o.Dir, o.Root)
	}
	return o, nil
}
