package httpserve

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
)

// Certificates names the files of a listener's own TLS; the zero value is none.
type Certificates struct {
	Name      string // of the listener, in the log
	Cert, Key File   // both or none
	// ClientCA makes clients show a certificate that one of these has signed; without
	// a path anybody may connect.
	ClientCA File
	Log      *slog.Logger // nil: silent
}

// File is a file in PEM form and the setting that names it.
type File struct {
	Setting, Path string
}

// String is the file as an error names it.
func (f File) String() string { return fmt.Sprintf("%s=%q", f.Setting, f.Path) }

// TLS returns how the listener speaks TLS, nil where it does not: TLS 1.2 or later,
// HTTP/1.1 only. Broken files are errors that name their setting. Files that change
// later are read anew at the next connection; connections that are open go on. Broken
// then, the ones before stay in use and the log says so once (GW-12). The
// configuration may be used by many connections at the same time.
func (c Certificates) TLS() (*tls.Config, error) {
	if c.Cert.Path == "" && c.Key.Path == "" {
		return nil, nil
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	r := &renewed{files: c}
	if err := r.renew(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		NextProtos:         []string{"http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return r.current(), nil },
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { // only that there is one: the above decides
			return &r.current().Certificates[0], nil
		},
	}, nil
}

// renewed holds the configuration of the files as they are.
type renewed struct {
	files Certificates

	mu      sync.Mutex // guards the rest
	conf    *tls.Config
	stamps  [3]stamp
	refused bool // the files have changed and cannot be used
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
func (r *renewed) current() *tls.Config {
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

func (r *renewed) renew() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.renewLocked()
}

func (r *renewed) stampsNow() [3]stamp {
	return [3]stamp{stampOf(r.files.Cert), stampOf(r.files.Key), stampOf(r.files.ClientCA)}
}

func (r *renewed) renewLocked() error {
	stamps := r.stampsNow()
	pair, err := tls.LoadX509KeyPair(r.files.Cert.Path, r.files.Key.Path)
	if err != nil {
		return fmt.Errorf("%v with %v: %w", r.files.Cert, r.files.Key, err)
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, Certificates: []tls.Certificate{pair}}
	if r.files.ClientCA.Path != "" {
		if conf.ClientCAs, err = pool(r.files.ClientCA.Path); err != nil {
			return fmt.Errorf("%v: %w", r.files.ClientCA, err)
		}
		conf.ClientAuth = tls.RequireAndVerifyClientCert
	}
	r.conf, r.stamps = conf, stamps
	return nil
}

func pool(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM(pem) {
		return nil, errors.New("holds no certificate in PEM form")
	}
	return p, nil
}
