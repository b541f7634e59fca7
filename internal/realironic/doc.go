// Package realironic runs a real Ironic, from Debian's packages, for tests and
// benchmarks: API and conductor on loopback, an SQLite file, no other service.
//
// Everything lives in a scratch folder of its own and goes away with Stop; the
// machine's /etc/ironic is neither read nor written. hack/ironic/install.sh
// installs what is needed.
package realironic
