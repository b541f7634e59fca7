package server

import (
	"net/http"
	"net/http/pprof" // its handlers alone: http.DefaultServeMux is served nowhere
)

// profiles are what Go tells of a running process: where its time and its memory go. They are for
// the local listener: one request costs seconds of a core.
func profiles() routes {
	return routes{
		"/debug/pprof/":          {http.MethodGet: pprof.Index},
		"/debug/pprof/profile":   {http.MethodGet: pprof.Profile},
		"/debug/pprof/trace":     {http.MethodGet: pprof.Trace},
		"/debug/pprof/{profile}": {http.MethodGet: pprof.Index},
	}
}
