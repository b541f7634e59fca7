package realkube

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// Kube is a running API server with its etcd. Its methods may be called from several
// goroutines; those that start and stop wait for each other.
type Kube struct {
	URL    string // https, without a slash at the end
	CAFile string
	Dir    string // scratch folder, with the logs

	place   place
	ready   time.Duration // longest wait for readiness
	token   string        // of the admin
	http    *http.Client  // to ask whether it is ready
	core    kubernetes.Interface
	objects dynamic.Interface
	kinds   meta.ResettableRESTMapper

	mu        sync.Mutex
	etcd, api *child.Process
}

// Start builds nothing, runs etcd and an API server and returns when it is ready. ctx
// bounds the start only. The caller must call Stop. Errors carry the end of the logs.
func Start(ctx context.Context, o Options) (*Kube, error) {
	assets, err := o.assets()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(o.Dir, "kube-")
	if err != nil {
		return nil, fmt.Errorf("scratch folder: %w", err)
	}
	k := &Kube{Dir: dir, ready: startTimeout}
	if err := k.start(ctx, assets); err != nil {
		err = fmt.Errorf("start a real API server: %w\n--- etcd\n%s\n--- kube-apiserver\n%s",
			err, child.TailFile(k.place.file("etcd.log")), child.TailFile(k.place.file("kube-apiserver.log")))
		k.Stop()
		return nil, err
	}
	return k, nil
}

func (k *Kube) start(ctx context.Context, assets string) (err error) {
	if k.place, err = preparePlace(k.Dir, assets); err != nil {
		return err
	}
	k.URL, k.CAFile, k.token = k.place.url(), k.place.file("api.crt"), k.place.token
	if k.http, err = rest.HTTPClientFor(k.Config()); err != nil {
		return fmt.Errorf("client of the API server: %w", err)
	}
	k.http.Timeout = requestTimeout
	if k.core, err = kubernetes.NewForConfig(k.Config()); err != nil {
		return fmt.Errorf("client of the API server: %w", err)
	}
	if k.objects, err = dynamic.NewForConfig(k.Config()); err != nil {
		return fmt.Errorf("client of the API server: %w", err)
	}
	k.kinds = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(k.core.Discovery()))
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.etcd, err = k.place.run("etcd", k.place.etcdArgs()...); err != nil {
		return err
	}
	if err := k.startAPILocked(); err != nil {
		return err
	}
	return k.waitReady(ctx, k.etcd, k.api)
}

// Config is the admin's: everything is allowed, and there is no limit of requests. Each
// call returns a copy of its own.
func (k *Kube) Config() *rest.Config {
	return &rest.Config{
		Host: k.URL, BearerToken: k.token, TLSClientConfig: rest.TLSClientConfig{CAFile: k.CAFile},
		QPS: -1, UserAgent: "realkube", WarningHandler: rest.NoWarnings{},
	}
}

// Stop ends both processes and removes the scratch folder. Calling it again does nothing.
func (k *Kube) Stop() {
	k.StopAPI()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.etcd != nil {
		k.etcd.Kill() // what it holds is thrown away
		k.etcd = nil
	}
	if k.http != nil {
		k.http.CloseIdleConnections()
	}
	_ = os.RemoveAll(k.Dir)
}

// StopAPI ends the API server: connections break and are refused from then on. What was
// stored stays.
func (k *Kube) StopAPI() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.api != nil {
		k.api.Signal(syscall.SIGCONT) // one that hangs hears no SIGTERM
		k.api.Kill()
		k.api = nil
	}
}

func (k *Kube) startAPILocked() (err error) {
	k.api, err = k.place.run("kube-apiserver", k.place.apiArgs()...)
	return err
}
