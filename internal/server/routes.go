package server

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/pprof" // its handlers alone: http.DefaultServeMux is served nowhere
	"path"
	"runtime/debug"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/internal/page"
)

// routes are handlers by pattern of http.ServeMux: METHOD PATH, where {$} ends a path that ends with a slash.
type routes map[string]http.HandlerFunc

// apiRoutes are those of the API and its page.
func (s *Server) apiRoutes() routes {
	return routes{
		"GET /v1/isready":  s.vacancy,
		"POST /v1/isready": s.isReady,
		"GET /v1/status":   s.status,
		"GET /v1/slots":    s.slots,
		"GET /v1/queue":    s.queue,
		"GET /v1/holds":    s.holds,
		"GET /v1/breakers": s.breakers,
		"GET /v1/plan":     s.planning(s.getPlan),
		"GET /{$}":         s.page,
		"GET /page.css":    asset("text/css", page.Style),
		"GET /page.js":     asset("text/javascript", page.Script),

		"GET /why/{namespace}/{name}":               s.hostPage,
		"GET /v1/why/{namespace}/{name}":            s.why,
		"GET /v1/plan/hosts/{namespace}/{name}":     s.planning(s.explainPlan),
		"POST /v1/holds/{namespace}/{name}/release": s.leader(s.releaseHold),
		"POST /v1/breakers/{scope}/reset":           s.leader(s.resetBreaker),
		"POST /v1/breakers/{scope}/trip":            s.leader(s.tripBreaker),
	}
}

// localRoutes are those of the API and of profiles: where the time and the memory of the process go. One request for
// a profile costs seconds of a core, so they are on the local listener alone.
func (s *Server) localRoutes() routes {
	all := routes{
		"GET /debug/pprof/{$}":       pprof.Index,
		"GET /debug/pprof/profile":   pprof.Profile,
		"GET /debug/pprof/trace":     pprof.Trace,
		"GET /debug/pprof/{profile}": pprof.Index,
	}
	maps.Copy(all, s.apiRoutes())
	return all
}

func (s *Server) healthRoutes() routes {
	return routes{"GET /healthz": healthz, "GET /readyz": s.readyz}
}

func (s *Server) metricsRoutes() routes {
	if s.opts.Metrics == nil {
		return nil
	}
	return routes{"GET /metrics": s.opts.Metrics.ServeHTTP}
}

// guarded serves all to those whom g lets in. Each request is measured by its route, the path of its pattern, or "other".
func (s *Server) guarded(g *gate, all routes) http.Handler {
	mux := http.NewServeMux()
	measured := map[string]http.Handler{"": s.opts.Instrument("other", s.within(g, unknown(mux)))}
	for pattern, h := range all {
		mux.HandleFunc(pattern, h)
		_, route, _ := strings.Cut(strings.TrimSuffix(pattern, "{$}"), " ")
		measured[pattern] = s.opts.Instrument(route, s.within(g, mux))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pattern := mux.Handler(r)
		if !clean(r.URL.EscapedPath()) { // the mux would redirect, and clients repeat a POST that is redirected as a GET
			pattern = ""
		}
		measured[pattern].ServeHTTP(w, r)
	})
}

// clean reports whether http.ServeMux takes p as it is.
func clean(p string) bool { return path.IsAbs(p) && (path.Clean(p) == p || path.Clean(p)+"/" == p) }

// within lets those through to h whom g lets in, and turns a panic into a 500.
func (s *Server) within(g *gate, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if fault := recover(); fault != nil {
				s.opts.Log.Error("handler panicked", "path", shown(r.URL.Path), "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
				writeError(w, http.StatusInternalServerError, "", internalError)
			}
		}()
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-cache")
		if r, ok := g.let(w, r); ok {
			h.ServeHTTP(w, r)
		}
	})
}

// unknown answers what no pattern of mux matches with its code, 404 or 405, and the body that all our errors have.
func unknown(mux *http.ServeMux) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h, _ := mux.Handler(r)
		muxes := &discarded{header: http.Header{}}
		h.ServeHTTP(muxes, r)
		if allowed := muxes.header.Get("Allow"); muxes.code == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", allowed)
			writeError(w, http.StatusMethodNotAllowed, "", "this method is not allowed here, only "+allowed)
			return
		}
		writeError(w, http.StatusNotFound, "", "no such path")
	}
}

// discarded keeps code and header of an answer that is sent nowhere.
type discarded struct {
	header http.Header
	code   int
}

func (d *discarded) Header() http.Header         { return d.header }
func (d *discarded) WriteHeader(code int)        { d.code = code }
func (d *discarded) Write(b []byte) (int, error) { return len(b), nil }
