package gate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/proxy"
	"github.com/ironic-throttle/ironic-throttle/internal/gateway/spool"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// reasonHeader tells why a request was refused, in a word of the closed set.
const reasonHeader = "X-Ironic-Throttle-Reason"

// refuse is the no of the decision: 409, on which BMO tries again after some
// seconds without counting an error (GW-4).
func (g *Gate) refuse(w http.ResponseWriter, r *http.Request, a api.Answer) {
	g.refused.Add(1)
	w.Header().Set(reasonHeader, string(a.Reason))
	if !strings.Contains(r.UserAgent(), "python-ironicclient") { // breaks on that header, and tries again by itself
		w.Header().Set("Retry-After", strconv.Itoa(max(1, a.RetryAfterSeconds)))
	}
	proxy.Fault(w, http.StatusConflict, proxy.Client,
		fmt.Sprintf("%s: %s; ask again in %d s", a.Reason, a.Message, max(1, a.RetryAfterSeconds)))
}

// notNow is a refusal for want of time or room of our own.
func (g *Gate) notNow(w http.ResponseWriter, r *http.Request, reason api.Reason, why string) {
	g.refuse(w, r, api.Answer{Reason: reason, Message: why, RetryAfterSeconds: 5})
}

// tooLate refuses a PUT whose time was over before it was its turn to be sent: its
// client may have given up and asked anew (GW-3). In mode observe its time is as long as without
// a gate, and its end the same (GW-14).
func (g *Gate) tooLate(w http.ResponseWriter, r *http.Request) {
	if g.o.Observe() {
		g.proxy.Fail(w, r, context.DeadlineExceeded)
		return
	}
	g.notNow(w, r, api.ReasonStarting, "the request has taken too long to get here, or to be decided, to be sent to Ironic now")
}

// standby refuses a PUT because another replica decides (GW-3). It comes again, and
// goes to that one as soon as this one is known not to be ready.
func (g *Gate) standby(w http.ResponseWriter, r *http.Request) {
	g.notNow(w, r, api.ReasonStarting, "this throttle does not decide now: it does not lead, or has not read the holds of failed hosts yet")
}

// badBody answers for a body that could not be taken in.
func (g *Gate) badBody(w http.ResponseWriter, r *http.Request, err error) {
	// The answer comes before what is left of the body has been read.
	_ = http.NewResponseController(w).EnableFullDuplex()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded) && !g.o.Observe():
		w.Header().Set("Connection", "close")
		g.tooLate(w, r)
	case errors.Is(err, spool.ErrTooLarge):
		proxy.Fault(w, http.StatusRequestEntityTooLarge, proxy.Client,
			fmt.Sprintf("the body is larger than IRONIC_THROTTLE_GATEWAY_MAX_BODY, %d bytes, and 64 KiB beside", g.o.MaxBody))
		proxy.Linger(w, r)
	case errors.Is(err, spool.ErrNoRoom):
		g.notNow(w, r, api.ReasonFull, "too many large bodies wait here at once, see IRONIC_THROTTLE_GATEWAY_MAX_BODY")
		proxy.Linger(w, r)
	case errors.Is(err, spool.ErrBroken):
		proxy.Broken(w, err)
	default: // the disk: to be seen to here, and no fault of the host
		if more, ok := g.unkept.Tell(time.Now()); ok {
			g.o.Log.Error("gateway: a body cannot be kept", "error", err, "method", proxy.Brief(r.Method), "path", proxy.Brief(r.URL.Path), "before", more)
		}
		g.notNow(w, r, api.ReasonFull, "the body cannot be kept: "+err.Error())
		proxy.Linger(w, r)
	}
}
