//go:build e2e

package e2e

import (
	"errors"
	"flag"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/ironicsuite"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
)

var trixieSuite = flag.Bool("trixie.suite", false, "run the suite of Ironic on Debian 13's too")

// differs29 is where Ironic 29.0.5 is not as 21.4.4, which the fake is like.
var differs29 = map[string]string{
	"RootDocument":     "GET / has the headers of the version, and is refused (406) with one that is too new",
	"MicroversionOfV1": "a 406 of GET /v1 has title, code and description instead of a faultstring, and no Openstack-Request-Id",
	"ListRefused":      "fields may be given twice",
	"CreateRefused":    "an unknown driver is refused with one sentence more",
	"Rebuild":          "rebuild is answered 500 (UnboundLocalError auto_lessee)",
}

// TestTrixieSuite runs on Ironic 29 what TestIronicPlain runs on 21. make e2e-ironic runs it on
// MariaDB.
func TestTrixieSuite(t *testing.T) {
	if !*trixieSuite {
		t.Skip("-args -trixie.suite runs it")
	}
	target := serveFrom(t, trixie(t, realironic.Options{Settings: slowWork}))
	target.Differs = differs29
	ironicsuite.Run(t, target)
}

// trixie is a real Ironic 29 from Debian 13.
func trixie(t *testing.T, o realironic.Options) *realironic.Ironic {
	t.Helper()
	o.Root = realironic.Chroot()
	if err := realironic.Installed(o); errors.Is(err, realironic.ErrNotInstalled) {
		t.Skipf("no Debian 13 here, make e2e makes it: %v", err)
	}
	return startIronic(t, o)
}
