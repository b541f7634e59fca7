package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/store"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// One part that fails ends all; who does not end is named beside it, in time.
func TestPartsThatFailAndThatDoNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		defer close(free)
		until := func(err error) func(context.Context) error {
			return func(ctx context.Context) error {
				<-ctx.Done()
				return err
			}
		}
		begun := time.Now()
		err := runParts(t.Context(), 5*time.Second,
			part{"done", func(context.Context) error { return nil }, false},
			part{"broken", func(context.Context) error { <-time.After(time.Minute); return errors.New("no") }, true},
			part{"server", until(errors.New("cut")), false}, part{"holds", until(errors.New("full")), true},
			part{"disk", func(context.Context) error { <-free; return nil }, true})
		const want = "broken: no\nserver: cut\nholds: full\ndisk: not ended within 5s"
		if took := time.Since(begun); err == nil || err.Error() != want || took != time.Minute+5*time.Second {
			t.Errorf("%v after %v, want %s", err, took, want)
		}
	})
}

// hung is a disk that takes nothing until it is closed.
type hung struct {
	*store.File
	free chan struct{}
}

func (h hung) Save(context.Context, []byte) error { <-h.free; return nil }

func TestAHungDiskDoesNotHoldUpTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, nil)
		disk := hung{store.NewFile(filepath.Join(t.TempDir(), "state")), make(chan struct{})}
		defer close(disk.free)
		s.app.holds = store.New(disk, time.Now, s.app.log)
		s.app.holds.Source = s.app.controller
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		err := s.app.Run(ctx)
		took := time.Since(begun)
		if err == nil || !strings.Contains(err.Error(), "holds: not ended") || took > time.Minute+5*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// pipes is a listener in memory.
type pipes struct{ conns, closed chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error { close(p.closed); return nil }
func (pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv6loopback, Port: 8087} }

// What is asked at the end is still decided, answered and saved; then another replica may lead.
func TestWhatIsAskedAtTheEndIsAnswered(t *testing.T) {
	server := newAPIServer()
	state := filepath.Join(t.TempDir(), "state")
	lab := fakeironic.NodeSpec{UUID: "6e2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b", Name: "metal3~lab", State: ironic.Available}
	synctest.Test(t, func(t *testing.T) {
		text, _, err := store.Pack(store.Value{Records: []holdoff.Record{{
			Version: holdoff.RecordVersion, UUID: lab.UUID, Name: lab.Name,
			Episodes: []holdoff.EpisodeRecord{{
				ID: "first", Kind: holdoff.Deployment, State: "deploy failed", Failures: 1, Since: time.Now(),
			}},
		}}}, 1<<20)
		if err == nil {
			err = os.WriteFile(state, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		listener := pipes{make(chan net.Conn), make(chan net.Conn)}
		s := newStage(t, func(o *Options, fake *fakeironic.Server) {
			inCluster(t, server)(o, fake)
			fake.With(func(now time.Time, w *fakeironic.World) {
				if _, err := w.CreateNode(now, lab); err != nil {
					t.Fatal(err)
				}
			})
			h := &o.Config.Holdoff
			h.ConfigMap, h.File, h.Timeout = "", state, time.Hour
		})
		s.app.listeners.Local = listener
		s.run()
		s.pass(2 * time.Minute)
		type request struct {
			path, body, want string
			conn             net.Conn
		}
		requests := []request{
			{path: "isready", body: `{"namespace":"ns-01","name":"host-1","op":"provision"}`, want: "granted"},
			{path: "holds/metal3/lab/release", body: "{}", want: `{"released":true,`},
		}
		for i, r := range requests {
			here, there := net.Pipe()
			listener.conns <- there
			requests[i].conn = here
			const head = "POST /v1/%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
			fmt.Fprintf(here, head, r.path, len(r.body))
		}
		s.pass(time.Second)
		ended := make(chan struct{})
		go func() { s.stop(); close(ended) }()
		s.pass(time.Second)
		for _, r := range requests {
			fmt.Fprint(r.conn, r.body)
			answer, err := http.ReadResponse(bufio.NewReader(r.conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			_ = answer.Write(&text)
			if answer.StatusCode != http.StatusOK || !strings.Contains(text.String(), r.want) {
				t.Errorf("%s: %s", r.path, &text)
			}
		}
		if _, history := server.leaders(); slices.Contains(history, "the Lease is free") {
			t.Error("another replica may lead while this one answers")
		}
		<-ended
		if text, err = os.ReadFile(state); err != nil {
			t.Fatal(err)
		}
		kept, err := store.Unpack(text)
		_, history := server.leaders()
		if err != nil || !kept.Records[0].Episodes[0].Released || !slices.Contains(history, "the Lease is free") {
			t.Errorf("%+v, %v; %q", kept, err, history)
		}
	})
}
