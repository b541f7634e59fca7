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

// program is the throttle, of which one process lives at a time.
type program struct {
	dir    string            // what outlives a process
	env    map[string]string // its environment
	file   map[string]string // the settings in its config file
	ironic *site
	log    child.LogBook // of all processes

	cluster *cluster // nil: it is outside of any
	life    *life    // nil: it does not run
}

// life is one process.
type life struct {
	app  *app.App
	wire *wire
	end  context.CancelFunc
	done chan struct{} // closed when it has ended
	err  error         // how, then
	env  []string      // ours, in whose place the process has its own
}

// Where a program keeps its things in dir.
const (
	holdsName  = "holds"
	configName = "throttle.yaml"
)

func newProgram(dir string, x *site) *program {
	return &program{dir: dir, ironic: x, file: map[string]string{}, env: map[string]string{
		"IRONIC_ENDPOINT":                        "http://ironic:6385",
		"METAL3_AUTH_ROOT_DIR":                   dir,
		"IRONIC_THROTTLE_STATE":                  filepath.Join(dir, holdsName),
		"IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS": "127.0.0.1:6390", // nothing listens, but then there is a gateway
	}}
}

// start begins a process. It must be called in a bubble.
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

// ended is an error where the process has ended by itself.
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

// kill ends the process as kill -9 does: nothing reaches Ironic any more, and what it writes at its end is
// as if it had not been written.
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

// writeFile writes the config file.
func (p *program) writeFile() error {
	text := "# the settings that a play changes\n"
	for _, name := range slices.Sorted(maps.Keys(p.file)) {
		if value := p.file[name]; value != "" {
			text += fileKey(name) + ": " + strconv.Quote(value) + "\n"
		}
	}
	return os.WriteFile(filepath.Join(p.dir, configName), []byte(text), 0o600)
}

// fileKey is the name of a setting in the config file.
func fileKey(env string) string {
	key := strings.ToLower(strings.TrimPrefix(env, "IRONIC_THROTTLE_"))
	return regexp.MustCompile(`_(.)`).ReplaceAllStringFunc(key, func(s string) string { return strings.ToUpper(s[1:]) })
}

// environ makes env all that there is in the environment.
func environ(env []string) {
	os.Clearenv()
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		_ = os.Setenv(name, value) // what cannot be is missed
	}
}

// answer is what somebody is told.
type answer struct {
	code   int
	reason string // of a check, or of the gateway
	ready  bool
	text   string // the body, or the sentence of a check
}

// request asks a handler of the program. The answer comes as soon as it is there, which may take time.
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
	if body != "" || method != http.MethodGet { // the API wants it of everything that may change something
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

// asked reads the answer to a check.
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

// wire is the way to Ironic until it is cut.
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
