package ironic

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/ironic-throttle/ironic-throttle/internal/plainfile"
)

// credentials are for HTTP basic authentication; the zero value is none.
type credentials struct{ user, password string }

// header returns the value of the Authorization header; "" without credentials.
func (c credentials) header() string {
	if c == (credentials{}) {
		return ""
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(c.user+":"+c.password))
}

// mask takes c out of a text that Ironic, or something before it, sent back.
func (c credentials) mask(text string) string {
	if c.password == "" || text == "" {
		return text
	}
	_, token, _ := strings.Cut(c.header(), " ")
	return strings.NewReplacer(token, "xxxxx", c.password, "xxxxx").Replace(text)
}

// auth holds the credentials in use. They are read again when Ironic no longer takes them, so that a rotated secret
// needs no restart and a normal request no file. Safe for concurrent use.
type auth struct {
	dir  string // with the files; "" where there is none
	read func(ctx context.Context) (credentials, error)
	now  atomic.Pointer[credentials] // nil: each request reads its own
}

// newAuth reads the credentials for the first time, unless Settings.Locate says them. inURL are those of the endpoint,
// which count where the directory with the files is missing.
func newAuth(s Settings, inURL credentials) (*auth, error) {
	if s.Locate != nil {
		return &auth{read: func(ctx context.Context) (credentials, error) {
			access, err := s.Locate(ctx)
			return credentials{user: access.User, password: access.Password}, err
		}}, nil
	}
	a := &auth{}
	if s.AuthRootDir != "" {
		a.dir = filepath.Join(s.AuthRootDir, "ironic")
	}
	a.read = func(context.Context) (credentials, error) { return readCredentials(a.dir, inURL) }
	first, err := a.read(context.Background())
	a.now.Store(&first)
	return a, err
}

// current returns those for a request; an error is Locate's.
func (a *auth) current(ctx context.Context) (credentials, error) {
	if now := a.now.Load(); now != nil {
		return *now, nil
	}
	return a.read(ctx)
}

// reload reads them again; with an error the old ones stay.
func (a *auth) reload(ctx context.Context) (credentials, error) {
	fresh, err := a.read(ctx)
	if err == nil && a.now.Load() != nil {
		a.now.Store(&fresh)
	}
	return fresh, err
}

// readCredentials reads dir/username and dir/password. The directory alone decides, as in BMO: when it is missing
// there are those of the endpoint; when it is there, both files must be there and say something.
func readCredentials(dir string, inURL credentials) (read credentials, err error) {
	if dir == "" {
		return inURL, nil
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return inURL, nil
	} else if err != nil {
		return credentials{}, fmt.Errorf("METAL3_AUTH_ROOT_DIR: %w", err)
	}
	if read.user, err = readSecret(filepath.Join(dir, "username")); err != nil {
		return credentials{}, err
	}
	read.password, err = readSecret(filepath.Join(dir, "password"))
	return read, err
}

// readSecret returns the trimmed text of a file, which must not be empty.
func readSecret(name string) (string, error) {
	text, err := plainfile.Read(name, maxSecretBytes)
	if err != nil {
		return "", fmt.Errorf("METAL3_AUTH_ROOT_DIR: %w", err)
	}
	secret := strings.TrimSpace(string(text))
	if secret == "" {
		return "", fmt.Errorf("METAL3_AUTH_ROOT_DIR: %s is empty", name)
	}
	return secret, nil
}
