package irso

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

const (
	gap         = 10 * time.Second // between two looks
	soon        = 2 * time.Second  // likewise, while nothing was found
	lookTimeout = 8 * time.Second
)

// Options is what New needs. Config, Namespace and Name are required.
type Options struct {
	Config          *rest.Config
	Namespace, Name string       // of the Ironic resource
	Log             *slog.Logger // nil: silent
}

// Finder knows where Ironic is. Make one with New; its methods are safe for concurrent use.
type Finder struct {
	reader
	log    *slog.Logger
	looked chan struct{} // closed after the first look

	mu     sync.Mutex // guards what follows
	found  finding
	any    bool  // something was found once
	fault  error // of the last look
	closed bool  // looked is
}

// New checks the Options. It sends nothing.
func New(o Options) (*Finder, error) {
	if o.Config == nil || o.Namespace == "" || o.Name == "" {
		return nil, errors.New("IRONIC_NAME: a cluster, a namespace and a name must be known")
	}
	client, err := newClient(o.Config)
	if err != nil {
		return nil, fmt.Errorf("IRONIC_NAME=%s: %w", o.Name, err)
	}
	f := &Finder{reader: reader{client: client, namespace: o.Namespace, name: o.Name}, log: o.Log, looked: make(chan struct{})}
	if f.log == nil {
		f.log = slog.New(slog.DiscardHandler)
	}
	return f, nil
}

// Endpoint is Ironic's URL, as far as that does not change.
func (f *Finder) Endpoint() string { return "http://" + f.host() }

// Run looks again and again until ctx ends, and returns nil then.
func (f *Finder) Run(ctx context.Context) error {
	for {
		f.look(ctx)
		again := time.NewTimer(f.pause())
		select {
		case <-ctx.Done():
			again.Stop()
			return nil
		case <-again.C:
		}
	}
}

func (f *Finder) pause() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.any {
		return gap
	}
	return soon
}

// look looks once.
func (f *Finder) look(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	now, err := f.read(bounded)
	if ctx.Err() != nil {
		return // we end: no fault of theirs
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tellLocked(now, err)
	if f.fault = err; err == nil {
		f.found, f.any = now, true
	}
	if !f.closed {
		f.closed = true
		close(f.looked)
	}
}

// tellLocked says once what has become of what was found, and what is missing.
func (f *Finder) tellLocked(now finding, err error) {
	switch was := f.fault; {
	case err != nil && (was == nil || was.Error() != err.Error()):
		f.log.Error("Ironic cannot be found by its Ironic resource: trying again", "resource", f.where(), "error", err, "foundBefore", f.any)
	case err != nil:
	case !f.any:
		f.log.Info("Ironic was found by its Ironic resource", "resource", f.where(), "address", now.Address, "tls", now.TLS)
	case !now.equal(f.found):
		f.log.Info("the Ironic resource or one of its Secrets has changed", "resource", f.where(), "address", now.Address, "tls", now.TLS,
			"credentials", now.User != f.found.User || now.Password != f.found.Password, "authority", now.pem != f.found.pem)
	case was != nil:
		f.log.Info("Ironic is found by its Ironic resource again", "resource", f.where())
	}
}

// Access is what was found last, for ironic.Settings.Locate. It waits for the first look. An
// error says what is missing, and what to do about it.
func (f *Finder) Access(ctx context.Context) (ironic.Access, error) {
	select {
	case <-f.looked:
	case <-ctx.Done():
		return ironic.Access{}, fmt.Errorf("%s was not read yet: %w", f.resource(), context.Cause(ctx))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.any {
		return ironic.Access{}, f.fault
	}
	return f.found.Access, nil
}

// Fault is what was wrong at the last look, "" for nothing.
func (f *Finder) Fault() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.fault == nil:
		return ""
	case f.any:
		return f.fault.Error() + "; Ironic is asked as it was found before"
	}
	return f.fault.Error()
}
