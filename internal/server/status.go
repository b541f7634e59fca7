package server

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// status answers GET /v1/status.
func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	st := s.Status()
	tag, err := etag(st)
	if err != nil {
		writeError(w, http.StatusInternalServerError, "", "internal error: the status has no JSON form")
		return
	}
	w.Header().Set("ETag", tag)
	if matches(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	writeJSON(w, http.StatusOK, st)
}

// slots answers GET /v1/slots.
func (s *Server) slots(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, s.Status().Slots)
}

// Status is the Decider's with what only the server knows. Readers share what it holds.
func (s *Server) Status() api.Status {
	st := s.decided()
	st.Version = s.opts.Version
	if s.opts.Cluster != nil {
		st.Cluster = s.opts.Cluster()
	}
	if s.opts.Settings != nil {
		st.Settings = s.opts.Settings()
	}
	if st.Settings == nil {
		st.Settings = map[string]string{}
	}
	if s.opts.Warnings != nil {
		st.Warnings = append(slices.Clone(st.Warnings), s.opts.Warnings()...)
	}
	st.Warnings = list(st.Warnings)
	return st
}

// etag names the content of st without what only tells that time goes by: a
// caller is told 304 as long as nothing happened. It is weak for that reason.
func etag(st api.Status) (string, error) {
	st.Now, st.Headline = time.Time{}, "" // which tells times
	st.View.AgeSeconds, st.View.Polls, st.View.TakenAt = 0, 0, time.Time{}
	st.Slots.Occupants = slices.Clone(st.Slots.Occupants)
	for i := range st.Slots.Occupants {
		st.Slots.Occupants[i].SinceSeconds, st.Slots.Occupants[i].StateSeconds = 0, 0
	}
	st.Turns.Waiting = slices.Clone(st.Turns.Waiting)
	for i := range st.Turns.Waiting {
		st.Turns.Waiting[i].WaitedSeconds = 0
	}
	st.Breakers = slices.Clone(st.Breakers)
	for i := range st.Breakers {
		st.Breakers[i].TimeToRecovery = 0
	}
	body, err := json.Marshal(st)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(body)
	return `W/"` + hex.EncodeToString(sum[:8]) + `"`, nil
}

// matches reports whether tag is in an If-None-Match header.
func matches(header []string, tag string) bool {
	for _, line := range header {
		for t := range strings.SplitSeq(line, ",") {
			if t = strings.TrimSpace(t); t == "*" || strings.TrimPrefix(t, "W/") == strings.TrimPrefix(tag, "W/") {
				return true
			}
		}
	}
	return false
}
