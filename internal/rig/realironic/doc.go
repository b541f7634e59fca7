// Package realironic runs a real Ironic, from Debian's packages, for tests and benchmarks: API and conductor on loopback, an
// SQLite file or a MariaDB of its own (Options.MariaDB), no other service.
//
// Everything lives in a scratch folder of its own and goes away with Stop; the machine's /etc/ironic is neither read nor
// written. hack/ironic/install.sh installs what is needed: Ironic 21 of Debian 12. hack/ironic/chroot.sh makes a chroot with
// Ironic 29 of Debian 13, which the operator's newest releases need (Options.Root); that one can have pretended hosts
// (Options.Pretend) and MariaDB.
package realironic
