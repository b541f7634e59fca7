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

// reasonHeader tells why a request was refused, in a word of the closed set.
const reasonHeader = "X-Ironic-Throttle-Reason"

// refuse is the no of the decision: 409, on which BMO tries again after some seconds without counting an error.
func (g *Gateway) refuse(w http.ResponseWriter, r *http.Request, a api.Answer) {
	g.count.refused.Add(1)
	after := max(1, a.RetryAfterSeconds)
	w.Header().Set(reasonHeader, string(a.Reason))
	if !strings.Contains(r.UserAgent(), "python-ironicclient") { // breaks on that header, and tries again by itself
		w.Header().Set("Retry-After", strconv.Itoa(after))
	}
	fault(w, http.StatusConflict, client, fmt.Sprintf("%s: %s; ask again in %s", a.Reason, a.Message, api.Seconds(float64(after))))
}

// notNow is a refusal for want of time or room of our own.
func (g *Gateway) notNow(w http.ResponseWriter, r *http.Request, reason api.Reason, why string) {
	g.refuse(w, r, api.Answer{Reason: reason, Message: why, RetryAfterSeconds: 5})
}

// tooLate refuses a PUT whose time was over before it was its turn to be sent: its client may have given up and asked
// anew. In mode observe its time is as long as without a gate, and its end the same.
func (g *Gateway) tooLate(w http.ResponseWriter, r *http.Request) {
	if g.o.Observe() {
		g.count.failed.Add(1)
		fault(w, http.StatusGatewayTimeout, server, "Ironic does not answer in time")
		return
	}
	g.notNow(w, r, api.ReasonStarting, "the request has taken too long to get here, or to be decided")
}

// standby refuses a PUT because another replica decides. It comes again, and goes to that one as soon as this one is
// known not to be ready.
func (g *Gateway) standby(w http.ResponseWriter, r *http.Request) {
	g.notNow(w, r, api.ReasonStarting,
		"this throttle does not decide now: it does not lead, or has not read the holds of failed hosts yet")
}

// badBody answers for a body that could not be taken in.
func (g *Gateway) badBody(w http.ResponseWriter, r *http.Request, err error) {
	// The answer comes before what is left of the body has been read.
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
			"the body is larger than %d bytes and 64 KiB beside", g.o.MaxBody))
	case errors.Is(err, errNoRoom):
		g.notNow(w, r, api.ReasonFull, "too many large bodies wait here at once")
	default: // the disk: to be seen to here, and no fault of the host
		if more, ok := g.unkept.Tell(time.Now()); ok {
			g.o.Log.Error("gateway: a body cannot be kept", "error", err, "path", brief(r.URL.Path), "before", more)
		}
		g.notNow(w, r, api.ReasonFull, "the body cannot be kept: "+err.Error())
	}
	linger(w, r)
}

// fail answers for an Ironic that does not, in its form, and for PUTs and clients that break off before.
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
		broken(w, errBroken) // whoever has only closed its own side must not take silence for a success
		return
	case errors.As(err, &asked) && asked.Status != 0:
		what = "the throttle itself cannot read the node"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		status, what = http.StatusGatewayTimeout, "Ironic does not answer in time"
	}
	g.count.failed.Add(1)
	fault(w, status, server, what+": "+brief(err))
}

// broken answers for a body that did not come whole. The answer does not wait for the rest.
func broken(w http.ResponseWriter, err error) {
	_ = http.NewResponseController(w).EnableFullDuplex()
	w.Header().Set("Connection", "close")
	fault(w, http.StatusBadRequest, client, brief(err))
}

// linger reads what a client still sends after its answer, for a while: one that is cut off while it writes may miss it.
func linger(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Expect") != "" {
		return // it waits for leave to send
	}
	wire := http.NewResponseController(w)
	_ = wire.Flush()
	_ = wire.SetReadDeadline(time.Now().Add(grace))
	_, _ = io.Copy(io.Discard, r.Body) // the deadline bounds it
}

// Fault codes of Ironic.
const (
	client = "Client"
	server = "Server"
)

// fault writes an error as Ironic does: JSON text within JSON. It always names who speaks.
func fault(w http.ResponseWriter, status int, code, text string) {
	text = "ironic-throttle: " + text
	inner, _ := json.Marshal(map[string]*string{"faultcode": &code, "faultstring": &text, "debuginfo": nil}) //nolint:errchkjson // texts
	outer, _ := json.Marshal(map[string]string{"error_message": string(inner)})                              //nolint:errchkjson // texts
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(outer)))
	w.WriteHeader(status)
	_, _ = w.Write(outer)
}

// brief is a text, or an error, as it may be shown: net/http repeats at length what it cannot read.
func brief(of any) string { return ironic.Line(fmt.Sprint(of), maxWords) }
