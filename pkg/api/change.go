package api

import (
	"bytes"
	"fmt"
	"time"
)

// Bounds of a TripRequest.
const (
	minTrip = time.Second
	maxTrip = 30 * 24 * time.Hour
)

// ParseRelease reads the body of POST /v1/holds/{namespace}/{name}/release as strictly as ParseAsk; no body is an
// empty request. The error is a *FieldError wherever one field is to blame.
func ParseRelease(body []byte) (ReleaseRequest, error) {
	var r ReleaseRequest
	err := parseOptional(body, "episode", &r.Episode)
	if err == nil {
		err = r.Validate()
	}
	if err != nil {
		return ReleaseRequest{}, err
	}
	return r, nil
}

// Validate reports what cannot be an episode, as a *FieldError, or nil.
func (r ReleaseRequest) Validate() error {
	switch {
	case len(r.Episode) > maxText:
		return fieldError("episode", r.Episode, fmt.Sprintf("is longer than %d bytes", maxText))
	case !printable.MatchString(r.Episode):
		return fieldError("episode", r.Episode, printableRule)
	}
	return nil
}

// ParseTrip reads the body of POST /v1/breakers/{scope}/trip as ParseRelease does.
func ParseTrip(body []byte) (TripRequest, error) {
	var r TripRequest
	err := parseOptional(body, "for", &r.For)
	if err == nil {
		_, err = r.Duration()
	}
	if err != nil {
		return TripRequest{}, err
	}
	return r, nil
}

// Duration is the time that r asks for, 1s..720h, or 0 when it leaves that to the throttle. The error is a
// *FieldError.
func (r TripRequest) Duration() (time.Duration, error) {
	if r.For == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(r.For)
	if err != nil || d < minTrip || d > maxTrip {
		return 0, fieldError("for", r.For, "is not a duration such as 30m, 1s..720h")
	}
	return d, nil
}

// parseOptional reads an object that has one field, or nothing.
func parseOptional(body []byte, field string, target *string) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	return parseObject(body, map[string]any{field: target})
}
