package httpserve

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/plainfile"
)

// Certificates names the files of a listener's own TLS; the zero value is none.
type Certificates struct {
	Name      string // of the listener, in the log
	Cert, Key File   // both or none
	// ClientCA makes clients show a certificate that one of these has signed; without a path anybody may connect.
	ClientCA File
	Log      *slog.Logger
	Now      func() time.Time
}

// File is a file in PEM form and the setting that names it.
type File struct {
	Setting, Path string
}

// String is the file as an error names it.
func (f File) String() string { return fmt.Sprintf("%s=%q", f.Setting, f.Path) }

// Open reads the files; nil where the listener does not speak TLS. Broken files are errors that name their setting.
// Files that change later are read anew at the next connection; connections that are open go on. Broken then, the ones
// before stay in use and the log says so once.
func (c Certificates) Open() (*InUse, error) {
	if c.Cert.Path == "" && c.Key.Path == "" {
		return nil, nil
	}
	stamps := c.stamps()
	conf, err := c.read()
	if err != nil {
		return nil, err
	}
	return &InUse{files: c, conf: conf, stamps: stamps}, nil
}

// stamps tell a changed file. One that is not there has none.
func (c Certificates) stamps() (all [3]string) {
	for i, f := range []File{c.Cert, c.Key, c.ClientCA} {
		if info, err := os.Stat(f.Path); err == nil {
			all[i] = fmt.Sprint(info.Size(), info.ModTime())
		}
	}
	return all
}

// read makes of the files what a connection needs: TLS 1.2 or later, HTTP/1.1 only.
func (c Certificates) read() (*tls.Config, error) {
	pair, err := plainfile.KeyPair(c.Cert.Path, c.Key.Path)
	if err != nil {
		return nil, fmt.Errorf("%v with %v: %w", c.Cert, c.Key, err)
	}
	if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil { // GODEBUG may keep it from being there
		return nil, fmt.Errorf("%v: %w", c.Cert, err)
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, Certificates: []tls.Certificate{pair}}
	if c.ClientCA.Path != "" {
		pem, err := plainfile.Read(c.ClientCA.Path, plainfile.PEM)
		conf.ClientCAs, conf.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if err == nil && !conf.ClientCAs.AppendCertsFromPEM(pem) {
			err = errors.New("holds no certificate in PEM form")
		}
		if err != nil {
			return nil, fmt.Errorf("%v: %w", c.ClientCA, err)
		}
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
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return r.current(), nil },
	}
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
		log.Info("certificates read again", "file", r.files.Cert.Path)
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
	return fmt.Sprintf("the certificate of the %s listener (%v) "+ends, r.files.Name, r.files.Cert, c.NotAfter.UTC().Format(time.RFC3339))
}
