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

// Certificates says what a listener's own TLS is made of; the zero value is none.
type Certificates struct {
	Name string // of the listener, in the log
	Dir  string // holds tls.crt and tls.key; "" is plain HTTP
	// Clients makes clients show a certificate that one of client-ca.crt has signed, if that file is there at first.
	Clients bool
	TLS     *tls.Config // the rest of it: versions and protocols
	Log     *slog.Logger
	Now     func() time.Time
}

// Open reads the files; nil where the listener does not speak TLS. Broken files are errors that name their setting.
// Files that change later are read again at the next connection; connections that are open go on. Broken then, the ones
// before stay in use and the log says so once.
func (c Certificates) Open() (*InUse, error) {
	if c.Dir == "" {
		return nil, nil
	}
	if _, err := os.Stat(c.file(clientCA)); c.Clients && errors.Is(err, fs.ErrNotExist) {
		c.Clients = false
		c.Log.Info("clients of this listener need no certificate", "listener", c.Name, "missing", c.file(clientCA))
	}
	in := &InUse{files: c, stamps: c.stamps()}
	var err error
	if in.conf, err = c.read(); err != nil {
		return nil, fmt.Errorf("IRONIC_THROTTLE_TLS_CERT_DIR=%q: %w", c.Dir, err)
	}
	return in, nil
}

// The files of Dir, named as cert-manager has them. Its ca.crt says nothing of clients.
const certFile, keyFile, clientCA = "tls.crt", "tls.key", "client-ca.crt"

func (c Certificates) file(name string) string { return filepath.Join(c.Dir, name) }

// stamps tell a changed file. One that is not there has none.
func (c Certificates) stamps() (all [3]string) {
	for i, name := range []string{certFile, keyFile, clientCA} {
		if info, err := os.Stat(c.file(name)); err == nil {
			all[i] = fmt.Sprint(info.Size(), info.ModTime())
		}
	}
	return all
}

// read makes of the files what a connection needs.
func (c Certificates) read() (*tls.Config, error) {
	pair, err := plainfile.KeyPair(c.file(certFile), c.file(keyFile))
	if err == nil {
		pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]) // GODEBUG may keep it from being there
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

// InUse is what the files hold, as they are. A nil one is no TLS. It is safe for concurrent use.
type InUse struct {
	files Certificates

	mu      sync.Mutex // guards the rest
	conf    *tls.Config
	stamps  [3]string // of what conf was made of
	refused bool      // the files have changed and cannot be used
}

// Config is how the listener speaks TLS. It may be used by many connections at the same time.
func (r *InUse) Config() *tls.Config {
	if r == nil {
		return nil
	}
	conf := r.files.TLS.Clone()
	conf.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return r.current(), nil }
	return conf
}

// current is the configuration for a new connection.
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

// NotAfter is when the certificate ends that the next connection is shown; zero without one.
func (r *InUse) NotAfter() time.Time {
	if r == nil {
		return time.Time{}
	}
	return r.current().Certificates[0].Leaf.NotAfter
}

// endsSoon is how long before its end a certificate should have been renewed; one that lives for days only, for the
// last quarter of its time.
const endsSoon = 7 * 24 * time.Hour

// Fault tells that the certificate has ended, or ends soon; "" if it does not.
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
	return fmt.Sprintf("the certificate of the %s listener (%s) "+ends, r.files.Name, r.files.file(certFile), c.NotAfter.UTC().Format(time.RFC3339))
}
