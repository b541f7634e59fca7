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
	maxFault    = 300             // bytes of a text that the cluster writes
)

// Finder knows where Ironic is. It has the right to get single objects by name; nothing is listed or watched, and no
// credentials are written to a disk. Make one with NewFinder; its methods are safe for concurrent use. A nil one has no URL and no fault.
type Finder struct {
	look   func(context.Context) (ironic.Access, error)
	moved  func()
	log    *slog.Logger
	looked chan struct{} // closed after the first look

	mu    sync.Mutex    // guards what follows
	found ironic.Access // last; without an address nothing was
	fault error         // of the last look
}

// NewFinder returns a Finder that looks by look, such as IrSO.Look or BMO.Look. moved is called when Ironic is elsewhere, before
// anybody is led there. It sends nothing yet.
func NewFinder(look func(context.Context) (ironic.Access, error), moved func(), log *slog.Logger) *Finder {
	return &Finder{look: look, moved: moved, log: log, looked: make(chan struct{})}
}

// Run looks again and again until ctx ends, and returns nil then.
func (f *Finder) Run(ctx context.Context) error {
	first := sync.OnceFunc(func() { close(f.looked) })
	for ctx.Err() == nil {
		bounded, cancel := context.WithTimeout(ctx, lookTimeout)
		now, err := f.look(bounded)
		cancel()
		if ctx.Err() == nil { // else it is no fault of theirs
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

// keep takes what a look has found, and tells what is new. What was found last counts until something else is found: while a
// piece or the API server is away, Ironic itself may well answer.
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

// last is what was found last, and what was wrong at the last look.
func (f *Finder) last() (ironic.Access, error) {
	if f == nil {
		return ironic.Access{}, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.found, f.fault
}

// Access is what was found last, for ironic.Settings.Locate. It waits for the first look. An error names the first piece
// that is missing, and says what to do about it.
func (f *Finder) Access(ctx context.Context) (ironic.Access, error) {
	select {
	case <-f.looked:
	case <-ctx.Done():
		return ironic.Access{}, fmt.Errorf("the cluster was not yet asked where Ironic is: %w", context.Cause(ctx))
	}
	found, fault := f.last()
	if found.Address == "" {
		return found, fault
	}
	return found, nil
}

// URL is where Ironic was found last, "" as long as it was not.
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

// Fault is what was wrong at the last look, "" for nothing.
func (f *Finder) Fault() string {
	found, fault := f.last()
	switch {
	case fault == nil:
		return ""
	case found.Address != "":
		return fault.Error() + "; Ironic is asked as it was found before"
	}
	return fault.Error()
}

// reader reads objects of one namespace.
type reader struct {
	client    client.Client
	namespace string
}

// get reads an object. what begins the text of an error, and the API server says whether the object, its kind or a right to
// it is missing.
func (r reader) get(ctx context.Context, what, name string, into client.Object) error {
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, into); err != nil {
		return fmt.Errorf("%s: %s", what, line(err))
	}
	return nil
}

// line is a fault of the API server, or of the way there.
func line(err error) string { return ironic.Line(err.Error(), maxFault) }

// secret reads keys of the Secret that a field names, none of which may be empty. The name becomes a part of a path, and
// whoever writes the field must not lead us to another one.
func (r reader) secret(ctx context.Context, field, name string, keys ...string) (map[string][]byte, error) {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return nil, fmt.Errorf("%s, %q, is no name of a Secret", field, ironic.Line(name, maxFault))
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

// logIn puts user and password of the Secret that a field names into a.
func (r reader) logIn(ctx context.Context, field, name string, a *ironic.Access) error {
	data, err := r.secret(ctx, field, name, corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey)
	a.User = string(bytes.TrimSpace(data[corev1.BasicAuthUsernameKey]))
	a.Password = string(bytes.TrimSpace(data[corev1.BasicAuthPasswordKey]))
	return err
}

// trust lets a trust the certificate in the Secret that a field names, as BMO does, and who has signed it: then a renewed
// one is known before we have read it.
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

// IrSO names an Ironic resource (IRONIC_NAME).
type IrSO struct {
	Client          client.Client
	Namespace, Name string
}

// Look looks for Ironic as BMO does. An error names the first thing that is missing, and says what to do.
func (i IrSO) Look(ctx context.Context) (found ironic.Access, err error) {
	me := fmt.Sprintf("IRONIC_NAME=%s: the Ironic resource %s/%s", i.Name, i.Namespace, i.Name)
	r := reader{i.Client, i.Namespace}
	var of objects.Ironic
	if err := r.get(ctx, me, i.Name, &of); err != nil {
		return found, err
	}
	if why := unready(&of); why != "" {
		return found, fmt.Errorf("%s is not ready: %s", me, why)
	}
	if of.Spec.APICredentialsName == "" {
		return found, fmt.Errorf("%s has no spec.apiCredentialsName: IrSO sets it. Does ironic-standalone-operator run?", me)
	}
	host := i.Name + "." + i.Namespace + ".svc" // of IrSO's Service
	found.Address = host + ":80"
	if err := r.logIn(ctx, me+": its spec.apiCredentialsName", of.Spec.APICredentialsName, &found); err != nil {
		return ironic.Access{}, err
	}
	if name := of.Spec.TLS.CertificateName; name != "" {
		found.Address, found.TLS = host+":443", true
		if err := r.trust(ctx, me+": its spec.tls.certificateName", name, &found); err != nil {
			return ironic.Access{}, err
		}
	}
	return found, nil
}

// unready says why the resource is not ready by BMO's rule; "" = it is.
func unready(of *objects.Ironic) string {
	ready := meta.FindStatusCondition(of.Status.Conditions, "Ready")
	switch {
	case ready == nil || ready.ObservedGeneration != of.Generation:
		return "IrSO has not taken up its last change. Does ironic-standalone-operator run?"
	case ready.Status != metav1.ConditionTrue:
		return ironic.Line(ready.Message, maxFault)
	}
	return ""
}
