package ironic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// page is one answer to a list.
type page struct {
	nodes   []Node
	rows    int    // as Ironic counts them: nodes and skipped
	skipped int    // rows without a uuid that could be used
	last    string // uuid of the last usable row: the marker of the next page
	more    bool   // there was a next link
}

// decodePage reads a list of nodes row by row and keeps only what Node holds.
// It tolerates whatever it does not need: unknown fields, nulls, values of
// another type, texts of any length (GC-17). What it does need are whole JSON
// and a list named nodes; an answer without them is an error, because half a
// list must never look like a whole one (GC-14).
func decodePage(r io.Reader) (page, error) {
	dec := json.NewDecoder(r)
	var p page
	if err := expect(dec, '{'); err != nil {
		return page{}, err
	}
	found := false
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return page{}, torn(err)
		}
		switch key {
		case "nodes":
			found = true
			err = p.decodeRows(dec)
		case "next":
			var next json.RawMessage
			err = dec.Decode(&next)
			p.more = textOf(next, 1) != ""
		default:
			var ignored json.RawMessage
			err = dec.Decode(&ignored)
		}
		if err != nil {
			return page{}, torn(err)
		}
	}
	if err := end(dec); err != nil {
		return page{}, err
	}
	if !found {
		return page{}, errors.New("no list named nodes")
	}
	return p, nil
}

// decodeRows reads the list itself.
func (p *page) decodeRows(dec *json.Decoder) error {
	if err := expect(dec, '['); err != nil {
		return err
	}
	for dec.More() {
		var row wireNode
		err := dec.Decode(&row)
		var odd *json.UnmarshalTypeError
		if err != nil && !errors.As(err, &odd) {
			return err
		}
		p.rows++
		n, ok := row.node()
		if !ok {
			p.skipped++
			continue
		}
		p.nodes = append(p.nodes, n)
		p.last = n.UUID
	}
	return expect(dec, ']')
}

// decodeNode reads a single node.
func decodeNode(r io.Reader) (Node, error) {
	dec := json.NewDecoder(r)
	var row wireNode
	if err := dec.Decode(&row); err != nil {
		return Node{}, torn(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return Node{}, errors.New("something follows the JSON")
	}
	n, ok := row.node()
	if !ok {
		return Node{}, errors.New("a node without a uuid")
	}
	return n, nil
}

// expect takes one delimiter.
func expect(dec *json.Decoder, want json.Delim) error {
	token, err := dec.Token()
	if err != nil {
		return torn(err)
	}
	if token != want {
		return fmt.Errorf("%v where %v must be", token, want)
	}
	return nil
}

// end takes the brace that closes the answer, and nothing may follow.
func end(dec *json.Decoder) error {
	if err := expect(dec, '}'); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("something follows the JSON")
	}
	return nil
}

// torn names the error of an answer that stops too early by what it means.
func torn(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// wireNode is a row as it comes. Every field is raw, so that a value of a
// type that we do not expect spoils that field and no other.
type wireNode struct {
	UUID               json.RawMessage `json:"uuid"`
	Name               json.RawMessage `json:"name"`
	ProvisionState     json.RawMessage `json:"provision_state"`
	TargetState        json.RawMessage `json:"target_provision_state"`
	ProvisionUpdatedAt json.RawMessage `json:"provision_updated_at"`
	DriverInternalInfo json.RawMessage `json:"driver_internal_info"`
	ConductorGroup     json.RawMessage `json:"conductor_group"`
	BootInterface      json.RawMessage `json:"boot_interface"`
	Maintenance        json.RawMessage `json:"maintenance"`
	Fault              json.RawMessage `json:"fault"`
	LastError          json.RawMessage `json:"last_error"`
	InstanceUUID       json.RawMessage `json:"instance_uuid"`
	Driver             json.RawMessage `json:"driver"`
	InstanceInfo       json.RawMessage `json:"instance_info"`
}

// node returns what the throttle keeps of a row, and false for a row that
// cannot be told from others.
func (w *wireNode) node() (Node, bool) {
	uuid := textOf(w.UUID, maxKeyLen+1)
	if strings.TrimSpace(uuid) == "" || len(uuid) > maxKeyLen {
		return Node{}, false
	}
	n := Node{
		UUID:               uuid,
		Name:               textOf(w.Name, maxTextLen),
		State:              State(textOf(w.ProvisionState, maxTextLen)),
		TargetState:        State(textOf(w.TargetState, maxTextLen)),
		ProvisionUpdatedAt: textOf(w.ProvisionUpdatedAt, maxTextLen),
		ConductorGroup:     textOf(w.ConductorGroup, maxTextLen),
		BootInterface:      textOf(w.BootInterface, maxTextLen),
		Fault:              textOf(w.Fault, maxTextLen),
		LastError:          textOf(w.LastError, maxErrorLen),
		InstanceUUID:       textOf(w.InstanceUUID, maxTextLen),
		Driver:             textOf(w.Driver, maxTextLen),
		Image:              imageOf(w.InstanceInfo),
		Maintenance:        string(w.Maintenance) == "true",
	}
	var info struct {
		AgentURL       json.RawMessage `json:"agent_url"`
		AgentHeartbeat json.RawMessage `json:"agent_last_heartbeat"`
	}
	if json.Unmarshal(w.DriverInternalInfo, &info) == nil {
		n.AgentURL = strings.TrimSpace(textOf(info.AgentURL, maxTextLen)) != ""
		n.AgentHeartbeat = textOf(info.AgentHeartbeat, maxTextLen)
	}
	return n, true
}

// imageOf names the image that a node gets by what tells it best from others: its
// hash, its checksum, or else where it comes from, which may be a URL with a password.
func imageOf(raw json.RawMessage) string {
	var info struct {
		Hash     json.RawMessage `json:"image_os_hash_value"`
		Checksum json.RawMessage `json:"image_checksum"`
		Source   json.RawMessage `json:"image_source"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &info) != nil {
		return ""
	}
	for _, text := range []json.RawMessage{info.Hash, info.Checksum, info.Source} {
		if s := textOf(text, maxTextLen); s != "" {
			return withoutSecrets(s)
		}
	}
	return ""
}

// withoutSecrets takes user, password and query out of what looks like a URL; other
// texts stay.
func withoutSecrets(text string) string {
	scheme, rest, isURL := strings.Cut(text, "://")
	if !isURL {
		return text
	}
	rest, _, _ = strings.Cut(rest, "?")
	rest, _, _ = strings.Cut(rest, "#")
	host, path, _ := strings.Cut(rest, "/")
	return strings.TrimSuffix(scheme+"://"+host[strings.LastIndexByte(host, '@')+1:]+"/"+path, "/")
}

// textOf returns a JSON string, cut to at most limit bytes; "" for anything
// else.
func textOf(raw json.RawMessage, limit int) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return strings.Clone(cut(s, limit))
}
