package server

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/internal/httpserve"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Access finds out who the holder of a bearer token is, and whether they may do verb,
// the HTTP method in lower case, on the path of a URL. from is the address at the other
// end of the connection, the zero Addr where that is unknown. An error means that nobody
// knows. It is safe for concurrent use and bounds its own time and cost.
type Access interface {
	Check(ctx context.Context, from netip.Addr, token, path, verb string) (Verdict, error)
}

// Verdict is what an Access has found out.
type Verdict struct {
	User    string // who it is
	Known   bool   // the token is good; else 401
	Allowed bool   // they may; else 403
}

// permit reports whether r may go on, and as which request; else it has answered.
type permit func(w http.ResponseWriter, r *http.Request) (*http.Request, bool)

// anybody lets everything through.
func anybody(_ http.ResponseWriter, r *http.Request) (*http.Request, bool) { return r, true }

// asked lets through who asks by a name that is good for a listener.
func asked(names httpserve.Names, w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	if why := names.Refuse(r); why != "" {
		writeError(w, http.StatusMisdirectedRequest, "", why)
		return nil, false
	}
	return r, true
}

// nearby is asked for the local listener.
func nearby(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	return asked(httpserve.Names{}, w, r)
}

// permitted lets through what Access allows, or without one who may ask as they do. Nothing is said about paths and methods
// to who may not use them.
func (s *Server) permitted(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	if s.opts.Access == nil {
		if names := s.names.Load(); names != nil {
			return asked(*names, w, r)
		}
		return r, true
	}
	return allowed(s.opts.Access, w, r)
}

// scraping lets through to /metrics.
func (s *Server) scraping(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	if s.opts.MetricsAccess == nil {
		return r, true // proxies in front pass on names of their own, and nothing can be changed here
	}
	return allowed(s.opts.MetricsAccess, w, r)
}

// allowed lets through what access allows.
func allowed(access Access, w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	token, ok := bearer(r)
	if !ok {
		unauthorized(w, "a bearer token is needed: Authorization: Bearer TOKEN")
		return nil, false
	}
	verb := strings.ToLower(r.Method)
	switch verdict, err := access.Check(r.Context(), remote(r), token, r.URL.Path, verb); {
	case err != nil:
		// The cause is the operator's matter, and in the log of who checks.
		writeError(w, http.StatusServiceUnavailable, "", "who asks cannot be found out now, so nothing was done; ask again")
	case !verdict.Known:
		unauthorized(w, "the bearer token is not, or no longer, good")
	case !verdict.Allowed:
		writeError(w, http.StatusForbidden, "", verdict.User+" may not "+shown(verb)+" "+shown(r.URL.Path))
	default:
		return r.WithContext(context.WithValue(r.Context(), userKey{}, verdict.User)), true
	}
	return nil, false
}

// remote is the address that r came from. What a proxy in between says is not looked at:
// anybody may say so.
func remote(r *http.Request) netip.Addr {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return from.Addr()
}

func unauthorized(w http.ResponseWriter, message string) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	writeError(w, http.StatusUnauthorized, "", message)
}

// bearer is the one token that r carries.
func bearer(r *http.Request) (string, bool) {
	given := r.Header.Values("Authorization")
	if len(given) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	token = strings.TrimLeft(token, " ")
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// userKey is where the context of a request has the name of who was let in.
type userKey struct{}

// audit is the log for what somebody changes by r.
func (s *Server) audit(r *http.Request, about ...any) *slog.Logger {
	log := s.opts.Log.With("remote", r.RemoteAddr)
	if user, known := r.Context().Value(userKey{}).(string); known {
		log = log.With("user", user)
	}
	return log.With(about...)
}

// asked lets h answer an ask where this process decides, and in mode observe
// everywhere: there the answer is yes whoever gives it, so that work goes on without Lease
// and API server.
func (s *Server) asked(h http.HandlerFunc) http.HandlerFunc {
	led := s.leader(h)
	return func(w http.ResponseWriter, r *http.Request) {
		if s.opts.Observe() {
			h(w, r)
			return
		}
		led(w, r)
	}
}

// leader lets h answer only where this process decides. It may end to do so
// at any moment after: the decision knows that better.
func (s *Server) leader(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if why := s.opts.Standby(); why != "" {
			writeJSON(w, http.StatusServiceUnavailable, api.ErrorBody{Error: api.Error{
				Code: http.StatusServiceUnavailable, Reason: api.NotLeading,
				Message: "this throttle does not decide: " + oneLine(why),
			}})
			return
		}
		h(w, r)
	}
}
