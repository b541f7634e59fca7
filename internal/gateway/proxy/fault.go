package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/spool"
	"github.com/ironic-throttle/ironic-throttle/internal/logging"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Fault codes of Ironic.
const (
	Client = "Client"
	Server = "Server"
)

// Fail answers for an Ironic that does not, in its form (GW-9), and for clients that
// break off.
func (p *Proxy) Fail(w http.ResponseWriter, r *http.Request, err error) {
	late := clientFault(r.Context())
	var asked *ironic.RequestError
	var slow net.Error
	switch {
	case late != nil:
		Broken(w, fmt.Errorf("%w: %w", spool.ErrBroken, late))
	case errors.Is(r.Context().Err(), context.Canceled):
		// Whoever has only closed its own side must not take silence for a success.
		Fault(w, http.StatusBadGateway, Server, "the connection was closed by the client before Ironic had answered")
	case errors.As(err, &asked) && asked.Status != 0:
		p.failed.Add(1)
		Fault(w, http.StatusBadGateway, Server, "the throttle itself cannot read the node: "+Brief(err))
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		p.away(w, r, http.StatusGatewayTimeout, "Ironic does not answer in time", err)
	default:
		p.away(w, r, http.StatusBadGateway, "Ironic cannot be reached", err)
	}
}

// away answers for an Ironic that is not there, and says so once in the log.
func (p *Proxy) away(w http.ResponseWriter, r *http.Request, status int, what string, err error) {
	p.failed.Add(1)
	why := Brief(err)
	p.presence.away(p.o.Log, what, why)
	p.o.Log.Debug("gateway: Ironic is away", "what", what, "method", r.Method, "path", Brief(r.URL.Path), "error", why)
	Fault(w, status, Server, what+": "+why)
}

// Broken answers for a body that did not come whole. The answer does not wait for the rest.
func Broken(w http.ResponseWriter, err error) {
	_ = http.NewResponseController(w).EnableFullDuplex()
	w.Header().Set("Connection", "close")
	Fault(w, http.StatusBadRequest, Client, Brief(err))
}

// Linger reads what a client still sends after its answer, for a while: one that is
// cut off while it writes may never see it.
func Linger(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Expect") != "" {
		return // it waits for leave to send
	}
	wire := http.NewResponseController(w)
	_ = wire.Flush()
	_ = wire.SetReadDeadline(time.Now().Add(Grace))
	_, _ = io.Copy(io.Discard, r.Body) // the deadline bounds it
}

// Fault writes an error as Ironic does: JSON text within JSON. It always names
// who speaks.
func Fault(w http.ResponseWriter, status int, code, text string) {
	inner := `{"faultcode": ` + quoted(code) + `, "faultstring": ` + quoted("ironic-throttle: "+text) + `, "debuginfo": null}`
	body := []byte(`{"error_message": ` + quoted(inner) + `}`)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// quoted is a text as a JSON string.
func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil { // of a string it cannot fail
		return `""`
	}
	return string(b)
}

// Brief is a text, or an error, as it may be shown: net/http repeats at length what it
// cannot read.
func Brief(of any) string { return ironic.Line(fmt.Sprint(of), maxWords) }

// ErrKept is of a request that was kept back on the way to Ironic: nothing of it was sent.
var ErrKept = errors.New("not sent")

// presence says in the log that Ironic is away, and that it is back: once each, and not
// more often than logging.Gap. The zero value is ready. Safe for concurrent use.
type presence struct {
	line logging.Rare

	mu   sync.Mutex // guards lost
	lost bool       // and it was said
}

func (r *presence) away(log *slog.Logger, what, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost {
		return
	}
	if more, ok := r.line.Tell(time.Now()); ok {
		r.lost = true
		log.Warn("gateway: Ironic is away, clients get its absence as the answer", "what", what, "error", why, "before", more)
	}
}

func (r *presence) back(log *slog.Logger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost {
		r.lost = false
		log.Info("gateway: Ironic answers again")
	}
}
