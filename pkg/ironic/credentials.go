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
	"sync"

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

// readCredentials reads dir/username and dir/password. The directory alone
// decides, as in BMO: when it is missing there are none (false); when it is
// there, both files must be there and say something.
func readCredentials(dir string) (credentials, bool, error) {
	if dir == "" {
		return credentials{}, false, nil
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return credentials{}, false, nil
	} else if err != nil {
		return credentials{}, false, fmt.Errorf("METAL3_AUTH_ROOT_DIR: %w", err)
	}
	user, err := readSecret(filepath.Join(dir, "username"))
	if err != nil {
		return credentials{}, false, err
	}
	password, err := readSecret(filepath.Join(dir, "password"))
	if err != nil {
		return credentials{}, false, err
	}
	return credentials{user: user, password: password}, true, nil
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

// auth holds the credentials in use. They are read again when Ironic no longer
// takes them, so that a rotated secret needs no restart and a normal request
// no file. Safe for concurrent use.
type auth struct {
	dir    string
	inURL  credentials                               // of the endpoint, when the directory is missing
	locate func(ctx context.Context) (Access, error) // says them instead; nil: dir and inURL do

	mu  sync.Mutex
	now credentials
}

// newAuth reads the credentials for the first time.
func newAuth(s Settings, inURL credentials) (*auth, error) {
	a := &auth{dir: s.authDir(), inURL: inURL, locate: s.Locate}
	if a.locate != nil {
		return a, nil
	}
	if _, err := a.reload(context.Background()); err != nil {
		return nil, err
	}
	return a, nil
}

// current returns those for a request; an error is Locate's.
func (a *auth) current(ctx context.Context) (credentials, error) {
	if a.locate != nil {
		access, err := a.locate(ctx)
		return credentials{user: access.User, password: access.Password}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now, nil
}

// reload reads the files again; with an error the old credentials stay.
func (a *auth) reload(ctx context.Context) (credentials, error) {
	if a.locate != nil {
		return a.current(ctx)
	}
	fresh, ok, err := readCredentials(a.dir)
	if err != nil {
		return credentials{}, err
	}
	if !ok {
		fresh = a.inURL
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now = fresh
	return fresh, nil
}
