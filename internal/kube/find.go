package kube

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

const (
	lookGap     = 5 * time.Second // between two looks
	lookTimeout = 8 * time.Second // of one look
	maxFault    = 300             // the most bytes that an error takes over of a text from the cluster
)

// Finder knows where Ironic is. It gets single objects by name; it lists and watches nothing, and writes no credentials
// to a disk. Make one with NewFinder; its methods are safe for concurrent use. A nil Finder has no URL and no fault.
type Finder struct {
	look   func(context.Context) (ironic.Access, error)
	moved  func()
	log    *slog.Logger
	looked chan struct{} // closed after the first look

	mu    sync.Mutex    // guards the rest
	found ironic.Access // by the last look that succeeded; without an address none has
	fault error         // of the last look; nil: it succeeded
}

// NewFinder returns a Finder whose Run calls look, such as IrSO.Look or BMO.Look. It calls moved when the address of
// Ironic has changed, before Access returns the new one.
func NewFinder(look func(context.Context) (ironic.Access, error), moved func(), log *slog.Logger) *Finder {
	return &Finder{look: look, moved: moved, log: log, looked: make(chan struct{})}
}

// Run looks every few seconds until ctx ends, and then returns nil.
func (f *Finder) Run(ctx context.Context) error {
	first := sync.OnceFunc(func() { close(f.looked) })
	for ctx.Err() == nil {
		bounded, cancel := context.WithTimeout(ctx, lookTimeout)
		now, err := f.look(bounded)
		cancel()
		if ctx.Err() == nil { // else the caller ended the look, which is no fault of the cluster
			f.keep(now, err)
			first()
		}
		select {
		case <-ctx.Done():
		case <-time.After(lookGap):
		}
	}
	return nil
}

// keep stores the result of a look, and logs what is new. A look that fails leaves the last address valid: while an
// object or the API server is away, Ironic itself may well answer.
func (f *Finder) keep(now ironic.Access, err error) {
	was, fault := f.last()
	switch {
	case err != nil && (fault == nil || fault.Error() != err.Error()):
		f.log.Error("Ironic cannot be found in the cluster: trying again", "error", err)
	case err == nil && (fault != nil || urlOf(now) != urlOf(was)):
		f.log.Info("Ironic was found in the cluster", "url", urlOf(now))
	}
	if err == nil && was.Address != "" && now.Address != was.Address {
		f.moved()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault = err; err == nil {
		f.found = now
	}
}

// last returns what the last look that succeeded has found, and the error of the last look.
func (f *Finder) last() (ironic.Access, error) {
	if f == nil {
		return ironic.Access{}, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.found, f.fault
}

// Access returns what the last look that succeeded has found, for ironic.Settings.Locate. It waits for the first look.
// An error names the first object that is missing, and says what to do about it.
func (f *Finder) Access(ctx context.Context) (ironic.Access, error) {
	select {
	case <-f.looked:
	case <-ctx.Done():
		return ironic.Access{}, fmt.Errorf("the throttle has not yet asked the cluster where Ironic is: %w", context.Cause(ctx))
	}
	found, fault := f.last()
	if found.Address == "" {
		return found, fault
	}
	return found, nil
}

// URL returns where Ironic was found last; "" if it never was.
func (f *Finder) URL() string {
	found, _ := f.last()
	return urlOf(found)
}

func urlOf(a ironic.Access) string {
	switch {
	case a.Address == "":
		return ""
	case a.TLS:
		return "https://" + a.Address
	}
	return "http://" + a.Address
}

// Fault says why the last look failed; "" if it succeeded.
func (f *Finder) Fault() string {
	found, fault := f.last()
	switch {
	case fault == nil:
		return ""
	case found.Address != "":
		return fault.Error() + "; the throttle goes on with the Ironic that it found before"
	}
	return fault.Error()
}

// reader reads objects of one namespace.
type reader struct {
	client    client.Client
	namespace string
}

// get reads an object. what begins the text of an error; the API server's own text says whether the object, its kind or
// a right to it is missing.
func (r reader) get(ctx context.Context, what, name string, into client.Object) error {
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, into); err != nil {
		return fmt.Errorf("%s: %s", what, line(err))
	}
	return nil
}

// line returns an error of the API server, or of the connection to it, as one short line.
func line(err error) string { return ironic.Line(err.Error(), maxFault) }

// secret reads the Secret that a field names; none of the keys may be empty. It checks the name, which becomes a part
// of a URL: whoever writes the field must not lead the throttle to another object.
func (r reader) secret(ctx context.Context, field, name string, keys ...string) (map[string][]byte, error) {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return nil, fmt.Errorf("%s, %q, is not a valid name of a Secret", field, ironic.Line(name, maxFault))
	}
	what := fmt.Sprintf("%s, the Secret %s/%s", field, r.namespace, name)
	var s corev1.Secret
	if err := r.get(ctx, what, name, &s); err != nil {
		return nil, err
	}
	for _, key := range keys {
		if len(bytes.TrimSpace(s.Data[key])) == 0 {
			return nil, fmt.Errorf("%s: it has no %s", what, key)
		}
	}
	return s.Data, nil
}

// logIn reads user and password from the Secret that a field names into a.
func (r reader) logIn(ctx context.Context, field, name string, a *ironic.Access) error {
	data, err := r.secret(ctx, field, name, corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey)
	a.User = string(bytes.TrimSpace(data[corev1.BasicAuthUsernameKey]))
	a.Password = string(bytes.TrimSpace(data[corev1.BasicAuthPasswordKey]))
	return err
}

// trust reads the certificate in the Secret that a field names into the CAs of a, as BMO does, and also the CA that
// signed it: the throttle then trusts a renewed certificate before it reads the Secret again.
func (r reader) trust(ctx context.Context, field, name string, a *ironic.Access) error {
	data, err := r.secret(ctx, field, name, corev1.TLSCertKey)
	if err != nil {
		return err
	}
	a.CA = x509.NewCertPool()
	if !a.CA.AppendCertsFromPEM(data[corev1.TLSCertKey]) {
		return fmt.Errorf("%s, the Secret %s/%s: it has no certificate in PEM form", field, r.namespace, name)
	}
	a.CA.AppendCertsFromPEM(data["ca.crt"])
	return nil
}

// IrSO finds Ironic by the Ironic resource with that name (IRONIC_NAME).
type IrSO struct {
	Client          client.Client
	Namespace, Name string
}

// Look finds Ironic as BMO does. An error names the first thing that is missing, and says what to do.
func (i IrSO) Look(ctx context.Context) (found ironic.Access, err error) {
	me := fmt.Sprintf("IRONIC_NAME=%s: the Ironic resource %s/%s", i.Name, i.Namespace, i.Name)
	r := reader{i.Client, i.Namespace}
	var resource objects.Ironic
	if err := r.get(ctx, me, i.Name, &resource); err != nil {
		return found, err
	}
	if why := unready(&resource); why != "" {
		return found, fmt.Errorf("%s is not ready: %s", me, why)
	}
	if resource.Spec.APICredentialsName == "" {
		return found, fmt.Errorf("%s has no spec.apiCredentialsName: IrSO sets it. Does ironic-standalone-operator run?", me)
	}
	host := i.Name + "." + i.Namespace + ".svc" // the Service that IrSO makes
	found.Address = host + ":80"
	if err := r.logIn(ctx, me+": its spec.apiCredentialsName", resource.Spec.APICredentialsName, &found); err != nil {
		return ironic.Access{}, err
	}
	if name := resource.Spec.TLS.CertificateName; name != "" {
		found.Address, found.TLS = host+":443", true
		if err := r.trust(ctx, me+": its spec.tls.certificateName", name, &found); err != nil {
			return ironic.Access{}, err
		}
	}
	return found, nil
}

// unready says why the resource is not ready by BMO's rule; "": it is ready.
func unready(resource *objects.Ironic) string {
	ready := meta.FindStatusCondition(resource.Status.Conditions, "Ready")
	switch {
	case ready == nil || ready.ObservedGeneration != resource.Generation:
		return "IrSO has not yet handled its last change. Does ironic-standalone-operator run?"
	case ready.Status != metav1.ConditionTrue:
		return ironic.Line(ready.Message, maxFault)
	}
	return ""
}
