package find

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/tell"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// BMO names BMO's Deployment.
type BMO struct {
	Client client.Client
	// Deployment is NAME or NAMESPACE/NAME; without a namespace it is in Namespace, ours.
	Deployment, Namespace string
	CPUs                  int // of BMO's machine, as far as is known
	// Own reports whether a URL leads to this throttle's gateway, and so not to Ironic.
	Own func(endpoint string) bool
	// HasCredentials and HasAuthority: we have files of our own, and BMO's Secrets are not read.
	HasCredentials, HasAuthority bool
	Instance                     string // our name in Events
}

// Workers is what the Deployment says of BMO's workers, as the status shows it, but for LastError.
type Workers struct {
	api.Operator

	of *appsv1.Deployment
}

// Read reports whether the Deployment was there.
func (w Workers) Read() bool { return w.of != nil }

// Reason is that of the Event on BMO's Deployment.
const Reason = "TooManyWorkers"

// Warn puts a warning on the Deployment that Workers has read.
func (b BMO) Warn(ctx context.Context, w Workers, text string) error {
	on := corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: w.of.Namespace, Name: w.of.Name, UID: w.of.UID}
	return b.Client.Create(ctx, tell.Event(on, corev1.EventTypeWarning, Reason, text, b.Instance, time.Now()))
}

// Name is the Deployment's namespace and name.
func (b BMO) Name() string {
	if strings.Contains(b.Deployment, "/") {
		return b.Deployment
	}
	return b.Namespace + "/" + b.Deployment
}

// read reads the Deployment, and finds BMO among its containers: by the name that BMO's own manifests give it, else it is
// the first one.
func (b BMO) read(ctx context.Context) (c container, d *appsv1.Deployment, err error) {
	namespace, name, _ := strings.Cut(b.Name(), "/")
	r := reader{b.Client, namespace, "Role ironic-throttle-operator, as in overlay observe"}
	d = &appsv1.Deployment{}
	if err := r.get(ctx, "BMO's Deployment "+b.Name(), name, "IRONIC_THROTTLE_OPERATOR_DEPLOYMENT", d); err != nil {
		return c, nil, err
	}
	pod := d.Spec.Template.Spec
	if len(pod.Containers) == 0 {
		return c, nil, b.fault(errors.New("it has no container"))
	}
	i := max(0, slices.IndexFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == "manager" }))
	return container{pod.Containers[i], pod.Volumes, r, map[string]*corev1.ConfigMap{}}, d, nil
}

func (b BMO) fault(err error) error { return fmt.Errorf("BMO's Deployment %s: %w", b.Name(), err) }

// Workers reads how many workers BMO has, as BMO finds that: its flag, its variable, its CPUs. With an error what could
// be read counts.
func (b BMO) Workers(ctx context.Context) (w Workers, err error) {
	w.Deployment = b.Name()
	c, of, err := b.read(ctx)
	if w.of = of; err != nil {
		return w, err
	}
	number := func(text, from string) int {
		n, wrong := strconv.Atoi(text)
		if text != "" && wrong != nil {
			err = cmp.Or(err, fmt.Errorf("%s, %q: BMO does not start with that", from, ironic.Line(text, 100)))
		}
		return n
	}
	byFlag := number(c.flag("controller-concurrency"), "--controller-concurrency")
	workers, unread := c.variable(ctx, "BMO_CONCURRENCY", nil)
	byName := number(workers.text, "BMO_CONCURRENCY in "+workers.from)
	switch err = cmp.Or(err, unread); {
	case err != nil:
	case byFlag > 0:
		w.Workers, w.WorkersFrom = byFlag, "--controller-concurrency"
	case byName > 0:
		w.Workers, w.WorkersFrom = byName, "BMO_CONCURRENCY in "+workers.from
	default:
		w.Workers, w.WorkersFrom, w.Estimated = max(2, min(b.CPUs, 8)), fmt.Sprintf("BMO's own rule for %d CPUs", b.CPUs), true
	}
	limit, unread := c.variable(ctx, "PROVISIONING_LIMIT", nil)
	if w.Limit = number(limit.text, "PROVISIONING_LIMIT in "+limit.from); limit.text == "" && unread == nil {
		w.Limit = 20 // BMO's own default
	}
	if w.Workers > 0 && w.Limit > 0 {
		w.MayReach = w.Limit + w.Workers - 1
	}
	if err = cmp.Or(err, unread); err != nil {
		return w, b.fault(err)
	}
	return w, nil
}

// Look finds Ironic where BMO has it. An error names the first thing that is missing, and says what to do.
func (b BMO) Look(ctx context.Context) (ironic.Access, error) {
	c, d, err := b.read(ctx)
	if err == nil {
		var found ironic.Access
		if found, err = b.look(ctx, c, d.Namespace); err == nil {
			return found, nil
		}
		err = b.fault(err)
	}
	return ironic.Access{}, fmt.Errorf("IRONIC_ENDPOINT is not set, and Ironic is not found by itself: %w", err)
}

func (b BMO) look(ctx context.Context, c container, namespace string) (found ironic.Access, err error) {
	text := map[string]string{}
	for _, name := range []string{"IRONIC_NAME", "IRONIC_NAMESPACE", "IRONIC_INSECURE", "METAL3_AUTH_ROOT_DIR", "IRONIC_CACERT_FILE"} {
		v, err := c.variable(ctx, name, nil)
		if err != nil {
			return found, err
		}
		text[name] = v.text
	}
	endpoint, err := c.variable(ctx, "IRONIC_ENDPOINT", b.Own)
	switch name := text["IRONIC_NAME"]; {
	case name != "":
		return found, fmt.Errorf("it has IRONIC_NAME=%s, and with that its IRONIC_ENDPOINT means nothing: set IRONIC_NAME=%[1]s and "+
			"IRONIC_NAMESPACE=%s for the throttle too, or IRONIC_ENDPOINT",
			ironic.Line(name, 100), ironic.Line(cmp.Or(text["IRONIC_NAMESPACE"], namespace), 100))
	case err != nil:
		return found, err
	case endpoint.text == "":
		return found, errors.New("it does not say where Ironic is: set IRONIC_ENDPOINT for the throttle")
	}
	if err := at(endpoint.text, &found); err != nil {
		return found, fmt.Errorf("%w (%s)", err, endpoint.from)
	}
	found.Insecure, _ = strconv.ParseBool(text["IRONIC_INSECURE"]) // as BMO reads it
	folder := path.Join(cmp.Or(text["METAL3_AUTH_ROOT_DIR"], ironic.DefaultAuthRootDir), "ironic")
	if name := c.secretAt(folder); b.HasCredentials {
		found.User, found.Password = "", ""
	} else if name != "" {
		if err := c.reader.logIn(ctx, "what it uses for Ironic", name, &found); err != nil {
			return found, err
		}
	}
	folder = path.Dir(cmp.Or(text["IRONIC_CACERT_FILE"], ironic.DefaultCACertFile))
	if name := c.secretAt(folder); name != "" && found.TLS && !b.HasAuthority {
		if err := c.reader.trust(ctx, "what it trusts Ironic by", name, &found); err != nil {
			return found, err
		}
	}
	return found, nil
}

// at puts where a URL leads, and the credentials in it, into a.
func at(endpoint string, a *ironic.Access) error {
	base, err := ironic.Settings{Endpoint: endpoint}.Base()
	if err != nil {
		return err
	}
	if base.Path != "" {
		return fmt.Errorf("IRONIC_ENDPOINT: %q has a path, and such a one is not followed: set IRONIC_ENDPOINT for the throttle", base)
	}
	port := "80"
	if a.TLS = base.Scheme == "https"; a.TLS {
		port = "443"
	}
	a.Address = net.JoinHostPort(base.Hostname(), cmp.Or(base.Port(), port))
	u, err := url.Parse(endpoint)
	if err == nil {
		a.User = u.User.Username()
		a.Password, _ = u.User.Password()
	}
	return err
}
