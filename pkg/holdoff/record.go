package holdoff

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// RecordVersion is the version of the records that this package writes. It reads later ones too, as far as it can.
const RecordVersion = 1

// MaxLine is the most bytes that Line returns and ParseRecord reads.
const MaxLine = 64 << 10

// Record is what a store keeps of one host: a line of JSON.
type Record struct {
	Version int    `json:"version"`
	UUID    string `json:"uuid"`
	Name    string `json:"name,omitempty"`
	UID     string `json:"uid,omitempty"`
	Spec    string `json:"spec,omitempty"`
	// Episodes has one failure. Older versions wrote one for each kind, the newest last.
	Episodes []EpisodeRecord `json:"episodes,omitempty"`
}

// EpisodeRecord is one failure of a Record. Since is wall time.
type EpisodeRecord struct {
	ID       string    `json:"id"`
	Kind     Kind      `json:"kind"`
	State    string    `json:"state,omitempty"`
	Cause    string    `json:"cause,omitempty"`
	Failures int       `json:"failures"`
	Since    time.Time `json:"since"`
	Released bool      `json:"released,omitempty"`
}

var errTooLong = fmt.Errorf("is longer than %d bytes", MaxLine)

// Line returns r as a store keeps it, without a line end, or an error if it is longer than MaxLine.
func (r Record) Line() ([]byte, error) {
	line, err := json.Marshal(r)
	if err == nil && len(line) > MaxLine {
		err = errTooLong
	}
	if err != nil {
		return nil, fmt.Errorf("record of %.64q: %w", r.UUID, err)
	}
	return line, nil
}

// ParseRecord reads and checks what Line returned. It ignores fields that it does not know.
func ParseRecord(data []byte) (r Record, err error) {
	if len(data) > MaxLine {
		err = errTooLong
	} else if err = json.Unmarshal(data, &r); err == nil {
		err = r.check()
	}
	if err != nil {
		return Record{}, fmt.Errorf("record: %w", err)
	}
	return r, nil
}

// check returns an error for the first value in r that no Book writes.
func (r Record) check() error {
	switch {
	case r.Version < RecordVersion:
		return fmt.Errorf("version: %d is below %d", r.Version, RecordVersion)
	case r.UUID == "":
		return errors.New("uuid: must be set")
	case slices.ContainsFunc(r.Episodes, func(e EpisodeRecord) bool { return e.ID == "" || e.Failures < 1 }):
		return errors.New("episodes: each must have an id, and failures of 1 or more")
	}
	return nil
}

// record returns h as Records does. It rounds the time: wall and monotonic clock differ a little with each call.
func (h host) record(now time.Time) Record {
	return Record{
		Version: RecordVersion, UUID: h.uuid, Name: h.name, UID: h.uid, Spec: h.spec,
		Episodes: []EpisodeRecord{{
			ID: h.id, Kind: h.kind, State: h.state, Cause: h.cause, Failures: h.failures,
			Since: wallOf(now, h.since).Round(time.Millisecond), Released: h.released,
		}},
	}
}

// hostOf returns the host of a record. If the clock was set back to before the failure, the hold begins again now.
func hostOf(now time.Time, r Record) host {
	e := r.Episodes[len(r.Episodes)-1]
	age := max(now.Round(0).Sub(e.Since), 0)
	return host{
		uuid: r.UUID, name: r.Name, uid: r.UID, spec: r.Spec, id: e.ID, kind: e.Kind, state: e.State, cause: e.Cause,
		failures: e.Failures, since: now.Add(-age), released: e.Released,
	}
}
