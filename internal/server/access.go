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

// Access finds out which user the holder of a bearer token is, "" for none, and whether it may do verb, the HTTP method in
// lower case, on the path of a URL. from is the address at the other end of the connection, the zero Addr where that is
// unknown. An error means that it cannot be found out. It is safe for concurrent use and bounds its own time and cost.
type Access interface {
	Check(ctx context.Context, from netip.Addr, token, path, verb string) (user string, allowed bool, err error)
}

// gate lets requests through to a listener. The zero value lets through all of them.
type gate struct {
	access Access           // nil: no token is asked for
	names  *httpserve.Names // then: the names by which the listener may be asked; nil: any
}

// let reports whether r may go on, and as which request; else it has answered. It tells nothing about paths and methods to
// users who may not use them.
func (g *gate) let(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	if g.access == nil {
		if g.names != nil {
			if why := g.names.Refuse(r); why != "" {
				writeError(w, http.StatusMisdirectedRequest, "", why)
				return nil, false
			}
		}
		return r, true
	}
	token, ok := bearer(r)
	if !ok {
		unauthorized(w, "a bearer token is needed: Authorization: Bearer TOKEN")
		return nil, false
	}
	verb := strings.ToLower(r.Method)
	switch user, may, err := g.access.Check(r.Context(), remote(r), token, r.URL.Path, verb); {
	case err != nil: // the cause is for the operator, in the log of Access
		writeError(w, http.StatusServiceUnavailable, "", "the user cannot be found out now, so nothing was done; ask again")
	case user == "":
		unauthorized(w, "the bearer token is not, or no longer, good")
	case !may:
		writeError(w, http.StatusForbidden, "", user+" may not "+shown(verb)+" "+shown(r.URL.Path))
	default:
		return r.WithContext(context.WithValue(r.Context(), userKey{}, user)), true
	}
	return nil, false
}

// remote is the address that r came from. Headers of proxies do not count: any client may set them.
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

// userKey is where the context of a request has the name of its user.
type userKey struct{}

// audit is the log for what r changes.
func (s *Server) audit(r *http.Request, about ...any) *slog.Logger {
	log := s.opts.Log.With("remote", r.RemoteAddr)
	if user, known := r.Context().Value(userKey{}).(string); known {
		log = log.With("user", user)
	}
	return log.With(about...)
}

// leader lets h answer where this process decides. It may stop to do so at any moment after: the decision checks again.
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
