package server

import (
	"fmt"
	"net/http"
	"net/http/pprof" // its handlers alone, and not that of the command line, which may have a password
	"path"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/internal/page"
)

// routes are handlers by pattern of http.ServeMux: METHOD PATH, where {$} ends a path that ends with a slash.
type routes map[string]http.HandlerFunc

// apiRoutes are the routes of the API and its page.
func (s *Server) apiRoutes() routes {
	return routes{
		"GET /v1/isready":  s.vacancy,
		"POST /v1/isready": s.isReady,
		"GET /v1/status":   s.status,
		"GET /v1/slots":    s.slots,
		"GET /v1/queue":    s.queue,
		"GET /v1/holds":    read(s, s.opts.Decider.Holds),
		"GET /v1/breakers": read(s, s.opts.Decider.Breakers),
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

// localRoutes are those of the API and of profiles, which cost seconds of a core: only the local listener has them.
func (s *Server) localRoutes() routes {
	all := s.apiRoutes()
	all["GET /debug/pprof/{profile...}"] = profile
	return all
}

func profile(w http.ResponseWriter, r *http.Request) {
	switch r.PathValue("profile") {
	case "profile":
		pprof.Profile(w, r)
	case "trace":
		pprof.Trace(w, r)
	default:
		pprof.Index(w, r)
	}
}

func (s *Server) healthRoutes() routes {
	return routes{"GET /healthz": healthz, "GET /readyz": s.readyz}
}

func (s *Server) metricsRoutes() routes { return routes{"GET /metrics": s.opts.Metrics.ServeHTTP} }

// guarded serves all to the clients that g lets in. It measures each request by its route: the path of its pattern, or
// "other". A request without a route gets an error in the form that all errors have.
func (s *Server) guarded(g *gate, all routes) http.Handler {
	mux := http.NewServeMux()
	serve := func(route string, h http.HandlerFunc) http.Handler { return s.opts.Instrument(route, s.within(g, h)) }
	methods := map[string][]string{} // by path
	for pattern, h := range all {
		method, path, _ := strings.Cut(pattern, " ")
		if methods[path] = append(methods[path], method); method == http.MethodGet {
			methods[path] = append(methods[path], http.MethodHead)
		}
		mux.Handle(pattern, serve(strings.TrimSuffix(path, "{$}"), h))
	}
	for path, allowed := range methods {
		slices.Sort(allowed)
		mux.Handle(path, serve("other", notAllowed(strings.Join(allowed, ", "))))
	}
	missing := serve("other", func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, http.StatusNotFound, "", "no such path")
	})
	mux.Handle("/", missing)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if clean(r.URL.EscapedPath()) {
			mux.ServeHTTP(w, r)
		} else { // the mux would redirect, and clients repeat a POST that is redirected as a GET
			missing.ServeHTTP(w, r)
		}
	})
}

func notAllowed(allowed string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", allowed)
		writeError(w, http.StatusMethodNotAllowed, "", "this method is not allowed here, only "+allowed)
	}
}

// clean reports whether http.ServeMux takes p without a redirect.
func clean(p string) bool { return path.IsAbs(p) && (path.Clean(p) == p || path.Clean(p)+"/" == p) }

// within lets h answer the requests that g lets in, and turns a panic into a 500.
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
