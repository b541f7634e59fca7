package fakeironic

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// serve returns a server whose clock stands at t0.
func serve(t *testing.T, change func(*Options), setup func(stage)) *Server {
	t.Helper()
	w := newWorld(t, fixed(func(o *Options) {
		o.Fleet.Nodes = 0
		if change != nil {
			change(o)
		}
	}))
	if setup != nil {
		setup(stage{t, w})
	}
	return NewServer(w, func() time.Time { return t0 })
}

// ask sends a request through the transport; minor 0 sends no version.
func ask(t *testing.T, server *Server, method, path, body string, minor int) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://ironic:6385"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if minor > 0 {
		r.Header.Set(headerVersion, fmt.Sprintf("1.%d", minor))
	}
	response, err := server.Transport().RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(raw)
}

func object(t *testing.T, body string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return v
}
