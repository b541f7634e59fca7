package server

import (
	"net/http"

	"github.com/ironic-throttle/ironic-throttle/internal/page"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// page answers GET /.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	shown, err := s.pages.Get(r.Context(), struct{}{})
	if err != nil {
		writeError(w, http.StatusInternalServerError, "", internalError)
		return
	}
	view, may := shown.Value(), s.mayChange(r)
	view.Status = s.Status()
	view.MayRelease = func(h api.Hold) bool { return may(page.ReleasePath(h)) }
	view.MayReset = func(scope string) bool { return may(page.ResetPath(scope)) }
	writePage(w, page.Overview(view))
}

// hostPage answers GET /why/{namespace}/{name}.
func (s *Server) hostPage(w http.ResponseWriter, r *http.Request) {
	v := page.HostView{Status: s.Status(), Why: s.story(r)}
	if h := v.Why.Hold; h != nil && h.Held {
		v.Release = s.mayChange(r)(page.ReleasePath(*h))
	}
	writePage(w, page.Host(v))
}

// mayChange returns a function that reports whether the user of r may POST to a path. If nobody needs a token,
// everybody may. Only the process that decides can change anything.
func (s *Server) mayChange(r *http.Request) func(path string) bool {
	guarded := r.Context().Value(userKey{}) != nil
	leads := s.opts.Leading()
	return func(path string) bool {
		if !leads || !guarded {
			return leads
		}
		token, _ := bearer(r)
		_, allowed, err := s.opts.Access.Check(r.Context(), remote(r), token, path, "post")
		return err == nil && allowed
	}
}

func writePage(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Security-Policy", page.Policy)
	w.Header().Set("Referrer-Policy", "no-referrer")
	write(w, http.StatusOK, "text/html; charset=utf-8", []byte(text))
}

// asset serves a file of the page.
func asset(kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, kind+"; charset=utf-8", []byte(text))
	}
}
