package realironic

import (
	"cmp"
	"errors"
	"fmt"
	"os"
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
	// Root is the absolute path of a folder that hack/ironic/chroot.sh has made: the
	// programs in it run with it as their /, and the scratch folder lies in it. It
	// takes root. Empty: the machine's own programs.
	Root string
	// Hardware makes the ipmi driver one of pretended hosts, with the interfaces that
	// the operator asks for. It needs Root. nil: none.
	Hardware *Hardware
	// MariaDB is a server of this Ironic alone, instead of SQLite. It needs Root.
	MariaDB bool
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
	if o.MariaDB {
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
	if o.Root == "" && (o.Hardware != nil || o.MariaDB) {
		return errors.New("options: Hardware or MariaDB without Root: only hack/ironic/chroot.sh has them")
	}
	return checkInstalled(o, func(name string) (string, error) { return lookPath(o.Root, name) })
}
