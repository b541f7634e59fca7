package server

import (
	"net/http"

	"github.com/ironic-throttle/ironic-throttle/internal/page"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// shownData is what pages show beside the status. Readers share it.
type shownData struct {
	queue api.Queue
	holds api.Holds
}

// page answers GET /.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	shown, err := s.pages.Get(r.Context(), struct{}{})
	if err != nil {
		writeError(w, http.StatusInternalServerError, "", internalError)
		return
	}
	s.writePage(w, r, page.View{Queue: shown.Value().queue, Holds: shown.Value().holds})
}

// hostPage answers GET /why/{namespace}/{name}.
func (s *Server) hostPage(w http.ResponseWriter, r *http.Request) {
	why := s.story(r)
	s.writePage(w, r, page.View{Why: &why})
}

func (s *Server) writePage(w http.ResponseWriter, r *http.Request, v page.View) {
	v.Status, v.May = s.Status(), s.mayChange(r)
	text := v.HTML()
	w.Header().Set("Content-Security-Policy", page.Policy)
	w.Header().Set("Referrer-Policy", "no-referrer")
	write(w, http.StatusOK, "text/html; charset=utf-8", []byte(text))
}

// mayChange reports whether the user of r may POST to a path: where no token is asked for, each may. Only the
// process that decides changes anything.
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

// asset serves a file of the page.
func asset(kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, kind+"; charset=utf-8", []byte(text))
	}
}
