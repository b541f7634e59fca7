//go:build e2e

package bmo

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// bareProxy answers 409, as Ironic does for a busy host, to what would start work while
// limit nodes are busy in the truth. It knows no order and no reasons.
type bareProxy struct {
	limit int
	truth *realironic.Truth
	next  http.Handler

	mu   sync.Mutex
	sent map[string]time.Time // starts that the truth may not show yet, by when they were answered; zero: not yet
}

// shownWithin is how soon the truth shows what Ironic has taken on.
const shownWithin = time.Second

func (p *bareProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, provision := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/v1/nodes/"), "/states/provision")
	if r.Method != http.MethodPut || !provision {
		p.next.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // it never came in
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var ask struct{ Target string }
	_ = json.Unmarshal(body, &ask)
	if ask.Target == "manage" || ask.Target == "abort" {
		p.next.ServeHTTP(w, r)
		return
	}
	if !p.take(name) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"error_message": "{\"faultcode\": \"Client\", \"faultstring\": \"`+
			`Node `+name+` is locked by host localhost, please retry after the current operation is completed.\", \"debuginfo\": null}"}`)
		return
	}
	answer := &statusOf{ResponseWriter: w}
	defer func() { p.answered(name, answer.status) }()
	p.next.ServeHTTP(answer, r)
}

func (p *bareProxy) take(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	busy := map[string]bool{}
	for _, c := range p.truth.Changes() {
		busy[c.UUID] = ironic.State(c.State).Busy()
	}
	for name, at := range p.sent {
		if !at.IsZero() && time.Since(at) > shownWithin {
			delete(p.sent, name)
			continue
		}
		busy[name] = true
	}
	n := 0
	for _, b := range busy {
		if b {
			n++
		}
	}
	if !busy[name] && n >= p.limit {
		return false
	}
	p.sent[name] = time.Time{}
	return true
}

func (p *bareProxy) answered(name string, status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if status >= 400 && status < 500 {
		delete(p.sent, name)
		return
	}
	p.sent[name] = time.Now()
}
