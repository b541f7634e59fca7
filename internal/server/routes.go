package server

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// routes are handlers by path and method. A segment {name} of a path stands for any
// text that is not empty. A plain map instead of a ServeMux: no redirects, and
// errors in our own form.
type routes map[string]map[string]http.HandlerFunc

// find returns the handler of r and the name of its route for the metrics, which is
// never what somebody typed. It sets the path values of r.
func (rt routes) find(r *http.Request) (http.HandlerFunc, string) {
	path := rt.match(r)
	methods, ok := rt[path]
	if !ok {
		return func(w http.ResponseWriter, _ *http.Request) {
			writeError(w, http.StatusNotFound, "", "no such path: known are "+strings.Join(slices.Sorted(maps.Keys(rt)), ", "))
		}, "other"
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet // the server leaves the body out
	}
	if h, ok := methods[method]; ok {
		return h, path
	}
	return func(w http.ResponseWriter, r *http.Request) {
		allow := slices.Collect(maps.Keys(methods))
		if methods[http.MethodGet] != nil {
			allow = append(allow, http.MethodHead)
		}
		slices.Sort(allow)
		w.Header().Set("Allow", strings.Join(allow, ", "))
		writeError(w, http.StatusMethodNotAllowed, "", fmt.Sprintf("%s is not allowed here, only %s", known(r.Method), strings.Join(allow, ", ")))
	}, path
}

// match returns the path of rt that r asks for, "" if none.
func (rt routes) match(r *http.Request) string {
	if _, exact := rt[r.URL.Path]; exact && !strings.Contains(r.URL.Path, "{") {
		return r.URL.Path
	}
	// What is encoded stays in its segment: a scope may hold slashes.
	given := strings.Split(r.URL.EscapedPath(), "/")
	for path := range rt { // at most one fits
		if values, ok := fit(strings.Split(path, "/"), given); ok {
			for name, value := range values {
				r.SetPathValue(name, value)
			}
			return path
		}
	}
	return ""
}

// fit reads the values of the segments {name} of a path.
func fit(path, given []string) (map[string]string, bool) {
	if len(path) != len(given) {
		return nil, false
	}
	values := map[string]string{}
	for i, segment := range path {
		name, variable := strings.CutPrefix(segment, "{")
		if !variable {
			if segment != given[i] {
				return nil, false
			}
			continue
		}
		value, err := url.PathUnescape(given[i])
		if err != nil || value == "" {
			return nil, false
		}
		values[strings.TrimSuffix(name, "}")] = value
	}
	return values, true
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

// guarded serves rt to those whom let lets in, measures each request, and turns a panic
// into a 500.
func (s *Server) guarded(let permit, rt routes) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		rec := &recorder{ResponseWriter: w}
		handler, route := rt.find(r)
		defer func() {
			fault := recover()
			if fault != nil && fault != http.ErrAbortHandler { //nolint:errorlint // it is compared by net/http too
				s.opts.Log.Error("handler panicked", "route", route, "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
				if rec.code == 0 {
					writeError(rec, http.StatusInternalServerError, "", internalError)
				}
			}
			s.opts.Answered(route, rec.status(), time.Since(begun))
			if fault != nil && rec.code != http.StatusInternalServerError {
				panic(http.ErrAbortHandler) // cuts an answer that is already half sent
			}
		}()
		h := rec.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-cache")
		if r, ok := let(rec, r); ok {
			handler(rec, r)
		}
	})
}

// recorder remembers the code of an answer.
type recorder struct {
	http.ResponseWriter
	code int // 0: nothing sent yet
}

func (r *recorder) WriteHeader(code int) {
	if r.code == 0 {
		r.code = code
	}
	r.ResponseWriter.WriteHeader(code)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.code == 0 {
		r.code = http.StatusOK
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) status() int {
	if r.code == 0 {
		return http.StatusOK
	}
	return r.code
}
