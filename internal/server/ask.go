package server

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// isReady answers POST /v1/isready. A yes and a no are both a 200.
func (s *Server) isReady(w http.ResponseWriter, r *http.Request) {
	var ask api.Ask
	if !readJSON(w, r, maxAskBody, &ask) {
		return
	}
	ask = ask.Normalize()
	if err := faultOf(ask); err != nil {
		writeBadRequest(w, err)
		return
	}
	if s.decides(w, r) {
		writeJSON(w, http.StatusOK, s.opts.Decider.IsReady(s.opts.Now(), ask))
	}
}

// vacancy answers GET /v1/isready.
func (s *Server) vacancy(w http.ResponseWriter, r *http.Request) {
	if s.decides(w, r) {
		writeJSON(w, http.StatusOK, s.opts.Decider.Vacancy(s.opts.Now()))
	}
}

// decides reports whether the Decider may answer an ask; if not, decides has answered. This process has to lead, except
// in mode observe: there the answer is yes, so that work goes on without Lease and API server. With a leader, an ask
// waits a little for the first complete poll. A client that is gone by then gets no yes, whose slot nobody would use.
// decides refuses a query: a GET that names a host would get a yes without a slot, and a POST no dry run.
func (s *Server) decides(w http.ResponseWriter, r *http.Request) bool {
	switch leads, query := s.opts.Leading(), r.URL.RawQuery; {
	case query != "":
		writeBadRequest(w, &api.FieldError{Field: "query", Value: query, Rule: "must be empty: the body of a POST says all"})
		return false
	case !leads && !s.opts.Observe():
		s.notLeading(w)
		return false
	case leads:
		wait := time.NewTimer(firstPollWait)
		defer wait.Stop()
		select {
		case <-s.opts.Decider.FirstPoll():
		case <-wait.C:
		case <-r.Context().Done():
		}
	}
	if r.Context().Err() != nil {
		writeError(w, http.StatusServiceUnavailable, "", "the client went away before the answer") // for the metrics
		return false
	}
	return true
}

// The forms of texts. Names in Kubernetes and of nodes in Ironic have no other characters, except the '~' between
// namespace and name in Ironic. U+FFFD stands for bytes that are no UTF-8.
var (
	uuidForm  = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	nameForm  = regexp.MustCompile(`^[A-Za-z0-9._-]*$`)
	printable = regexp.MustCompile(`^[^\p{Cc}\x{FFFD}]*$`)
)

const (
	nameRule      = "may hold letters, digits, '-', '.' and '_' only"
	printableRule = "contains a control or an unreadable character"

	maxText = 128 // bytes of UUIDs, hashes of up to 512 bits in hex, states
)

// faultOf returns an *api.FieldError for the first wrong field of a, or nil. It refuses long texts instead of cutting
// them: a cut name would be another host.
func faultOf(a api.Ask) error {
	switch {
	case !slices.Contains(api.Ops(), a.Op):
		return &api.FieldError{Field: "op", Value: string(a.Op), Rule: fmt.Sprint("must be one of ", api.Ops())}
	case a.NodeUUID == "" && a.Name == "":
		return &api.FieldError{Field: "name", Rule: "must be set where nodeUUID is not"}
	case a.NodeUUID != "" && !uuidForm.MatchString(a.NodeUUID):
		return &api.FieldError{Field: "nodeUUID", Value: a.NodeUUID, Rule: "is not a UUID such as 3f2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b"}
	}
	for _, f := range []struct {
		name, value string
		max         int
		form        *regexp.Regexp
		rule        string
	}{
		{"namespace", a.Namespace, 63, nameForm, nameRule}, // of a Kubernetes label
		{"name", a.Name, 253, nameForm, nameRule},          // of a Kubernetes name
		{"uid", a.UID, maxText, printable, printableRule},
		{"bmhState", string(a.BMHState), maxText, printable, printableRule},
		{"specHash", a.SpecHash, maxText, printable, printableRule},
		{"conductorGroup", a.ConductorGroup, 255, printable, printableRule}, // of Ironic's column
	} {
		if len(f.value) > f.max {
			return &api.FieldError{Field: f.name, Value: f.value, Rule: fmt.Sprintf("is longer than %d bytes", f.max)}
		}
		if !f.form.MatchString(f.value) {
			return &api.FieldError{Field: f.name, Value: f.value, Rule: f.rule}
		}
	}
	return nil
}
