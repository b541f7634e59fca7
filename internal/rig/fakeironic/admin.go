package fakeironic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

func isAdmin(path string) bool { return strings.HasPrefix(path, "/fake/") }

// Admin returns the fake's own handler, for demos and other processes:
//
//	GET    /fake/truth                     what really goes on (Truth)
//	POST   /fake/limit?n=20                what overLimitNS counts against
//	GET    /fake/states                    how many nodes are in each state
//	GET    /fake/faults                    the faults that are on
//	POST   /fake/faults                    a Fault as JSON, with "for" and "delay" such as "30s"; answers {"id": n}
//	DELETE /fake/faults, /fake/faults/{id} ends all, or one
//	POST   /fake/nodes/{ident}/{fate}      lets a Fate come over a host
//	GET    /fake/nodes/{ident}             its History
//	POST   /fake/conductors/{n}/stop?for=30s&killed=true
//
// Errors are 400 or 404 with a plain text that names field, value and rule.
func (s *Server) Admin() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /fake/truth", func(out http.ResponseWriter, _ *http.Request) { reply(out, s.Truth()) })
	mux.HandleFunc("POST /fake/limit", s.adminLimit)
	mux.HandleFunc("GET /fake/states", func(out http.ResponseWriter, _ *http.Request) {
		s.With(func(now time.Time, w *World) { reply(out, w.States(now)) })
	})
	mux.HandleFunc("GET /fake/faults", func(out http.ResponseWriter, _ *http.Request) {
		s.With(func(time.Time, *World) { reply(out, s.chaos.active) })
	})
	mux.HandleFunc("POST /fake/faults", s.adminAddFault)
	mux.HandleFunc("DELETE /fake/faults", func(out http.ResponseWriter, _ *http.Request) {
		s.ClearFault(0)
		out.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("DELETE /fake/faults/{id}", s.adminClearFault)
	mux.HandleFunc("POST /fake/nodes/{ident}/{fate}", s.adminBefall)
	mux.HandleFunc("GET /fake/nodes/{ident}", s.adminHistory)
	mux.HandleFunc("POST /fake/conductors/{n}/stop", s.adminConductor)
	return mux
}

func reply(out http.ResponseWriter, v any) {
	out.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(out).Encode(v); err != nil {
		return // the client is gone
	}
}

func complain(out http.ResponseWriter, err error) {
	http.Error(out, err.Error(), http.StatusBadRequest)
}

func (s *Server) adminLimit(out http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.URL.Query().Get("n"))
	if err != nil || n < 0 {
		complain(out, fmt.Errorf("n %q: want a number >= 0", r.URL.Query().Get("n")))
		return
	}
	s.With(func(now time.Time, w *World) { w.SetLimit(now, n) })
	out.WriteHeader(http.StatusNoContent)
}

func (s *Server) adminAddFault(out http.ResponseWriter, r *http.Request) {
	var f struct {
		Fault
		For   string `json:"for"`
		Delay string `json:"delay"`
	}
	in := json.NewDecoder(http.MaxBytesReader(out, r.Body, 64<<10))
	in.DisallowUnknownFields()
	if err := in.Decode(&f); err != nil {
		complain(out, fmt.Errorf("body: %w", err))
		return
	}
	for name, d := range map[string]struct {
		text string
		into *time.Duration
	}{"for": {f.For, &f.Fault.For}, "delay": {f.Delay, &f.Fault.Delay}} {
		if d.text == "" {
			continue
		}
		var err error
		if *d.into, err = time.ParseDuration(d.text); err != nil {
			complain(out, fmt.Errorf("%s %q: want a duration, such as 30s", name, d.text))
			return
		}
	}
	id, err := s.AddFault(f.Fault)
	if err != nil {
		complain(out, err)
		return
	}
	reply(out, map[string]int{"id": id})
}

func (s *Server) adminClearFault(out http.ResponseWriter, r *http.Request) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || id < 1 {
		complain(out, fmt.Errorf("id %q: want a number >= 1", r.PathValue("id")))
		return
	}
	if !s.ClearFault(id) {
		http.NotFound(out, r)
		return
	}
	out.WriteHeader(http.StatusNoContent)
}

func (s *Server) adminBefall(out http.ResponseWriter, r *http.Request) {
	var err error
	s.With(func(now time.Time, w *World) { err = w.Befall(now, r.PathValue("ident"), Fate(r.PathValue("fate"))) })
	if err != nil {
		complain(out, err)
		return
	}
	out.WriteHeader(http.StatusNoContent)
}

func (s *Server) adminHistory(out http.ResponseWriter, r *http.Request) {
	s.With(func(now time.Time, w *World) {
		h, ok := w.History(now, r.PathValue("ident"))
		if !ok {
			http.NotFound(out, r)
			return
		}
		reply(out, h)
	})
}

func (s *Server) adminConductor(out http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil {
		complain(out, fmt.Errorf("conductor %q: want a number", r.PathValue("n")))
		return
	}
	query := r.URL.Query()
	d, err := time.ParseDuration(query.Get("for"))
	if err != nil {
		complain(out, fmt.Errorf("for %q: want a duration", query.Get("for")))
		return
	}
	s.With(func(now time.Time, w *World) { err = w.StopConductor(now, n, d, query.Get("killed") == "true") })
	if err != nil {
		complain(out, err)
		return
	}
	out.WriteHeader(http.StatusNoContent)
}
