package ironic

import (
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
)

// Whoever opens a named pipe waits until somebody writes.
func TestACertificateThatBlocksIsRefused(t *testing.T) {
	dir := t.TempDir()
	cert, key := selfSigned(t, dir, "client")
	fifo := dir + "/fifo"
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]Settings{
		"IRONIC_CACERT_FILE":      {CACertFile: fifo},
		"IRONIC_CLIENT_CERT_FILE": {ClientCertFile: cert, ClientPrivateKeyFile: fifo},
		"certificate":             {ClientCertFile: fifo, ClientPrivateKeyFile: key},
		"longer than":             {CACertFile: "/dev/zero"},
	} {
		if name == "longer than" {
			s.CACertFile = dir + "/long"
			writeFile(t, s.CACertFile, strings.Repeat("x", 5<<20))
		}
		s.Endpoint = "https://ironic.test"
		if _, err := NewTransport(s); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Later, in a handshake, too.
	conf, err := NewTransport(Settings{Endpoint: "https://ironic.test", ClientCertFile: cert, ClientPrivateKeyFile: key})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(fifo, key); err != nil {
		t.Fatal(err)
	}
	if _, err := conf.(*http.Transport).TLSClientConfig.GetClientCertificate(nil); err == nil {
		t.Error("a FIFO is taken for a key")
	}
}
