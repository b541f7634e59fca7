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
	// maxConns are the connections of clients at the same time: BMO has one or two for each of its workers, 2 to 32 as
	// a rule. There is room for a small body on each, so nobody waits for clients that are slow.
	maxConns          = 512
	maxHeaderBytes    = 32 << 10
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute // of a client's connection

	// drainTimeout is how long requests in flight may take after the end was asked for, within the 5 s in which
	// everything is over.
	drainTimeout = 4 * time.Second
	cutTimeout   = 500 * time.Millisecond
)

// Serve answers on an open listener, with TLS where conf is not nil, until ctx ends or the listener fails; then it
// gives requests in flight 4 s, closes the gateway, and returns: nil, or what went wrong.
func (g *Gateway) Serve(ctx context.Context, listen net.Listener, conf *tls.Config) error {
	handler := http.Handler(g)
	if conf == nil { // with TLS the browser itself holds the name against the certificate
		names := httpserve.NamesOf(listen, "IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS", g.o.Address)
		handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if why := names.Refuse(r); why != "" {
				fault(w, http.StatusMisdirectedRequest, client, why)
				return
			}
			g.ServeHTTP(w, r)
		})
	}
	// What a client could stretch is bounded: what a request may take and, beyond its own time-outs, no connection
	// lives longer. Ironic speaks HTTP/1.1 only, and so does the gateway.
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
	// What was cut is over in a moment, and has said by then how it ended.
	for late := time.Now().Add(cutTimeout); g.count.inFlight.Load() > 0 && time.Now().Before(late); {
		<-time.After(time.Millisecond)
	}
	return err
}
