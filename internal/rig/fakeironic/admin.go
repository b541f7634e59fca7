package fakeironic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

func isAdmin(path string) bool { return strings.HasPrefix(path, "/fake/") }

// Admin returns the fake's own handler, for demos and other processes:
//
//	GET    /fake/truth                     what really goes on (Truth)
//	GET    /fake/states                    how many nodes are in each state
//	POST   /fake/faults                    a Fault as JSON, with "for" and "delay" such as "30s"; answers {"id": n}
//	DELETE /fake/faults                    ends them all
//	POST   /fake/nodes/{ident}/{fate}      lets a Fate come over a host
//
// Errors are 400 with a plain text that names field, value and rule.
func (s *Server) Admin() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /fake/truth", func(out http.ResponseWriter, _ *http.Request) { reply(out, s.Truth()) })
	mux.HandleFunc("GET /fake/states", func(out http.ResponseWriter, _ *http.Request) {
		s.With(func(now time.Time, w *World) { reply(out, w.States(now)) })
	})
	mux.HandleFunc("POST /fake/faults", s.adminAddFault)
	mux.HandleFunc("DELETE /fake/faults", func(out http.ResponseWriter, _ *http.Request) {
		s.ClearFault(0)
		out.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /fake/nodes/{ident}/{fate}", s.adminBefall)
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

func (s *Server) adminBefall(out http.ResponseWriter, r *http.Request) {
	var err error
	s.With(func(now time.Time, w *World) { err = w.Befall(now, r.PathValue("ident"), Fate(r.PathValue("fate"))) })
	if err != nil {
		complain(out, err)
		return
	}
	out.WriteHeader(http.StatusNoContent)
}
