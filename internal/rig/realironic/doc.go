// Package realironic runs a real Ironic from Debian's packages, for tests and benchmarks: API and conductor on
// loopback, with an SQLite file or a MariaDB of its own (Options.MariaDB), and no other service.
//
// All files are in a scratch folder, which Stop deletes. The machine's /etc/ironic is neither read nor written.
// hack/ironic/install.sh installs Ironic 21 of Debian 12. hack/ironic/chroot.sh makes a chroot with Ironic 29 of Debian
// 13, which the newest releases of BMO need (Options.Root). Only that one can have pretended hosts (Options.Pretend)
// and MariaDB.
package realironic
