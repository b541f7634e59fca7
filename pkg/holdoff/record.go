package holdoff

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// RecordVersion is the version of the records that this package writes and reads.
const RecordVersion = 1

// MaxLine bounds what Line returns and ParseRecord reads, in bytes. A record of which
// each text is as long as it may be, all of it escaped, has less.
const MaxLine = 64 << 10

// Record is what one host's entry is where it outlives the process: a line of JSON.
type Record struct {
	Version int    `json:"version"`
	UUID    string `json:"uuid"`
	Name    string `json:"name,omitempty"`
	UID     string `json:"uid,omitempty"`
	Spec    string `json:"spec,omitempty"`
	// Void is an episode of another host object on this node.
	Void string `json:"void,omitempty"`
	// Recounted is how many failures BMO has counted twice.
	Recounted int `json:"recounted,omitempty"`
	// Episodes are at most one of each kind, the present one last.
	Episodes []EpisodeRecord `json:"episodes,omitempty"`
}

// EpisodeRecord is one failure of a Record. Since is t0 on the wall clock.
type EpisodeRecord struct {
	ID       string    `json:"id"`
	Kind     Kind      `json:"kind"`
	State    string    `json:"state,omitempty"`
	Cause    string    `json:"cause,omitempty"`
	Failures int       `json:"failures"`
	Since    time.Time `json:"since"`
	Released bool      `json:"released,omitempty"`
	Unseen   bool      `json:"unseen,omitempty"`
}

var errTooLong = fmt.Errorf("is longer than %d bytes", MaxLine)

// Line returns r as a Store keeps it, without the end of a line.
func (r Record) Line() ([]byte, error) {
	line, err := json.Marshal(r)
	if err == nil && len(line) > MaxLine {
		err = errTooLong
	}
	if err != nil {
		return nil, fmt.Errorf("record of %s: %w", r.UUID, err)
	}
	return line, nil
}

// ParseRecord reads what Line has written, and checks it. Fields that it does not know are
// left out. One of a later version is a *LaterError.
func ParseRecord(data []byte) (Record, error) {
	if len(data) > MaxLine {
		return Record{}, fmt.Errorf("record: %w", errTooLong)
	}
	var r Record
	err := json.Unmarshal(data, &r)
	if later := laterError(data); later != nil {
		return Record{}, later
	}
	if err != nil {
		return Record{}, fmt.Errorf("record: %w", err)
	}
	if err := r.check(); err != nil {
		return Record{}, err
	}
	return r, nil
}

// LaterError tells of a record of a later version, which nobody here can read.
type LaterError struct {
	version int
	// Instead is to be kept in its place: the host is held from now on, unless it reads as released. A
	// rollback would else let a host go whose failure Ironic does not show any more (BO-16).
	Instead Record
}

// Error names both versions.
func (e *LaterError) Error() string {
	return fmt.Sprintf("version: %d is not %d", e.version, RecordVersion)
}

// farOff is later than any clock of ours: what has begun then begins at the start.
var farOff = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// laterError is nil for what is of no later version, or names no host.
func laterError(data []byte) *LaterError {
	var later struct {
		Version  int    `json:"version"`
		UUID     string `json:"uuid"`
		Name     string `json:"name"`
		UID      string `json:"uid"`
		Episodes []struct {
			Kind     Kind `json:"kind"`
			Released bool `json:"released"`
		} `json:"episodes"`
	}
	if err := json.Unmarshal(data, &later); err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) || later.Version <= RecordVersion {
		return nil // a field of another type is left out
	}
	e := EpisodeRecord{ID: unseenID(later.UUID, 1, farOff), Kind: Deployment, Failures: 1, Since: farOff, Unseen: true}
	if n := len(later.Episodes); n > 0 {
		e.Released = later.Episodes[n-1].Released
		if k := later.Episodes[n-1].Kind; k.valid() {
			e.Kind = k
		}
	}
	r := Record{Version: RecordVersion, UUID: later.UUID, Name: later.Name, UID: later.UID, Episodes: []EpisodeRecord{e}}
	if r.check() != nil {
		r = Record{}
	}
	return &LaterError{later.Version, r}
}

// check reports the first thing in r that no Book writes.
func (r Record) check() error {
	switch {
	case r.Version != RecordVersion:
		return fmt.Errorf("version: %d is not %d", r.Version, RecordVersion)
	case r.UUID == "":
		return errors.New("uuid: must be set")
	case len(r.Episodes) == 0 && r.Void == "":
		return errors.New("episodes: must be set where void is not")
	case r.Recounted < 0 || r.Recounted > maxFailures:
		return fmt.Errorf("recounted: %d is not from 0 to %d", r.Recounted, maxFailures)
	}
	for _, text := range []struct{ field, value string }{
		{"uuid", r.UUID}, {"name", r.Name}, {"uid", r.UID}, {"spec", r.Spec}, {"void", r.Void},
	} {
		if len(text.value) > maxText {
			return fmt.Errorf("%s: is longer than %d bytes", text.field, maxText)
		}
	}
	seen := map[Kind]bool{}
	for _, e := range r.Episodes {
		switch {
		case e.ID == "" || len(e.ID) > maxText || len(e.State) > maxText || len(e.Cause) > maxCause:
			return errors.New("episodes: a text is missing or too long")
		case !e.Kind.valid() || seen[e.Kind]:
			return fmt.Errorf("episodes: kind %q is unknown or given twice", cut(string(e.Kind), maxText))
		case e.Failures < 1 || e.Failures > maxFailures:
			return fmt.Errorf("episodes: failures: %d is not from 1 to %d", e.Failures, maxFailures)
		}
		seen[e.Kind] = true
	}
	return nil
}

// record is e as it is written at now.
func (e *entry) record(now time.Time) Record {
	r := Record{Version: RecordVersion, UUID: e.uuid, Name: e.name, UID: e.uid, Spec: e.spec, Void: e.void, Recounted: e.recounted}
	for i := range e.fails {
		p := &e.fails[i]
		r.Episodes = append(r.Episodes, EpisodeRecord{
			ID: p.id, Kind: p.kind, State: p.state, Cause: p.cause, Failures: p.failures,
			Since: wallOf(now, p.since), Released: p.released, Unseen: p.unseen,
		})
	}
	return r
}

// entryOf is the entry that r was, and whether its times could be right: an age below
// zero is zero.
func entryOf(now time.Time, r Record) (e entry, exact bool) {
	e = entry{uuid: r.UUID, name: r.Name, uid: r.UID, spec: r.Spec, void: r.Void, recounted: r.Recounted}
	exact = true
	for _, p := range r.Episodes {
		age := now.Round(0).Sub(p.Since)
		if age < 0 {
			age, exact = 0, false
		}
		e.fails = append(e.fails, episode{
			id: p.ID, kind: p.Kind, state: p.State, cause: p.Cause, failures: p.Failures,
			since: now.Add(-age), released: p.Released, unseen: p.Unseen,
		})
	}
	return e, exact
}
