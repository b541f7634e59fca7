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
	// ClientCA makes clients show a certificate that one of these has signed; without
	// a path anybody may connect.
	ClientCA File
	Log      *slog.Logger     // nil: silent
	Now      func() time.Time // nil: time.Now
}

// File is a file in PEM form and the setting that names it.
type File struct {
	Setting, Path string
}

// String is the file as an error names it.
func (f File) String() string { return fmt.Sprintf("%s=%q", f.Setting, f.Path) }

// Open reads the files; nil where the listener does not speak TLS. Broken files are
// errors that name their setting. Files that change later are read anew at the next
// connection; connections that are open go on. Broken then, the ones before stay in use
// and the log says so once (GW-12). A certificate that has expired, or will soon, is used
// and is a line of the log each time it is read.
func (c Certificates) Open() (*InUse, error) {
	if c.Cert.Path == "" && c.Key.Path == "" {
		return nil, nil
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	r := &InUse{files: c}
	if err := r.renew(); err != nil {
		return nil, err
	}
	return r, nil
}

// InUse is what the files hold, as they are. A nil one is no TLS. It is safe for
// concurrent use.
type InUse struct {
	files Certificates

	mu      sync.Mutex // guards the rest
	conf    *tls.Config
	stamps  [3]stamp
	refused bool // the files have changed and cannot be used
}

// Config is how the listener speaks TLS: TLS 1.2 or later, HTTP/1.1 only. It may be used
// by many connections at the same time.
func (r *InUse) Config() *tls.Config {
	if r == nil {
		return nil
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		NextProtos:         []string{"http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return r.current(), nil },
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { // only that there is one: the above decides
			return &r.current().Certificates[0], nil
		},
	}
}

// NotAfter is when the certificate ends that the next connection is shown; zero without one.
func (r *InUse) NotAfter() time.Time {
	if r == nil {
		return time.Time{}
	}
	return r.current().Certificates[0].Leaf.NotAfter
}

// endsSoon is how long before its end a certificate should have been renewed; one that
// lives for days only, for the last quarter of its time.
const endsSoon = 7 * 24 * time.Hour

// Fault tells that the certificate has ended, or ends soon; "" if it does not.
func (r *InUse) Fault() string {
	if r == nil {
		return ""
	}
	return r.fault(r.current().Certificates[0].Leaf)
}

func (r *InUse) fault(c *x509.Certificate) string {
	at := c.NotAfter.UTC().Format(time.RFC3339)
	switch left := c.NotAfter.Sub(r.files.Now()); {
	case left <= 0:
		return fmt.Sprintf("the certificate of the %s listener (%v) has expired at %s: clients refuse it", r.files.Name, r.files.Cert, at)
	case left <= min(endsSoon, c.NotAfter.Sub(c.NotBefore)/4):
		return fmt.Sprintf("the certificate of the %s listener (%v) expires at %s and was not renewed", r.files.Name, r.files.Cert, at)
	}
	return ""
}

// stamp tells a changed file.
type stamp struct {
	size, nanos int64
}

func stampOf(f File) stamp {
	info, err := os.Stat(f.Path)
	if f.Path == "" || err != nil {
		return stamp{}
	}
	return stamp{info.Size(), info.ModTime().UnixNano()}
}

// current is the configuration for a new connection.
func (r *InUse) current() *tls.Config {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stampsNow() == r.stamps {
		return r.conf
	}
	log := r.files.Log.With("listener", r.files.Name)
	switch err := r.renewLocked(); {
	case err == nil:
		r.refused = false
		log.Info("certificates read again", "file", r.files.Cert.Path)
	case !r.refused:
		r.refused = true
		log.Error("the changed certificates cannot be used, the old ones stay", "error", err)
	}
	return r.conf
}

func (r *InUse) renew() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.renewLocked()
}

func (r *InUse) stampsNow() [3]stamp {
	return [3]stamp{stampOf(r.files.Cert), stampOf(r.files.Key), stampOf(r.files.ClientCA)}
}

func (r *InUse) renewLocked() error {
	stamps := r.stampsNow()
	pair, err := plainfile.KeyPair(r.files.Cert.Path, r.files.Key.Path)
	if err != nil {
		return fmt.Errorf("%v with %v: %w", r.files.Cert, r.files.Key, err)
	}
	if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil { // GODEBUG may keep it from being there
		return fmt.Errorf("%v: %w", r.files.Cert, err)
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, Certificates: []tls.Certificate{pair}}
	if r.files.ClientCA.Path != "" {
		if conf.ClientCAs, err = pool(r.files.ClientCA.Path); err != nil {
			return fmt.Errorf("%v: %w", r.files.ClientCA, err)
		}
		conf.ClientAuth = tls.RequireAndVerifyClientCert
	}
	r.conf, r.stamps = conf, stamps
	if fault := r.fault(pair.Leaf); fault != "" {
		r.files.Log.Warn("a certificate ends", "listener", r.files.Name, "fault", fault)
	}
	return nil
}

func pool(file string) (*x509.CertPool, error) {
	pem, err := plainfile.Read(file, plainfile.PEM)
	if err != nil {
		return nil, err
	}
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM(pem) {
		return nil, errors.New("holds no certificate in PEM form")
	}
	return p, nil
}
