//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// fakeAgent pretends to be the ramdisk of one node: it looks itself up, sends a heartbeat, and has no steps to do. Ironic
// then shows agent_url as for a real host. It keeps every command of Ironic unanswered until Release, so the node stays
// where it is; then Ironic goes on with the node by itself.
type fakeAgent struct {
	server  *httptest.Server
	hold    chan struct{} // closed by Release
	Release func()        // lets held commands go, those to come too
}

// startAgent boots the pretended ramdisk of a node that waits for one (clean wait, wait call-back). It ends with the
// test.
func (s *site) startAgent(uuid string) *fakeAgent {
	s.Helper()
	_, answer := child.Send(s.Context(), http.MethodGet, s.ironic.URL+"/v1/lookup?node_uuid="+uuid, "")
	var found struct {
		Config struct {
			Token string `json:"agent_token"`
		}
	}
	if err := json.Unmarshal([]byte(answer), &found); err != nil || strings.Trim(found.Config.Token, "*") == "" {
		s.Fatalf("lookup of %s gives no token, or an agent was there before: %s", uuid, answer)
	}
	a := &fakeAgent{hold: make(chan struct{})}
	a.Release = sync.OnceFunc(func() { close(a.hold) })
	a.server = httptest.NewServer(a)
	s.Cleanup(a.Stop)
	body := fmt.Sprintf(`{"callback_url":%q,"agent_version":"9.4.0","agent_token":%q}`, a.server.URL, found.Config.Token)
	if code, answer := child.Send(s.Context(), http.MethodPost, s.ironic.URL+"/v1/heartbeat/"+uuid, body); code != http.StatusAccepted {
		s.Fatalf("heartbeat of %s: %d %s", uuid, code, answer)
	}
	return a
}

// Stop ends the agent, as a host does that loses its power.
func (a *fakeAgent) Stop() {
	a.Release()
	a.server.CloseClientConnections()
	a.server.Close()
}

// ServeHTTP answers Ironic's commands: it does nothing, successfully.
func (a *fakeAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case <-a.hold:
	case <-r.Context().Done():
		return
	}
	var ask struct{ Name string }
	_ = json.NewDecoder(r.Body).Decode(&ask) // a GET has none
	result := map[string]any{}
	for _, kind := range []string{"clean", "deploy"} {
		if strings.HasSuffix(ask.Name, ".get_"+kind+"_steps") {
			result[kind+"_steps"] = map[string]any{}
			result["hardware_manager_version"] = map[string]string{"generic": "1"}
		}
	}
	answer := map[string]any{"commands": []any{}}
	if r.Method == http.MethodPost {
		answer = map[string]any{
			"id": time.Now().UTC().Format("150405.000000000"), "command_name": ask.Name,
			"command_status": "SUCCEEDED", "command_error": nil, "command_result": result,
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}
