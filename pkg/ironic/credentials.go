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
	"github.com/ironic-throttle/ironic-throttle/internal/secret"
)

// credentials are for HTTP basic authentication; the zero value is none. host is the address from Settings.Locate.
type credentials struct{ user, password, host string }

// header returns the value of the Authorization header, "" without credentials.
func (c credentials) header() string {
	if c.user == "" && c.password == "" {
		return ""
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(c.user+":"+c.password))
}

// mask hides c in a text that Ironic, or a proxy before it, sent back.
func (c credentials) mask(text string) string {
	_, token, _ := strings.Cut(c.header(), " ")
	return secret.Hide(text, token, c.password)
}

// auth holds the credentials in use. The Client reads them again when Ironic stops accepting them, so that a rotated
// secret needs no restart, and a normal request reads no file. It is safe for concurrent use.
type auth struct {
	read func(ctx context.Context) (credentials, error)
	now  atomic.Pointer[credentials]
}

// newAuth reads the credentials, unless Settings.Locate returns them. inURL are those of the endpoint, which count if
// there are no files.
func newAuth(s Settings, inURL credentials) (*auth, error) {
	if s.Locate != nil {
		return &auth{read: func(ctx context.Context) (found credentials, err error) {
			access, err := s.Locate(ctx)
			if found.user, found.password = access.User, access.Password; err == nil && found.user == "" {
				found, err = readCredentials(s.AuthRootDir, inURL)
			}
			found.host = access.Address
			return found, err
		}}, nil
	}
	a := &auth{read: func(context.Context) (credentials, error) { return readCredentials(s.AuthRootDir, inURL) }}
	_, err := a.get(context.Background(), true)
	return a, err
}

// get returns the credentials for a request. again: it reads them again; with an error, the old ones stay in use.
func (a *auth) get(ctx context.Context, again bool) (credentials, error) {
	if now := a.now.Load(); now != nil && !again {
		return *now, nil
	}
	fresh, err := a.read(ctx)
	if err == nil && fresh.host == "" { // with Locate, each request asks for its own
		a.now.Store(&fresh)
	}
	return fresh, err
}

// readCredentials reads username and password in root/ironic. That directory decides, as in BMO: if it does not exist,
// inURL counts; if it does, both files must exist and not be empty.
func readCredentials(root string, inURL credentials) (read credentials, err error) {
	if root == "" {
		return inURL, nil
	}
	dir := filepath.Join(root, "ironic")
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
