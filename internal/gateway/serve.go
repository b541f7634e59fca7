package gateway

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/httpserve"
)

const (
	// maxConns bounds the connections of clients at once. BMO has one or two for each of its workers, usually 2 to 32.
	// Each connection has room for a small body, so slow clients make nobody wait.
	maxConns          = 512
	maxHeaderBytes    = 32 << 10
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute // of a client's connection

	// drainTimeout is how long requests in flight may take after ctx has ended, within the 5 s that the whole process
	// has.
	drainTimeout = 4 * time.Second
	cutTimeout   = 500 * time.Millisecond
)

// Serve answers on an open listener, with TLS if conf is not nil, until ctx ends or the listener fails. Then it gives
// requests in flight 4 s, closes the gateway, and returns what went wrong, nil after the end of ctx.
func (g *Gateway) Serve(ctx context.Context, listen net.Listener, conf *tls.Config) error {
	handler := http.Handler(g)
	if conf == nil { // with TLS the client itself checks the name in the certificate
		names := httpserve.NamesOf(listen, "IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS", g.o.Address)
		handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if why := names.Refuse(r); why != "" {
				fault(w, http.StatusMisdirectedRequest, client, why)
				return
			}
			g.ServeHTTP(w, r)
		})
	}
	// The time-outs bound what a client can stretch. The gateway speaks HTTP/1.1 only, as Ironic does.
	server := &http.Server{
		Handler:           handler,
		BaseContext:       func(net.Listener) context.Context { return g.ended },
		TLSConfig:         conf,
		TLSNextProto:      map[string]func(*http.Server, *tls.Conn, http.Handler){},
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       g.longest,
		WriteTimeout:      g.longest,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(httpserve.ErrorLog(g.o.Log), slog.LevelWarn),
	}
	err := httpserve.Serve(ctx, drainTimeout, httpserve.Server{
		Name: "gateway", HTTP: server, Listen: listen, MaxConns: maxConns, Cut: g.end,
	})
	g.Close()
	// Requests that were cut need a moment to tell the decision how they ended.
	for late := time.Now().Add(cutTimeout); g.count.inFlight.Load() > 0 && time.Now().Before(late); {
		<-time.After(time.Millisecond)
	}
	return err
}
