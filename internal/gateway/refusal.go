package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// reasonHeader tells why a request was refused, in a word of the closed set.
const reasonHeader = "X-Ironic-Throttle-Reason"

// fault codes of Ironic.
const (
	client = "Client"
	server = "Server"
)

// refuse is the no of the decision: 409, on which BMO tries again after three
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

// unclear refuses what may be a provisioning request for a node that nobody can
// tell for sure (GW-7).
func (g *Gateway) unclear(w http.ResponseWriter) {
	writeFault(w, http.StatusBadRequest, client,
		"it cannot be told for sure what this provisioning request would do to which node; "+
			"write it as PUT /v1/nodes/<uuid or name>/states/provision")
}

// writeFault writes an error as Ironic does: JSON text within JSON. It always names
// who speaks.
func writeFault(w http.ResponseWriter, status int, code, text string) {
	body := faultBody(code, "ironic-throttle: "+text)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone is no matter
}

func faultBody(code, text string) []byte {
	inner := encode(struct {
		Code  string `json:"faultcode"`
		Text  string `json:"faultstring"`
		Debug any    `json:"debuginfo"`
	}{code, text, nil})
	return encode(map[string]string{"error_message": string(inner)})
}

// encode cannot fail on strings.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
