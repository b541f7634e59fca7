package realironic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// Agent pretends to be the ramdisk of one node: it looks itself up, sends heartbeats when told to, and has no steps to do.
// Ironic then shows agent_url as for a real host. It keeps every command of Ironic unanswered until Release, so the node
// stays where it is; then Ironic goes on with the node by itself.
type Agent struct {
	url         string
	ironic      *Ironic
	uuid, token string
	server      *http.Server
	served      sync.WaitGroup
	hold        chan struct{} // closed by Release
	release     func()
}

// StartAgent boots the pretended ramdisk of a node that waits for one (clean wait, wait call-back). The caller must call
// Stop.
func (i *Ironic) StartAgent(ctx context.Context, uuid string) (*Agent, error) {
	var found struct {
		Config struct {
			Token string `json:"agent_token"`
		} `json:"config"`
	}
	if err := i.call(ctx, http.MethodGet, "/v1/lookup?node_uuid="+uuid, "", &found); err != nil {
		return nil, err
	}
	if found.Config.Token == "" || found.Config.Token == "******" {
		return nil, errors.New("lookup of " + uuid + " gave no token: an agent was there before")
	}
	l, err := net.Listen("tcp", net.JoinHostPort(child.Loopback, "0"))
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	a := &Agent{url: "http://" + l.Addr().String(), ironic: i, uuid: uuid, token: found.Config.Token, hold: make(chan struct{})}
	a.release = sync.OnceFunc(func() { close(a.hold) })
	a.server = &http.Server{Handler: a, ReadHeaderTimeout: requestTimeout}
	a.served.Go(func() { _ = a.server.Serve(l) })
	return a, nil
}

// Heartbeat tells Ironic that the agent is there.
func (a *Agent) Heartbeat(ctx context.Context) error {
	body := fmt.Sprintf(`{"callback_url":%q,"agent_version":"9.4.0","agent_token":%q}`, a.url, a.token)
	return a.ironic.call(ctx, http.MethodPost, "/v1/heartbeat/"+a.uuid, body, nil)
}

// Release lets held commands go, those to come too.
func (a *Agent) Release() { a.release() }

// Stop ends the agent, as a host does that loses its power.
func (a *Agent) Stop() {
	a.Release()
	_ = a.server.Close()
	a.served.Wait()
}

// ServeHTTP answers Ironic's commands: it does nothing, successfully.
func (a *Agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case <-a.hold:
	case <-r.Context().Done():
		return
	}
	var ask struct {
		Name string `json:"name"`
	}
	_ = json.NewDecoder(http.MaxBytesReader(w, r.Body, maxAnswer)).Decode(&ask) // a GET has none
	result := map[string]any{}
	for _, kind := range []string{"clean", "deploy"} {
		if strings.HasSuffix(ask.Name, ".get_"+kind+"_steps") {
			result[kind+"_steps"] = map[string]any{}
			result["hardware_manager_version"] = map[string]string{"generic": "1"}
		}
	}
	var answer any = map[string]any{"commands": []any{}}
	if r.Method == http.MethodPost {
		answer = map[string]any{
			"id": time.Now().UTC().Format("150405.000000000"), "command_name": ask.Name,
			"command_status": "SUCCEEDED", "command_error": nil, "command_result": result,
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) //nolint:errchkjson // Ironic has hung up
}
