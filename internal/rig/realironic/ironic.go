package realironic

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// Ironic is a running API with its conductor. Its methods are safe for concurrent use; only one starts or stops a
// process at a time.
type Ironic struct {
	URL            string // without /v1 and without a slash at the end
	CAFile         string // "" without TLS
	User, Password string // "" without BasicAuth

	place  place // with the scratch folder
	client *http.Client
	log    child.LogBook // of all processes

	mu                       sync.Mutex
	api, conductor, database *child.Process
}

// Start starts an Ironic, and returns when GET /v1/drivers shows fake-hardware. It installs nothing. ctx bounds only
// the start. The caller must call Stop. Errors have the end of Ironic's logs.
func Start(ctx context.Context, o Options) (*Ironic, error) {
	within := ""
	if o.Root != "" {
		within = filepath.Join(o.Root, "tmp")
	}
	dir, err := os.MkdirTemp(within, "ironic-")
	if err != nil {
		return nil, fmt.Errorf("scratch folder, in what hack/ironic/chroot.sh makes: %w", err)
	}
	i := &Ironic{place: place{Options: o, dir: dir}}
	if err := i.start(ctx); err != nil {
		err = fmt.Errorf("start a real Ironic: %w\n%s", err, i.Logs())
		i.Stop()
		return nil, err
	}
	return i, nil
}

func (i *Ironic) start(ctx context.Context) error {
	if err := i.prepare(ctx); err != nil {
		return err
	}
	if i.place.MariaDB {
		if err := i.startMariaDB(ctx); err != nil {
			return err
		}
	}
	if err := i.createSchema(ctx); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return cmp.Or(i.run(&i.conductor, "conductor"), i.run(&i.api, "api"), i.waitReady(ctx))
}

// prepare writes all files that the services read.
func (i *Ironic) prepare(ctx context.Context) error {
	ports, err := child.FreePorts(2)
	if err != nil {
		return err
	}
	i.place.apiPort, i.place.rpcPort = ports[0], ports[1]
	p := i.place
	i.URL = p.url()
	for _, folder := range []string{"tmp", "lock", "http", "tftp", "images", "config.d"} {
		if err := os.Mkdir(p.file(folder), 0o700); err != nil {
			return err
		}
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 32, IdleConnTimeout: 30 * time.Second}
	i.client = &http.Client{Transport: transport, Timeout: requestTimeout}
	if p.TLS {
		i.CAFile = p.file("api.crt")
		if err := child.WriteCertificate(i.CAFile, p.file("api.key")); err != nil {
			return err
		}
		pem, err := os.ReadFile(i.CAFile)
		if err != nil {
			return err
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(pem)
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	if p.Pretend {
		if err := i.pretend(); err != nil {
			return err
		}
	}
	files := map[string]string{p.file("ironic.conf"): p.config().render(), p.file("policy.yaml"): "{}\n"}
	if p.BasicAuth {
		i.User, i.Password = "admin", rand.Text()
		// The password comes by standard input: all users of the machine can read arguments.
		if files[p.file("htpasswd")], err = p.runOnce(ctx, i.Password+"\n", "htpasswd", "-niB", i.User); err != nil {
			return err
		}
	}
	return writeFiles(files)
}

// args let a program read only the configuration of this Ironic.
func (i *Ironic) args(more ...string) []string {
	p := i.place
	return append([]string{"--config-file", p.seen("ironic.conf"), "--config-dir", p.seen("config.d")}, more...)
}

func (i *Ironic) run(which **child.Process, name string) (err error) {
	*which, err = i.serve("ironic-"+name, i.args()...)
	return err
}

// Logs returns the end of the services' logs.
func (i *Ironic) Logs() string { return i.log.Tail() }

// Stop ends all processes, and deletes the scratch folder. A second call does nothing.
func (i *Ironic) Stop() {
	i.StopAPI()
	// A conductor that ends in order takes itself off the list of conductors.
	i.end(&i.conductor, func(p *child.Process) { p.Stop(stopTimeout) })
	i.end(&i.database, (*child.Process).Kill) // its data goes anyway
	if i.client != nil {
		i.client.CloseIdleConnections()
	}
	_ = os.RemoveAll(i.place.dir)
}

// StopAPI ends the API. From then on connections are refused.
func (i *Ironic) StopAPI() {
	i.end(&i.api, func(p *child.Process) { p.Stop(stopTimeout) })
}

// KillConductor ends the conductor as a crash would: it stays on the list for a minute, and PUTs get a 500.
func (i *Ironic) KillConductor() { i.end(&i.conductor, (*child.Process).Kill) }

func (i *Ironic) end(which **child.Process, how func(*child.Process)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if *which != nil {
		how(*which)
		*which = nil
	}
}

// StartAPI starts a stopped API on the same port, and waits until it answers.
func (i *Ironic) StartAPI(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return cmp.Or(i.run(&i.api, "api"), i.waitReady(ctx))
}

// StartConductor starts a stopped conductor, and waits until the API shows the drivers.
func (i *Ironic) StartConductor(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	// A killed conductor is still on the list, and would look ready.
	if _, err := i.SQL(ctx, "UPDATE conductors SET online = 0;"); err != nil {
		return err
	}
	return cmp.Or(i.run(&i.conductor, "conductor"), i.waitReady(ctx))
}

const (
	requestTimeout = 30 * time.Second
	maxAnswer      = 64 << 20
)

// Client returns a client that trusts this Ironic's certificate. It sends no credentials by itself.
func (i *Ironic) Client() *http.Client { return i.client }

// waitReady waits until the API shows a driver, as it does only with a conductor, and the conductor catches SIGTERM. A
// starting conductor shows its drivers, hides them and shows them again, and handles SIGTERM last: if it is stopped
// before that, it dies and stays on the list.
func (i *Ironic) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return child.WaitReady(ctx, func() error {
		var drivers json.RawMessage
		if err := i.call(ctx, http.MethodGet, "/v1/drivers", "", &drivers); err != nil {
			return err
		}
		if !strings.Contains(string(drivers), `"fake-hardware"`) {
			return fmt.Errorf("fake-hardware is not among the drivers: %s", drivers)
		}
		if catches, err := i.conductor.Catches(syscall.SIGTERM); err != nil || !catches {
			return cmp.Or(err, errors.New("the conductor has no handler for SIGTERM yet"))
		}
		return nil
	}, i.conductor, i.api)
}

// call sends a request to the API. Any status of 300 or more is an error.
func (i *Ironic) call(ctx context.Context, method, path, body string, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, i.URL+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("X-OpenStack-Ironic-API-Version", "latest")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if i.User != "" {
		req.SetBasicAuth(i.User, i.Password)
	}
	resp, err := i.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case err != nil:
	case resp.StatusCode >= 300:
		err = fmt.Errorf("%s: %s", resp.Status, child.Tail(string(b)))
	case into != nil:
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}
