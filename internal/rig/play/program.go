package play

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing/synctest"

	"github.com/ironic-throttle/ironic-throttle/internal/app"
	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// program is the throttle. It has one process at a time.
type program struct {
	dir    string            // has the files that outlive a process
	env    map[string]string // the environment of the next process
	file   map[string]string // the settings in the config file
	ironic *site
	log    child.LogBook // of all processes

	cluster *cluster // nil: the throttle runs outside of a cluster
	life    *life    // nil: no process runs
}

// life is one process.
type life struct {
	app  *app.App
	wire *wire
	end  context.CancelFunc
	done chan struct{} // closed when the process has ended
	err  error         // why it has ended
	env  []string      // the environment of the test, which the process replaces while it lives
}

// Files in dir.
const (
	holdsName  = "holds"
	configName = "throttle.yaml"
)

func newProgram(dir string, x *site) *program {
	return &program{dir: dir, ironic: x, file: map[string]string{}, env: map[string]string{
		"IRONIC_ENDPOINT":                        "http://ironic:6385",
		"METAL3_AUTH_ROOT_DIR":                   dir,
		"IRONIC_THROTTLE_STATE":                  filepath.Join(dir, holdsName),
		"IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS": "127.0.0.1:6390", // switches the gateway on; nothing listens
	}}
}

// start starts a process. The caller must be in a bubble of testing/synctest.
func (p *program) start(ctx context.Context) error {
	l := &life{wire: &wire{next: p.ironic.next}, done: make(chan struct{})}
	if len(p.file) > 0 {
		if err := p.writeFile(); err != nil {
			return err
		}
		p.env["IRONIC_THROTTLE_CONFIG"] = filepath.Join(p.dir, configName)
	}
	l.env = os.Environ()
	var env []string
	for name, value := range p.env {
		env = append(env, name+"="+value)
	}
	environ(env)
	src := config.Sources{Exists: func(string) bool { return false }}
	cfg, warnings, err := config.Load(src)
	if err == nil {
		o := app.Options{
			Config: cfg, Warnings: warnings, Reload: &src, Log: slog.New(slog.NewTextHandler(&p.log, nil)), Version: "play",
			Transport: l.wire, NoListeners: true,
		}
		if p.cluster != nil {
			o.ClusterTransport = p.cluster
		}
		l.app, err = app.New(ctx, o)
	}
	if err != nil {
		environ(l.env)
		return err
	}
	ctx, l.end = context.WithCancel(ctx)
	p.life = l
	go func() { l.err = l.app.Run(ctx); close(l.done) }()
	synctest.Wait()
	return p.ended()
}

// ended returns an error if the process has ended by itself.
func (p *program) ended() error {
	if p.life == nil {
		return nil
	}
	select {
	case <-p.life.done:
		err := p.life.err
		p.life.end()
		environ(p.life.env)
		p.life = nil
		return fmt.Errorf("the throttle has ended by itself: %w", cmp.Or(err, errors.New("without an error")))
	default:
		return nil
	}
}

// kill ends the process as kill -9 does: no request reaches Ironic any more, and the file of holds stays as it was.
func (p *program) kill() error {
	l := p.life
	if l == nil {
		return nil
	}
	holds := filepath.Join(p.dir, holdsName)
	kept, missing := os.ReadFile(holds)
	l.wire.cut.Store(true)
	l.end()
	<-l.done
	environ(l.env)
	p.life = nil
	if missing != nil {
		return os.RemoveAll(holds)
	}
	return os.WriteFile(holds, kept, 0o600)
}

// writeFile writes the config file. It leaves out empty settings.
func (p *program) writeFile() error {
	text := "# the settings that a play changes\n"
	for _, name := range slices.Sorted(maps.Keys(p.file)) {
		if value := p.file[name]; value != "" {
			text += fileKey(name) + ": " + strconv.Quote(value) + "\n"
		}
	}
	return os.WriteFile(filepath.Join(p.dir, configName), []byte(text), 0o600)
}

// fileKey returns the name that a setting has in the config file.
func fileKey(env string) string {
	key := strings.ToLower(strings.TrimPrefix(env, "IRONIC_THROTTLE_"))
	return regexp.MustCompile(`_(.)`).ReplaceAllStringFunc(key, func(s string) string { return strings.ToUpper(s[1:]) })
}

// environ replaces the environment by env.
func environ(env []string) {
	os.Clearenv()
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		_ = os.Setenv(name, value) // it fails only for names that no environment can hold
	}
}

// answer is the answer to a request.
type answer struct {
	code   int
	reason string // of a check, or of the gateway
	ready  bool
	text   string // the body, or the message of a check
}

// request sends a request to the API or the gateway. The channel gets the answer when it comes.
func (p *program) request(gateway bool, method, path, body string) <-chan answer {
	c := make(chan answer, 1)
	if p.life == nil {
		c <- answer{reason: "no answer", text: "the throttle does not run"}
		return c
	}
	host, handler := "http://127.0.0.1:8087", p.life.app.API()
	if gateway {
		host, handler = "http://127.0.0.1:6390", p.life.app.Gateway()
	}
	r := httptest.NewRequestWithContext(context.Background(), method, host+path, strings.NewReader(body))
	if body != "" || method != http.MethodGet { // the API refuses a change without it
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("X-OpenStack-Ironic-API-Version", "1."+strconv.Itoa(p.ironic.minor))
	go func() {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		c <- answer{code: w.Code, reason: w.Header().Get("X-Ironic-Throttle-Reason"), text: w.Body.String()}
	}()
	synctest.Wait()
	return c
}

// asked returns a as the answer to a check.
func (a answer) asked() answer {
	var said struct {
		Ready           bool
		Reason, Message string
	}
	switch {
	case a.code == http.StatusOK && json.Unmarshal([]byte(a.text), &said) == nil:
		return answer{code: a.code, ready: said.Ready, reason: said.Reason, text: said.Message}
	case a.code != 0:
		a.reason = strconv.Itoa(a.code)
	}
	return a
}

// wire is the connection of one process to Ironic, until kill cuts it.
type wire struct {
	next http.RoundTripper
	cut  atomic.Bool
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.cut.Load() {
		return nil, errRefused
	}
	return w.next.RoundTrip(r)
}
