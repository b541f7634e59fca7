package server

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
)

// readJSON reads a body of at most limit bytes, or answers what is wrong with it and
// reports false. The content type is demanded of an empty one too: a page of
// another site cannot send it without asking us first, which we refuse.
func readJSON(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, bool) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		writeError(w, http.StatusUnsupportedMediaType, "", "Content-Type must be application/json")
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
			writeError(w, http.StatusRequestEntityTooLarge, "", fmt.Sprintf("body: must not be larger than %d bytes", limit))
		} else {
			writeError(w, http.StatusBadRequest, "", "body: could not be read to its end")
		}
		return nil, false
	}
	return body, true
}

// readChange is readJSON for what an operator changes. Browsers that say where a
// request comes from are held to it.
func readChange(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	if err := sameOrigin.Check(r); err != nil {
		writeError(w, http.StatusForbidden, "", "a page of another site must not change anything here")
		return nil, false
	}
	return readJSON(w, r, maxChangeBody)
}

var sameOrigin = http.NewCrossOriginProtection()
