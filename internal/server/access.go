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

// Access finds out who the holder of a bearer token is, "" for nobody, and whether they may do verb, the HTTP method
// in lower case, on the path of a URL. from is the address at the other end of the connection, the zero Addr where
// that is unknown. An error means that nobody knows. It is safe for concurrent use and bounds its own time and cost.
type Access interface {
	Check(ctx context.Context, from netip.Addr, token, path, verb string) (user string, allowed bool, err error)
}

// gate lets requests through to a listener. The zero value lets through all of them.
type gate struct {
	access Access           // nil: nobody is asked who asks
	names  *httpserve.Names // then: by which the listener may be asked; nil: any
}

// let reports whether r may go on, and as which request; else it has answered. Nothing is said about paths and
// methods to who may not use them.
func (g *gate) let(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	if g.access != nil {
		return allowed(g.access, w, r)
	}
	if g.names != nil {
		if why := g.names.Refuse(r); why != "" {
			writeError(w, http.StatusMisdirectedRequest, "", why)
			return nil, false
		}
	}
	return r, true
}

// allowed lets through what access allows.
func allowed(access Access, w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	token, ok := bearer(r)
	if !ok {
		unauthorized(w, "a bearer token is needed: Authorization: Bearer TOKEN")
		return nil, false
	}
	verb := strings.ToLower(r.Method)
	switch user, may, err := access.Check(r.Context(), remote(r), token, r.URL.Path, verb); {
	case err != nil:
		// The cause is the operator's matter, and in the log of who checks.
		writeError(w, http.StatusServiceUnavailable, "", "who asks cannot be found out now, so nothing was done; ask again")
	case user == "":
		unauthorized(w, "the bearer token is not, or no longer, good")
	case !may:
		writeError(w, http.StatusForbidden, "", user+" may not "+shown(verb)+" "+shown(r.URL.Path))
	default:
		return r.WithContext(context.WithValue(r.Context(), userKey{}, user)), true
	}
	return nil, false
}

// remote is the address that r came from. What a proxy in between says is not looked at: anybody may say so.
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

// leader lets h answer only where this process decides. It may end to do so at any moment after: the decision knows
// that better.
func (s *Server) leader(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.opts.Leading() {
			s.notLeading(w)
			return
		}
		h(w, r)
	}
}

func (s *Server) notLeading(w http.ResponseWriter) {
	writeJSON(w, http.StatusServiceUnavailable, api.ErrorBody{Error: api.Error{
		Code: http.StatusServiceUnavailable, Reason: api.NotLeading,
		Message: "this throttle does not decide: " + oneLine(s.opts.Standby()),
	}})
}
