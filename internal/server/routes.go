package server

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// routes are by path, as http.ServeMux has it, but one that ends with a slash is that path alone.
type routes map[string]methods

// methods are the handlers of a path.
type methods map[string]http.HandlerFunc

// answer has the handler for the method of r answer.
func (m methods) answer(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet // the server leaves the body out
	}
	if h, ok := m[method]; ok {
		h(w, r)
		return
	}
	allow := slices.Collect(maps.Keys(m))
	if m[http.MethodGet] != nil {
		allow = append(allow, http.MethodHead)
	}
	slices.Sort(allow)
	allowed := strings.Join(allow, ", ")
	w.Header().Set("Allow", allowed)
	writeError(w, http.StatusMethodNotAllowed, "", fmt.Sprintf("%s is not allowed here, only %s", known(r.Method), allowed))
}

// known keeps methods of somebody's own making out of messages.
func known(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	}
	return "this method"
}

// unclean is a path that http.ServeMux would redirect.
var unclean = regexp.MustCompile(`^[^/]|^$|//|/\.\.?(/|$)`)

// other is the route of what has none.
const other = "other"

// guarded serves rt to those whom g lets in, measures each request, and turns a panic
// into a 500.
func (s *Server) guarded(g *gate, rt routes) http.Handler {
	mux := http.NewServeMux()
	for path, m := range rt {
		if strings.HasSuffix(path, "/") {
			path += "{$}"
		}
		mux.HandleFunc(path, m.answer)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		rec := &recorder{ResponseWriter: w}
		route := other
		if _, pattern := mux.Handler(r); pattern != "" && !unclean.MatchString(r.URL.EscapedPath()) {
			route = strings.TrimSuffix(pattern, "{$}")
		}
		defer func() {
			fault := recover()
			if fault != nil && fault != http.ErrAbortHandler { //nolint:errorlint // it is compared by net/http too
				s.opts.Log.Error("handler panicked", "route", route, "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
				if rec.code == 0 {
					writeError(rec, http.StatusInternalServerError, "", internalError)
				}
			}
			s.opts.Answered(route, cmp.Or(rec.code, http.StatusOK), time.Since(begun))
			if fault != nil && rec.code != http.StatusInternalServerError {
				panic(http.ErrAbortHandler) // cuts an answer that is already half sent
			}
		}()
		h := rec.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-cache")
		switch r, ok := g.let(rec, r); {
		case !ok: // it has been told why
		case route == other:
			writeError(rec, http.StatusNotFound, "", "no such path: known are "+strings.Join(slices.Sorted(maps.Keys(rt)), ", "))
		default:
			mux.ServeHTTP(rec, r)
		}
	})
}

// recorder remembers the code of an answer. All handlers of ours tell it before the first byte.
type recorder struct {
	http.ResponseWriter
	code int // 0: not told yet
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(code int) {
	if r.code == 0 {
		r.code = code
	}
	r.ResponseWriter.WriteHeader(code)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
