package gateway

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
)

// Certificates names the files of the gateway's own TLS; the zero value is none.
type Certificates struct {
	CertFile, KeyFile string
	// ClientCAFile makes clients show a certificate that one of these has signed.
	ClientCAFile string
	Log          *slog.Logger // nil: silent
}

// TLS returns how the gateway speaks TLS, nil where it does not. Broken files are
// errors that name their setting. Files that change later are read anew at the next
// connection; broken then, the ones before stay in use and the log says so (GW-12).
func (c Certificates) TLS() (*tls.Config, error) {
	if c.CertFile == "" && c.KeyFile == "" {
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

func stampOf(name string) stamp {
	info, err := os.Stat(name)
	if name == "" || err != nil {
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
	switch err := r.renewLocked(); {
	case err == nil:
		r.refused = false
		r.files.Log.Info("gateway: certificates read again", "file", r.files.CertFile)
	case !r.refused:
		r.refused = true
		r.files.Log.Error("gateway: the changed certificates cannot be used, the old ones stay", "error", err)
	}
	return r.conf
}

func (r *renewed) renew() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.renewLocked()
}

func (r *renewed) stampsNow() [3]stamp {
	return [3]stamp{stampOf(r.files.CertFile), stampOf(r.files.KeyFile), stampOf(r.files.ClientCAFile)}
}

func (r *renewed) renewLocked() error {
	stamps := r.stampsNow()
	pair, err := tls.LoadX509KeyPair(r.files.CertFile, r.files.KeyFile)
	if err != nil {
		return fmt.Errorf("GATEWAY_TLS_CERT_FILE=%q with GATEWAY_TLS_KEY_FILE=%q: %w", r.files.CertFile, r.files.KeyFile, err)
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, Certificates: []tls.Certificate{pair}}
	if r.files.ClientCAFile != "" {
		if conf.ClientCAs, err = pool(r.files.ClientCAFile); err != nil {
			return fmt.Errorf("GATEWAY_CLIENT_CA_FILE=%q: %w", r.files.ClientCAFile, err)
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
