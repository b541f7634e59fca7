package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// reasonHeader says why the gateway refused a request: an api.Reason.
const reasonHeader = "X-Ironic-Throttle-Reason"

// refuse answers no with a 409: BMO tries again after some seconds and counts no error.
func (g *Gateway) refuse(w http.ResponseWriter, r *http.Request, a api.Answer) {
	g.count.refused.Add(1)
	after := max(1, a.RetryAfterSeconds)
	w.Header().Set(reasonHeader, string(a.Reason))
	if !strings.Contains(r.UserAgent(), "python-ironicclient") { // that header breaks it, and it tries again by itself
		w.Header().Set("Retry-After", strconv.Itoa(after))
	}
	fault(w, http.StatusConflict, client, fmt.Sprintf("%s: %s; ask again in %s", a.Reason, a.Message, api.Seconds(float64(after))))
}

// notNow refuses a PUT that no decision has refused: the gateway cannot take it now.
func (g *Gateway) notNow(w http.ResponseWriter, r *http.Request, reason api.Reason, why string) {
	g.refuse(w, r, api.Answer{Reason: reason, Message: why, RetryAfterSeconds: 5})
}

// tooLate refuses a PUT that the gateway could not send in time: its client may have given up and sent another. In mode
// observe a PUT has as much time as any other request, and gets the same 504.
func (g *Gateway) tooLate(w http.ResponseWriter, r *http.Request) {
	if g.o.Observe() {
		g.count.failed.Add(1)
		fault(w, http.StatusGatewayTimeout, server, "Ironic does not answer in time")
		return
	}
	g.notNow(w, r, api.ReasonStarting, "the request took too long to arrive or to be decided")
}

// standby refuses a PUT because another replica decides. The client tries again, and reaches that replica as soon as
// Kubernetes knows that this one is not ready.
func (g *Gateway) standby(w http.ResponseWriter, r *http.Request) {
	g.notNow(w, r, api.ReasonStarting,
		"this throttle does not decide now: it does not lead, or has not read the holds of failed hosts yet")
}

// badBody answers a request whose body the gateway could not read or keep.
func (g *Gateway) badBody(w http.ResponseWriter, r *http.Request, err error) {
	// The answer does not wait for the rest of the body.
	_ = http.NewResponseController(w).EnableFullDuplex()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded) && !g.o.Observe():
		w.Header().Set("Connection", "close")
		g.tooLate(w, r)
		return
	case errors.Is(err, errBroken):
		broken(w, err)
		return
	case errors.Is(err, errTooLarge):
		fault(w, http.StatusRequestEntityTooLarge, client, fmt.Sprintf(
			"the body is larger than %d bytes plus 64 KiB", g.o.MaxBody))
	case errors.Is(err, errNoRoom):
		g.notNow(w, r, api.ReasonFull, "too many large bodies wait here at once")
	default: // the disk failed: whoever runs the throttle has to repair it
		if more, ok := g.unkept.Tell(time.Now()); ok {
			g.o.Log.Error("gateway: a body cannot be kept", "error", err, "path", brief(r.URL.Path), "before", more)
		}
		g.notNow(w, r, api.ReasonFull, "the body cannot be kept: "+err.Error())
	}
	linger(w, r)
}

// fail answers where Ironic did not: it is away or slow, the PUT is too late, or the client is gone.
func (g *Gateway) fail(w http.ResponseWriter, r *http.Request, err error) {
	var asked *ironic.RequestError
	var slow net.Error
	status, what := http.StatusBadGateway, "Ironic cannot be reached"
	f, _ := r.Context().Value(flightKey{}).(*flight)
	switch {
	case errors.Is(err, errStandby):
		g.standby(w, r)
		return
	case errors.Is(err, errTooLate), f != nil && !f.sent && f.wait.Err() != nil:
		g.tooLate(w, r)
		return
	case errors.Is(err, errBroken), errors.Is(r.Context().Err(), context.Canceled) && g.ended.Err() == nil:
		broken(w, errBroken) // a client that has only closed its own side must not take silence for a success
		return
	case errors.As(err, &asked) && asked.Status != 0:
		what = "the throttle itself cannot read the node"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		status, what = http.StatusGatewayTimeout, "Ironic does not answer in time"
	}
	g.count.failed.Add(1)
	fault(w, status, server, what+": "+brief(err))
}

// broken answers a request whose body did not come whole. The answer does not wait for the rest.
func broken(w http.ResponseWriter, err error) {
	_ = http.NewResponseController(w).EnableFullDuplex()
	w.Header().Set("Connection", "close")
	fault(w, http.StatusBadRequest, client, brief(err))
}

// linger reads what a client still sends, for grace: a client that is cut off while it writes may miss its answer.
func linger(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Expect") != "" {
		return // it sends no body before a 100 Continue
	}
	wire := http.NewResponseController(w)
	_ = wire.Flush()
	_ = wire.SetReadDeadline(time.Now().Add(grace))
	_, _ = io.Copy(io.Discard, r.Body) // the deadline bounds it
}

// The fault codes of Ironic.
const (
	client = "Client"
	server = "Server"
)

// fault writes an error as Ironic does: JSON text within JSON. The text says that the throttle wrote it.
func fault(w http.ResponseWriter, status int, code, text string) {
	text = "ironic-throttle: " + text
	detail := map[string]*string{"faultcode": &code, "faultstring": &text, "debuginfo": nil}
	inner, _ := json.Marshal(detail)                                            //nolint:errchkjson // texts
	outer, _ := json.Marshal(map[string]string{"error_message": string(inner)}) //nolint:errchkjson // texts
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(outer)))
	w.WriteHeader(status)
	_, _ = w.Write(outer)
}

// brief returns a text or an error in one short line: net/http repeats at length what it cannot read.
func brief(what any) string { return ironic.Line(fmt.Sprint(what), maxWords) }
