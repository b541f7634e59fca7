package httpserve

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/plainfile"
)

// Certificates says where the TLS certificates of a listener are; the zero value stands for plain HTTP.
type Certificates struct {
	Name string // of the listener, in the log
	Dir  string // holds tls.crt and tls.key; "" is plain HTTP
	// Clients demands of clients a certificate that a CA in client-ca.crt has signed, if Open finds that file.
	Clients bool
	TLS     *tls.Config // versions, cipher suites and protocols
	Log     *slog.Logger
	Now     func() time.Time
}

// Open reads the files. It returns nil without a Dir; an error names the setting. InUse reads files that have changed
// again at the next connection; open connections go on. If changed files are broken, the old ones stay in use and the
// log says so once.
func (c Certificates) Open() (*InUse, error) {
	if c.Dir == "" {
		return nil, nil
	}
	if _, err := os.Stat(c.file(clientCA)); c.Clients && errors.Is(err, fs.ErrNotExist) {
		c.Clients = false
		c.Log.Info("clients of this listener need no certificate", "listener", c.Name, "missing", c.file(clientCA))
	}
	used := &InUse{files: c, stamps: c.stamps()}
	var err error
	if used.conf, err = c.read(); err != nil {
		return nil, fmt.Errorf("IRONIC_THROTTLE_TLS_CERT_DIR=%q: %w", c.Dir, err)
	}
	return used, nil
}

// The files of Dir, with the names that cert-manager uses. Its ca.crt says nothing about clients.
const certFile, keyFile, clientCA = "tls.crt", "tls.key", "client-ca.crt"

func (c Certificates) file(name string) string { return filepath.Join(c.Dir, name) }

// stamps returns what changes when a file changes; "" for a missing file.
func (c Certificates) stamps() (all [3]string) {
	for i, name := range []string{certFile, keyFile, clientCA} {
		if info, err := os.Stat(c.file(name)); err == nil {
			all[i] = fmt.Sprint(info.Size(), info.ModTime())
		}
	}
	return all
}

// read makes the tls.Config of new connections from the files.
func (c Certificates) read() (*tls.Config, error) {
	pair, err := plainfile.KeyPair(c.file(certFile), c.file(keyFile))
	if err == nil {
		pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]) // a GODEBUG setting leaves Leaf nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s with %s: %w", certFile, keyFile, err)
	}
	conf := c.TLS.Clone()
	conf.Certificates = []tls.Certificate{pair}
	if !c.Clients {
		return conf, nil
	}
	pem, err := plainfile.Read(c.file(clientCA), plainfile.PEM)
	conf.ClientCAs, conf.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if err == nil && !conf.ClientCAs.AppendCertsFromPEM(pem) {
		err = errors.New("holds no certificate in PEM form")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", clientCA, err)
	}
	return conf, nil
}

// InUse has the certificates that are in use; nil stands for plain HTTP. It is safe for concurrent use.
type InUse struct {
	files Certificates

	mu      sync.Mutex // guards the rest
	conf    *tls.Config
	stamps  [3]string // of the files that conf comes from
	refused bool      // the files have changed and cannot be used
}

// Config returns the tls.Config of the listener, for any number of connections; nil for plain HTTP.
func (r *InUse) Config() *tls.Config {
	if r == nil {
		return nil
	}
	conf := r.files.TLS.Clone()
	conf.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return r.current(), nil }
	return conf
}

// current returns the tls.Config of a new connection, after a look for changed files.
func (r *InUse) current() *tls.Config {
	r.mu.Lock()
	defer r.mu.Unlock()
	stamps := r.files.stamps()
	if stamps == r.stamps {
		return r.conf
	}
	log := r.files.Log.With("listener", r.files.Name)
	switch conf, err := r.files.read(); {
	case err == nil:
		r.conf, r.stamps, r.refused = conf, stamps, false
		log.Info("certificates read again", "file", r.files.file(certFile))
	case !r.refused:
		r.refused = true
		log.Error("the changed certificates cannot be used, the old ones stay", "error", err)
	}
	return r.conf
}

// NotAfter returns when the certificate for the next connection expires; zero for plain HTTP.
func (r *InUse) NotAfter() time.Time {
	if r == nil {
		return time.Time{}
	}
	return r.current().Certificates[0].Leaf.NotAfter
}

// endsSoon is how long before it expires a certificate should have been renewed, or a quarter of its life if that is
// shorter.
const endsSoon = 7 * 24 * time.Hour

// Fault says that the certificate has expired, or expires soon; "" if neither.
func (r *InUse) Fault() string {
	if r == nil {
		return ""
	}
	c, ends := r.current().Certificates[0].Leaf, "expires at %s and was not renewed"
	switch left := c.NotAfter.Sub(r.files.Now()); {
	case left <= 0:
		ends = "has expired at %s: clients refuse it"
	case left > min(endsSoon, c.NotAfter.Sub(c.NotBefore)/4):
		return ""
	}
	file, at := r.files.file(certFile), c.NotAfter.UTC().Format(time.RFC3339)
	return fmt.Sprintf("the certificate of the %s listener (%s) "+ends, r.files.Name, file, at)
}
