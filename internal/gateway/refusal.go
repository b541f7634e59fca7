package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// reasonHeader tells why a request was refused, in a word of the closed set.
const reasonHeader = "X-Ironic-Throttle-Reason"

// fault codes of Ironic.
const (
	client = "Client"
	server = "Server"
)

// refuse is the no of the decision: 409, on which BMO tries again after some
// seconds without counting an error (GW-4).
func (g *Gateway) refuse(w http.ResponseWriter, r *http.Request, a api.Answer) {
	g.count.refused.Add(1)
	w.Header().Set(reasonHeader, string(a.Reason))
	if !strings.Contains(r.UserAgent(), "python-ironicclient") { // breaks on that header, and tries again by itself
		w.Header().Set("Retry-After", strconv.Itoa(max(1, a.RetryAfterSeconds)))
	}
	writeFault(w, http.StatusConflict, client,
		fmt.Sprintf("%s: %s; ask again in %d s", a.Reason, a.Message, max(1, a.RetryAfterSeconds)))
}

// notNow is a refusal for want of time or room of our own.
func (g *Gateway) notNow(w http.ResponseWriter, r *http.Request, reason api.Reason, why string) {
	g.refuse(w, r, api.Answer{Reason: reason, Message: why, RetryAfterSeconds: 5})
}

// tooLate refuses a PUT whose time was over before it was its turn to be sent: its
// client may have given up and asked anew (GW-3).
func (g *Gateway) tooLate(w http.ResponseWriter, r *http.Request) {
	g.notNow(w, r, api.ReasonStarting, "the request has taken too long to get here, or to be decided, to be sent to Ironic now")
}

// standby refuses a PUT because another replica decides (GW-3, LH-27). It comes again, and
// goes to that one as soon as this one is known not to be ready.
func (g *Gateway) standby(w http.ResponseWriter, r *http.Request) {
	g.notNow(w, r, api.ReasonStarting, "this throttle does not decide now: it does not lead, or has not read the holds of failed hosts yet")
}

// errTooLate is of a PUT that was too late already on the way to Ironic.
var errTooLate = errors.New("too late")

// badBody answers for a body that could not be taken in.
func (g *Gateway) badBody(w http.ResponseWriter, r *http.Request, err error) {
	// The answer comes before what is left of the body has been read.
	_ = http.NewResponseController(w).EnableFullDuplex()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		g.tooLate(w, r)
	case errors.Is(err, errTooLarge):
		writeFault(w, http.StatusRequestEntityTooLarge, client,
			fmt.Sprintf("the body is larger than IRONIC_THROTTLE_GATEWAY_MAX_BODY, %d bytes, and 64 KiB beside", g.spool.maxBody-beside))
		g.linger(w, r)
	case errors.Is(err, errNoRoom):
		g.notNow(w, r, api.ReasonFull, "too many large bodies wait here at once, see IRONIC_THROTTLE_GATEWAY_MAX_BODY")
		g.linger(w, r)
	case errors.Is(err, errBroken):
		writeFault(w, http.StatusBadRequest, client, err.Error())
	default: // the disk: to be seen to here, and no fault of the host
		if more, ok := g.unkept.Tell(time.Now()); ok {
			g.log.Error("gateway: a body cannot be kept", "error", err, "method", brief(r.Method), "path", brief(r.URL.Path), "before", more)
		}
		g.notNow(w, r, api.ReasonFull, "the body cannot be kept: "+err.Error())
		g.linger(w, r)
	}
}

// linger reads what a client still sends after its answer, for a while: one that is
// cut off while it writes may never see it.
func (g *Gateway) linger(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Expect") != "" {
		return // it waits for leave to send
	}
	wire := http.NewResponseController(w)
	_ = wire.Flush()
	_ = wire.SetReadDeadline(time.Now().Add(graceTimeout))
	_, _ = io.Copy(io.Discard, r.Body) // the deadline bounds it
}

// unclear refuses what may be a provisioning request for a node that nobody can
// tell for sure (GW-7).
func (g *Gateway) unclear(w http.ResponseWriter) {
	writeFault(w, http.StatusBadRequest, client,
		"it cannot be told for sure what this provisioning request would do to which node; "+
			"write it as PUT /v1/nodes/<uuid or name>/states/provision")
}

// misdirected refuses a request by a name that may be of a page of another site.
func (g *Gateway) misdirected(w http.ResponseWriter, r *http.Request, why string) {
	if more, ok := g.misled.Tell(time.Now()); ok {
		g.log.Warn("gateway: a request by a name that is not this machine's own is refused", "host", fmt.Sprintf("%.100q", r.Host), "remote", r.RemoteAddr, "before", more)
	}
	writeFault(w, http.StatusMisdirectedRequest, client, why)
}

// writeFault writes an error as Ironic does: JSON text within JSON. It always names
// who speaks.
func writeFault(w http.ResponseWriter, status int, code, text string) {
	body := faultBody(code, "ironic-throttle: "+text)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // it is JSON, and a client that is gone is no matter
}

func faultBody(code, text string) []byte {
	inner := `{"faultcode": ` + quoted(code) + `, "faultstring": ` + quoted(text) + `, "debuginfo": null}`
	return []byte(`{"error_message": ` + quoted(inner) + `}`)
}

// quoted is a text as a JSON string.
func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil { // of a string it cannot fail
		return `""`
	}
	return string(b)
}
