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

// Access finds out whose bearer token it is, "" for nobody's, and whether that user may do verb, the HTTP method in
// lower case, on the path of a URL. from is the address at the other end of the connection, the zero Addr if that is
// unknown. An error means that Access cannot find out. It is safe for concurrent use and bounds its own time and cost.
type Access interface {
	Check(ctx context.Context, from netip.Addr, token, path, verb string) (user string, allowed bool, err error)
}

// gate checks the requests of a listener. The zero value lets all of them in.
type gate struct {
	access Access           // nil: nobody needs a token
	names  *httpserve.Names // without access: the names to which the listener answers; nil: to any
}

// let reports whether r may go on, and returns it with its user; if not, let has answered. Users who may not use a path
// and method learn nothing about them.
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
	case err != nil: // Access logs the cause, for the operator
		writeError(w, http.StatusServiceUnavailable, "", "the throttle cannot find out the user now, and did nothing; ask again")
	case user == "":
		unauthorized(w, "the bearer token is not valid, or not valid any more")
	case !may:
		writeError(w, http.StatusForbidden, "", user+" may not "+shown(verb)+" "+shown(r.URL.Path))
	default:
		return r.WithContext(context.WithValue(r.Context(), userKey{}, user)), true
	}
	return nil, false
}

// remote returns the address that r came from. Headers of proxies do not count: any client may set them.
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

// bearer returns the one bearer token of r.
func bearer(r *http.Request) (string, bool) {
	given := r.Header.Values("Authorization")
	if len(given) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	token = strings.TrimLeft(token, " ")
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// userKey finds the name of the user in the context of a request.
type userKey struct{}

// audit returns the log for what r changes.
func (s *Server) audit(r *http.Request, about ...any) *slog.Logger {
	log := s.opts.Log.With("remote", r.RemoteAddr)
	if user, known := r.Context().Value(userKey{}).(string); known {
		log = log.With("user", user)
	}
	return log.With(about...)
}

// leader lets h answer only if this process decides. It may stop leading at any moment, so the Decider checks again.
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
