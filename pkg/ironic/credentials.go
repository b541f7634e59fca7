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

// credentials are for HTTP basic authentication; the zero value is none. host is where Settings.Locate leads with them.
type credentials struct{ user, password, host string }

// header returns the value of the Authorization header; "" without credentials.
func (c credentials) header() string {
	if c.user == "" && c.password == "" {
		return ""
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(c.user+":"+c.password))
}

// mask takes c out of a text that Ironic, or something before it, sent back.
func (c credentials) mask(text string) string {
	_, token, _ := strings.Cut(c.header(), " ")
	return secret.Hide(text, token, c.password)
}

// auth holds the credentials in use. They are read again when Ironic no longer takes them, so that a rotated secret
// needs no restart and a normal request no file. Safe for concurrent use.
type auth struct {
	read func(ctx context.Context) (credentials, error)
	now  atomic.Pointer[credentials]
}

// newAuth reads the credentials, unless Settings.Locate says them. inURL are the endpoint's: they count without files.
func newAuth(s Settings, inURL credentials) (*auth, error) {
	if s.Locate != nil {
		return &auth{read: func(ctx context.Context) (of credentials, err error) {
			access, err := s.Locate(ctx)
			if of.user, of.password = access.User, access.Password; err == nil && of.user == "" {
				of, err = readCredentials(s.AuthRootDir, inURL)
			}
			of.host = access.Address
			return of, err
		}}, nil
	}
	a := &auth{read: func(context.Context) (credentials, error) { return readCredentials(s.AuthRootDir, inURL) }}
	_, err := a.get(context.Background(), true)
	return a, err
}

// get returns those for a request, read again if that is wanted; with an error the old ones stay.
func (a *auth) get(ctx context.Context, again bool) (credentials, error) {
	if now := a.now.Load(); now != nil && !again {
		return *now, nil
	}
	fresh, err := a.read(ctx)
	if err == nil && fresh.host == "" { // else each request reads its own
		a.now.Store(&fresh)
	}
	return fresh, err
}

// readCredentials reads username and password in root/ironic. That directory alone decides, as in BMO: when it is
// missing there are those of the endpoint; when it is there, both files must be there and say something.
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
