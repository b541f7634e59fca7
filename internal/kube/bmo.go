package kube

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

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// BMO finds Ironic, and how many workers BMO has, by BMO's Deployment.
type BMO struct {
	Client client.Client
	// Deployment is NAME or NAMESPACE/NAME; without a namespace it is in Namespace, the throttle's.
	Deployment, Namespace string
	// Own reports whether a URL is that of this throttle's gateway, and so not Ironic's.
	Own func(endpoint string) bool
	// HasCredentials and HasAuthority: the throttle has its own credentials or CA, and does not read those of BMO.
	HasCredentials, HasAuthority bool
}

// Name returns NAMESPACE/NAME of the Deployment.
func (b BMO) Name() string {
	if strings.Contains(b.Deployment, "/") {
		return b.Deployment
	}
	return b.Namespace + "/" + b.Deployment
}

// container is BMO's container in its Deployment.
type container struct {
	corev1.Container

	deployment *appsv1.Deployment
	reader     reader
	env        map[string]value // those of variables that the container has
}

// value is the text of a variable, and where the Deployment has it from.
type value struct{ text, from string }

// variables are those of BMO's container that the throttle reads.
var variables = []string{
	"BMO_CONCURRENCY", "PROVISIONING_LIMIT",
	"IRONIC_ENDPOINT", "IRONIC_NAME", "IRONIC_INSECURE", "METAL3_AUTH_ROOT_DIR", "IRONIC_CACERT_FILE",
}

// read reads the Deployment, and finds BMO's container: the one named as in BMO's manifests, else the first one.
func (b BMO) read(ctx context.Context) (c container, err error) {
	namespace, name, _ := strings.Cut(b.Name(), "/")
	c.reader, c.deployment = reader{b.Client, namespace}, &appsv1.Deployment{}
	what := "BMO's Deployment " + b.Name() + " (IRONIC_THROTTLE_OPERATOR_DEPLOYMENT)"
	if err := c.reader.get(ctx, what, name, c.deployment); err != nil {
		return c, err
	}
	all := c.deployment.Spec.Template.Spec.Containers
	if len(all) == 0 {
		return c, b.fault(errors.New("it has no container"))
	}
	c.Container = all[max(0, slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == "manager" }))]
	if err := c.readVariables(ctx, b.Own); err != nil {
		return c, b.fault(err)
	}
	return c, nil
}

func (b BMO) fault(err error) error { return fmt.Errorf("BMO's Deployment %s: %w", b.Name(), err) }

// readVariables finds the variables as the kubelet does: env wins over envFrom, and a later entry over an earlier one.
// It reads ConfigMaps, but no Secrets. It skips an IRONIC_ENDPOINT of our own gateway: an earlier entry has Ironic's.
func (c *container) readVariables(ctx context.Context, own func(string) bool) error {
	c.env = map[string]value{}
	take := func(name, text, from string) {
		if slices.Contains(variables, name) && (name != "IRONIC_ENDPOINT" || !own(text)) {
			c.env[name] = value{text, from}
		}
	}
	for _, e := range c.EnvFrom {
		if e.ConfigMapRef == nil {
			continue
		}
		data, err := c.configMap(ctx, e.ConfigMapRef.Name)
		if err != nil {
			return err
		}
		for name, text := range data {
			take(name, text, "ConfigMap "+e.ConfigMapRef.Name)
		}
	}
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			take(e.Name, e.Value, "its env")
			continue
		}
		delete(c.env, e.Name)
		ref := e.ValueFrom.ConfigMapKeyRef
		if ref == nil || !slices.Contains(variables, e.Name) {
			continue
		}
		data, err := c.configMap(ctx, ref.Name)
		if err != nil {
			return err
		}
		take(e.Name, data[ref.Key], "ConfigMap "+ref.Name)
	}
	return nil
}

// configMap returns the data of a ConfigMap. A missing one is no error: BMO does not start without one that it needs.
func (c *container) configMap(ctx context.Context, name string) (map[string]string, error) {
	var m corev1.ConfigMap
	err := c.reader.client.Get(ctx, client.ObjectKey{Namespace: c.reader.namespace, Name: name}, &m)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("ConfigMap %s: %s", name, line(err))
	}
	return m.Data, nil
}

// secretAt returns the name of the Secret that is mounted at a folder; "": there is none.
func (c *container) secretAt(folder string) string {
	for _, m := range c.VolumeMounts {
		for _, v := range c.deployment.Spec.Template.Spec.Volumes {
			if path.Clean(m.MountPath) == path.Clean(folder) && v.Name == m.Name && v.Secret != nil {
				return v.Secret.SecretName
			}
		}
	}
	return ""
}

// ReasonWorkers is the reason of the Event on the Deployment that warns about BMO's workers.
const ReasonWorkers = "TooManyWorkers"

// Workers reads how many workers BMO has: by its flag, else by its variable; 0 if neither is set. on is the Deployment.
func (b BMO) Workers(ctx context.Context) (o api.Operator, on corev1.ObjectReference, err error) {
	c, err := b.read(ctx)
	if o.Deployment = b.Name(); err != nil {
		return o, on, err
	}
	const flag = "--controller-concurrency"
	for _, arg := range slices.Concat(c.Command, c.Args) {
		if text, is := strings.CutPrefix(arg, flag+"="); is {
			o.Workers, _ = strconv.Atoi(text) // BMO does not start if it is no number
			o.WorkersFrom = flag
		}
	}
	if n := c.env["BMO_CONCURRENCY"]; o.Workers <= 0 {
		o.Workers, _ = strconv.Atoi(n.text)
		o.WorkersFrom = "BMO_CONCURRENCY in " + n.from
	}
	if o.Workers <= 0 { // BMO then starts two to eight, by the CPUs of its machine
		o.Workers, o.WorkersFrom = 0, ""
	}
	o.Limit, _ = strconv.Atoi(cmp.Or(c.env["PROVISIONING_LIMIT"].text, "20")) // BMO's own default
	d := c.deployment
	on = corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: d.Namespace, Name: d.Name, UID: d.UID}
	return o, on, nil
}

// Look finds Ironic by BMO's settings. An error names the first thing that is missing, and says what to do.
func (b BMO) Look(ctx context.Context) (found ironic.Access, err error) {
	c, err := b.read(ctx)
	if err == nil {
		if found, err = c.ironic(ctx, b.HasCredentials, b.HasAuthority); err != nil {
			err = b.fault(err)
		}
	}
	if err != nil {
		return ironic.Access{}, fmt.Errorf("IRONIC_ENDPOINT is not set, and Ironic is not found by itself: %w", err)
	}
	return found, nil
}

func (c *container) ironic(ctx context.Context, hasCredentials, hasAuthority bool) (found ironic.Access, err error) {
	endpoint := c.env["IRONIC_ENDPOINT"]
	if endpoint.text == "" || c.env["IRONIC_NAME"].text != "" { // BMO prefers the name
		return found, errors.New("it has no IRONIC_ENDPOINT, or IRONIC_NAME: set one of them for the throttle")
	}
	base, err := ironic.Settings{Endpoint: endpoint.text}.Base()
	switch {
	case err != nil:
		return found, fmt.Errorf("%w (%s)", err, endpoint.from)
	case base.Path != "":
		return found, fmt.Errorf("%q has a path: set IRONIC_ENDPOINT for the throttle", base)
	}
	port := "80"
	if found.TLS = base.Scheme == "https"; found.TLS {
		port = "443"
	}
	found.Address = net.JoinHostPort(base.Hostname(), cmp.Or(base.Port(), port))
	if u, err := url.Parse(endpoint.text); err == nil && !hasCredentials {
		found.User = u.User.Username()
		found.Password, _ = u.User.Password()
	}
	found.Insecure, _ = strconv.ParseBool(c.env["IRONIC_INSECURE"].text) // as BMO reads it
	folder := path.Join(cmp.Or(c.env["METAL3_AUTH_ROOT_DIR"].text, ironic.DefaultAuthRootDir), "ironic")
	if name := c.secretAt(folder); name != "" && !hasCredentials {
		if err := c.reader.logIn(ctx, "its credentials for Ironic", name, &found); err != nil {
			return found, err
		}
	}
	folder = path.Dir(cmp.Or(c.env["IRONIC_CACERT_FILE"].text, ironic.DefaultCACertFile))
	if name := c.secretAt(folder); name != "" && found.TLS && !hasAuthority {
		err = c.reader.trust(ctx, "its CA for Ironic", name, &found)
	}
	return found, err
}
