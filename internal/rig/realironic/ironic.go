package realironic

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// Ironic is a running API and conductor. Its methods may be called from
// several goroutines; those that start and stop wait for each other.
type Ironic struct {
	URL            string // without /v1 and without a slash at the end
	CAFile         string // empty without TLS
	User, Password string // empty without BasicAuth
	Dir            string // scratch folder, with the logs

	place  place
	client *http.Client
	ready  time.Duration // longest wait for readiness

	mu             sync.Mutex
	api, conductor *child.Process
	server         *child.Process // of the database, or nil
}

// Start installs nothing, runs an Ironic and returns when it is ready: when
// GET /v1/drivers shows fake-hardware. ctx bounds the start only. The caller
// must call Stop. Errors carry the end of Ironic's logs.
func Start(ctx context.Context, o Options) (*Ironic, error) {
	if err := Installed(o); err != nil {
		return nil, err
	}
	within := ""
	if o.Root != "" {
		within = filepath.Join(o.Root, "tmp")
	}
	dir, err := os.MkdirTemp(within, "ironic-")
	if err != nil {
		return nil, fmt.Errorf("scratch folder: %w", err)
	}
	i := &Ironic{Dir: dir, ready: startTimeout}
	if err := i.start(ctx, o); err != nil {
		err = fmt.Errorf("start a real Ironic: %w\n--- conductor\n%s\n--- api\n%s",
			err, child.TailFile(i.place.file("conductor.log")), child.TailFile(i.place.file("api.log")))
		i.Stop()
		return nil, err
	}
	return i, nil
}

func (i *Ironic) start(ctx context.Context, o Options) error {
	if err := i.prepare(ctx, o); err != nil {
		return err
	}
	if err := i.startDatabase(ctx); err != nil {
		return err
	}
	if err := i.createSchema(ctx); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.startConductorLocked(); err != nil {
		return err
	}
	if err := i.startAPILocked(); err != nil {
		return err
	}
	return i.waitReady(ctx, i.conductor, i.api)
}

// prepare writes everything that the services read.
func (i *Ironic) prepare(ctx context.Context, o Options) error {
	ports, err := child.FreePorts(2)
	if err != nil {
		return err
	}
	i.place = place{
		root: o.Root, dir: i.Dir, apiPort: ports[0], rpcPort: ports[1],
		basicAuth: o.BasicAuth, tls: o.TLS, pretend: o.Hardware != nil, mariadb: o.MariaDB,
	}
	i.URL = i.place.url()
	for _, folder := range i.place.folders() {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return fmt.Errorf("scratch folder: %w", err)
		}
	}
	if o.TLS {
		i.CAFile = i.place.file("api.crt")
		if err := child.WriteCertificate(i.CAFile, i.place.file("api.key")); err != nil {
			return err
		}
	}
	if o.Hardware != nil {
		if err := i.pretend(*o.Hardware); err != nil {
			return err
		}
	}
	if o.BasicAuth {
		i.User, i.Password = "admin", rand.Text()
		// From standard input: an argument could be read by everybody.
		line, err := i.place.runOnce(ctx, i.Password+"\n", "htpasswd", "-niB", i.User)
		if err != nil {
			return err
		}
		if err := os.WriteFile(i.place.file("htpasswd"), []byte(line), 0o600); err != nil {
			return fmt.Errorf("write htpasswd: %w", err)
		}
	}
	text, err := i.place.config(o.Settings).render()
	if err != nil {
		return err
	}
	for name, content := range map[string]string{"ironic.conf": text, "policy.yaml": "{}\n"} {
		if err := os.WriteFile(i.place.file(name), []byte(content), 0o600); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	i.client, err = newHTTPClient(i.CAFile)
	return err
}

// args gives each program our own configuration and no other.
func (i *Ironic) args(more ...string) []string {
	return append([]string{"--config-file", i.place.seen("ironic.conf"), "--config-dir", i.place.seen("config.d")}, more...)
}

// Stop ends both services and their database and removes the scratch folder.
// Calling it again does nothing.
func (i *Ironic) Stop() {
	i.StopAPI()
	i.StopConductor()
	i.end(&i.server, (*child.Process).Kill) // nobody needs what it has
	if i.client != nil {
		i.client.CloseIdleConnections()
	}
	_ = os.RemoveAll(i.Dir)
}

// StopAPI ends the API: connections are refused from then on.
func (i *Ironic) StopAPI() {
	i.end(&i.api, func(p *child.Process) { p.Stop(stopTimeout) })
}

// StopConductor ends the conductor in good order: it takes itself off the list
// of conductors, and a PUT is answered 503 (500 in the first 15 s if the API
// still remembers where the node belongs).
func (i *Ironic) StopConductor() { i.end(&i.conductor, func(p *child.Process) { p.Stop(stopTimeout) }) }

// KillConductor ends the conductor as a crash would: it stays on the list for
// a minute, and a PUT is answered 500.
func (i *Ironic) KillConductor() { i.end(&i.conductor, (*child.Process).Kill) }

func (i *Ironic) end(which **child.Process, how func(*child.Process)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if *which != nil {
		how(*which)
		*which = nil
	}
}

// StartAPI starts a stopped API on the same port and waits for it to answer.
func (i *Ironic) StartAPI(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.api != nil {
		return errors.New("the API runs already")
	}
	if err := i.startAPILocked(); err != nil {
		return err
	}
	if i.conductor == nil {
		return i.waitAnswer(ctx, i.api)
	}
	return i.waitReady(ctx, i.api)
}

// StartConductor starts a stopped conductor and, when the API runs, waits until
// it shows the drivers again.
func (i *Ironic) StartConductor(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.conductor != nil {
		return errors.New("the conductor runs already")
	}
	// A killed one is still on the list, and would look ready.
	if _, err := i.SQL(ctx, "UPDATE conductors SET online = 0;"); err != nil {
		return err
	}
	if err := i.startConductorLocked(); err != nil {
		return err
	}
	if i.api == nil {
		return nil
	}
	return i.waitReady(ctx, i.conductor)
}

func (i *Ironic) startAPILocked() (err error) {
	i.api, err = i.run("ironic-api", "api.log")
	return err
}

func (i *Ironic) startConductorLocked() (err error) {
	i.conductor, err = i.run("ironic-conductor", "conductor.log")
	return err
}

func (i *Ironic) run(name, log string) (*child.Process, error) {
	return i.place.start(child.Command{Name: name, Args: i.args(), LogFile: i.place.file(log)})
}
