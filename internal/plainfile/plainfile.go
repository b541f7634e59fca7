// Package plainfile reads files that somebody else writes and replaces: certificates, secrets, settings.
package plainfile

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// PEM bounds a file of certificates or a key, bytes: all authorities of a system have some hundred KiB.
const PEM = 4 << 20

// ErrKind is of what is no regular file: to open a FIFO or a device may take for ever.
var ErrKind = errors.New("not a regular file")

// Read returns the content of the regular file at path, or where its symbolic links lead, such as those of a mounted
// Secret. It does not wait for anybody. More than limit bytes are an error. Errors name the path.
func Read(path string, limit int64) ([]byte, error) {
	if is, err := os.Stat(path); err == nil && !is.Mode().IsRegular() {
		return nil, fault(path, ErrKind) // a device is not even opened
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a FIFO by now
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch is, err := f.Stat(); {
	case err != nil:
		return nil, err
	case !is.Mode().IsRegular():
		return nil, fault(path, ErrKind)
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(text)) > limit:
		return nil, fault(path, fmt.Errorf("longer than %d bytes", limit))
	}
	return text, nil
}

// KeyPair reads a certificate and its key in PEM form.
func KeyPair(certFile, keyFile string) (tls.Certificate, error) {
	cert, err := Read(certFile, PEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := Read(keyFile, PEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

func fault(path string, err error) error { return &fs.PathError{Op: "read", Path: path, Err: err} }
