package realironic

import (
	"errors"
	"fmt"
	"os/exec"
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
	// temporary files.
	Dir string
	// Root is a folder made by hack/ironic/chroot.sh: the programs of Debian 13 in it are
	// run with chroot(8), and the scratch folder lies in it. Empty: the machine's own.
	Root string
	// Hardware makes the ipmi driver one of pretended hosts, with the interfaces that
	// the operator asks for. It needs Root. nil: none.
	Hardware *Hardware
	// StartTimeout bounds the wait for an Ironic that answers; 0: 90 s.
	StartTimeout time.Duration
}

const (
	defaultStartTimeout = 90 * time.Second
	stopTimeout         = 30 * time.Second
)

// ErrNotInstalled is the error of Start on a machine without the packages.
var ErrNotInstalled = errors.New("no real Ironic on this machine: run hack/ironic/install.sh as root")

// programs are looked up before anything is started.
func programs(o Options) []string {
	p := []string{"ironic-dbsync", "ironic-conductor", "ironic-api", "sqlite3"}
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
	if len(missing) > 0 {
		return fmt.Errorf("%w (missing: %s)", ErrNotInstalled, strings.Join(missing, ", "))
	}
	return nil
}

// Installed tells whether Start would find what it needs: nil, or an
// ErrNotInstalled that names what is missing.
func Installed(o Options) error { return checkInstalled(o, exec.LookPath) }
