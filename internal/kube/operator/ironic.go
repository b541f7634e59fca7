package operator

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Ironic is where BMO's Ironic is.
type Ironic struct {
	Endpoint string // may hold credentials
	From     string // where that is written
	Insecure bool
	// Credentials and Authority name the Secrets that BMO has user and password, and Ironic's
	// authority, from; "" = none.
	Credentials, Authority string
}

// Ironic finds out where BMO's Ironic is.
func (r *Reader) Ironic(ctx context.Context, f Found) (Ironic, error) {
	i, err := r.ironic(ctx, f.container)
	if err != nil {
		return Ironic{}, fault(fmt.Errorf("BMO's Deployment %s: %w", r.Name(), err))
	}
	return i, nil
}

func (r *Reader) ironic(ctx context.Context, c container) (i Ironic, err error) {
	text := map[string]string{}
	for _, name := range []string{"IRONIC_NAME", "IRONIC_NAMESPACE", "IRONIC_INSECURE", "METAL3_AUTH_ROOT_DIR", "IRONIC_CACERT_FILE"} {
		v, err := c.variable(ctx, name, nil)
		if err != nil {
			return i, err
		}
		text[name] = v.text
	}
	if name := text["IRONIC_NAME"]; name != "" {
		namespace := text["IRONIC_NAMESPACE"]
		if namespace == "" {
			namespace = r.namespace
		}
		return i, fmt.Errorf("it has IRONIC_NAME=%s, and with that its IRONIC_ENDPOINT means nothing: set IRONIC_NAME=%s and "+
			"IRONIC_NAMESPACE=%s for the throttle too, or IRONIC_ENDPOINT", cut(name), cut(name), cut(namespace))
	}
	endpoint, err := c.variable(ctx, "IRONIC_ENDPOINT", r.Own)
	if err != nil {
		return i, err
	}
	if endpoint.text == "" {
		return i, fmt.Errorf("it does not say where Ironic is: set IRONIC_ENDPOINT for the throttle")
	}
	i = Ironic{Endpoint: endpoint.text, From: endpoint.from}
	i.Insecure, _ = strconv.ParseBool(text["IRONIC_INSECURE"]) // as BMO reads it
	root, authority := text["METAL3_AUTH_ROOT_DIR"], text["IRONIC_CACERT_FILE"]
	if root == "" {
		root = ironic.DefaultAuthRootDir
	}
	if authority == "" {
		authority = ironic.DefaultCACertFile
	}
	i.Credentials, i.Authority = c.secretAt(path.Join(root, "ironic")), c.secretAt(path.Dir(authority))
	return i, nil
}

// secretAt names the Secret that is mounted at a folder; "" = none.
func (c container) secretAt(folder string) string {
	for _, m := range c.VolumeMounts {
		if path.Clean(m.MountPath) != path.Clean(folder) {
			continue
		}
		for _, v := range c.volumes {
			if v.Name == m.Name && v.Secret != nil {
				return v.Secret.SecretName
			}
		}
	}
	return ""
}

// Files are credentials and authority as files, in a folder of ours.
type Files struct{ Dir string }

// AuthRootDir is what METAL3_AUTH_ROOT_DIR would name.
func (f Files) AuthRootDir() string { return filepath.Join(f.Dir, "auth") }

// Authority is what IRONIC_CACERT_FILE would name.
func (f Files) Authority() string { return filepath.Join(f.Dir, "ca", core.TLSCertKey) }

// Keep writes what BMO's Secrets have now; a file that has it already stays.
func (r *Reader) Keep(ctx context.Context, i Ironic, f Files) error {
	credentials := filepath.Join(f.AuthRootDir(), "ironic")
	if err := r.keep(ctx, i.Credentials, credentials, core.BasicAuthUsernameKey, core.BasicAuthPasswordKey); err != nil {
		return fault(err)
	}
	return fault(r.keep(ctx, i.Authority, filepath.Dir(f.Authority()), core.TLSCertKey))
}

// keep writes keys of a Secret into a folder.
func (r *Reader) keep(ctx context.Context, secret, folder string, keys ...string) error {
	if secret == "" {
		return nil
	}
	s, err := r.core.Secrets(r.namespace).Get(ctx, secret, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("secret %s/%s, which BMO uses for Ironic: %w: the throttle's account needs the right to get it "+
			"(Role ironic-throttle-operator, as in overlay observe)", r.namespace, secret, err)
	case err != nil:
		return fmt.Errorf("secret %s/%s, which BMO uses for Ironic: %w", r.namespace, secret, err)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("secret %s/%s: %w", r.namespace, secret, err)
	}
	for _, key := range keys {
		text := s.Data[key]
		if len(bytes.TrimSpace(text)) == 0 {
			return fmt.Errorf("secret %s/%s, which BMO uses for Ironic, has no key %s", r.namespace, secret, key)
		}
		if err := replace(filepath.Join(folder, key), text); err != nil {
			return fmt.Errorf("secret %s/%s: %w", r.namespace, secret, err)
		}
	}
	return nil
}

// replace writes a file as a whole, if it has another text.
func replace(file string, text []byte) error {
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, text) {
		return nil
	}
	fresh := file + ".new"
	if err := os.WriteFile(fresh, text, 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, file)
}

// Moved reports whether another Ironic was found before. The Secrets may have other names now:
// their content is what counts.
func (i Ironic) Moved(before Ironic) bool {
	return i.Endpoint != before.Endpoint || i.Insecure != before.Insecure
}

// LikeIn is i with those Secrets only that were used before.
func (i Ironic) LikeIn(before Ironic) Ironic {
	if before.Credentials == "" {
		i.Credentials = ""
	}
	if before.Authority == "" {
		i.Authority = ""
	}
	return i
}
