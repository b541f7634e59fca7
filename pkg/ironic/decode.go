package ironic

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unique"
)

// page is what an answer to a list tells besides its nodes.
type page struct {
	rows    int  // as Ironic counts them, usable or not
	skipped int  // rows without a uuid that could be used
	more    bool // there was a next link
}

// decodePage reads a list of nodes as it comes, one row at a time. It tolerates whatever is not needed: unknown
// fields, nulls, values of another type, texts of any length. What it does need are whole JSON and a list named nodes;
// an answer without them is an error, because half a list must never be taken for a whole one.
func decodePage(r io.Reader, take func(Node) error) (page, error) {
	in := newDocument(r)
	if err := in.expect(json.Delim('{')); err != nil {
		return page{}, err
	}
	var p page
	found := false
	for in.more() {
		name, err := in.token()
		switch {
		case err != nil:
		case name == "nodes":
			found = true
			err = p.decodeRows(in, take)
		case name == "next":
			var next any
			err = in.value(&next)
			text, _ := next.(string)
			p.more = text != ""
		default:
			err = in.value(&struct{}{})
		}
		if err != nil {
			return page{}, err
		}
	}
	if err := in.expect(json.Delim('}')); err != nil {
		return page{}, err
	}
	if !found {
		return page{}, errors.New("no list named nodes")
	}
	return p, in.end()
}

func (p *page) decodeRows(in *document, take func(Node) error) error {
	if err := in.expect(json.Delim('[')); err != nil {
		return err
	}
	for in.more() {
		n, ok, err := in.node()
		if err != nil {
			return err
		}
		if p.rows++; !ok {
			p.skipped++
		} else if err := take(n); err != nil {
			return err
		}
	}
	return in.expect(json.Delim(']'))
}

// decodeNode reads a single node.
func decodeNode(r io.Reader) (Node, error) {
	in := newDocument(r)
	n, ok, err := in.node()
	if err == nil {
		err = in.end()
	}
	switch {
	case err != nil:
		return Node{}, err
	case !ok:
		return Node{}, errors.New("a node without a uuid")
	}
	return n, nil
}

// document is JSON that is read value by value. Each value is in memory as a whole, so it is bounded.
type document struct {
	dec   *json.Decoder
	meter *bound
}

func newDocument(r io.Reader) *document {
	m := &bound{Reader: r, left: maxValueBytes, err: errLongValue}
	return &document{dec: json.NewDecoder(m), meter: m}
}

// token takes one token.
func (in *document) token() (json.Token, error) {
	in.meter.left = maxValueBytes
	t, err := in.dec.Token()
	return t, torn(err)
}

// expect takes one delimiter.
func (in *document) expect(want json.Delim) error {
	if t, err := in.token(); err != nil || t == want {
		return err
	}
	return fmt.Errorf("no %v where one must be", want)
}

// more reports whether a list or an object goes on. An error it leaves to the next call.
func (in *document) more() bool {
	in.meter.left = maxValueBytes
	return in.dec.More()
}

// value takes a value as far as it has the types of v.
func (in *document) value(v any) error {
	in.meter.left = maxValueBytes
	err := in.dec.Decode(v)
	if _, other := errors.AsType[*json.UnmarshalTypeError](err); other {
		return nil
	}
	return torn(err)
}

// end checks that nothing follows.
func (in *document) end() error {
	_, err := in.dec.Token()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return errors.New("something follows the JSON")
	}
	return err
}

// torn names the error of an answer that stops too early by what it means.
func torn(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// nodeRow is a node as Ironic writes it. Of a value of another type nothing is kept.
type nodeRow struct {
	UUID         string `json:"uuid"`
	Name         string `json:"name"`
	State        string `json:"provision_state"`
	TargetState  string `json:"target_provision_state"`
	UpdatedAt    string `json:"provision_updated_at"`
	Reservation  any    `json:"reservation"`
	Group        string `json:"conductor_group"`
	Boot         string `json:"boot_interface"`
	Maintenance  bool   `json:"maintenance"`
	Fault        string `json:"fault"`
	LastError    string `json:"last_error"`
	InstanceUUID string `json:"instance_uuid"`
	Internal     struct {
		AgentURL  string `json:"agent_url"`
		Heartbeat string `json:"agent_last_heartbeat"`
	} `json:"driver_internal_info"`
	Instance struct {
		Hash     string `json:"image_os_hash_value"`
		Checksum string `json:"image_checksum"`
		Source   string `json:"image_source"`
	} `json:"instance_info"`
}

// node takes a row and returns what the throttle keeps of it; false for a row that cannot be told from others.
func (in *document) node() (Node, bool, error) {
	var r nodeRow
	if err := in.value(&r); err != nil || len(r.UUID) > maxKeyLen || strings.TrimSpace(r.UUID) == "" {
		return Node{}, false, err
	}
	image := cmp.Or(r.Instance.Hash, r.Instance.Checksum, r.Instance.Source)
	return Node{
		UUID: kept(r.UUID, maxKeyLen), Name: kept(r.Name, maxTextLen),
		State: State(shared(r.State)), TargetState: State(shared(r.TargetState)),
		ProvisionUpdatedAt: kept(r.UpdatedAt, maxTextLen),
		AgentURL:           strings.TrimSpace(r.Internal.AgentURL) != "",
		AgentHeartbeat:     kept(r.Internal.Heartbeat, maxTextLen),
		Locked:             r.Reservation != nil,
		ConductorGroup:     shared(r.Group), BootInterface: shared(r.Boot),
		Maintenance: r.Maintenance, Fault: shared(r.Fault), LastError: kept(r.LastError, maxErrorLen),
		InstanceUUID: kept(r.InstanceUUID, maxTextLen), Image: withoutSecrets(kept(image, maxTextLen)),
	}, true, nil
}

// kept is a text cut to at most limit bytes, with a blank for every character that cannot be printed: names, groups
// and errors end up in logs, in terminals and in metrics, where such a one would do something.
func kept(text string, limit int) string {
	if len(text) > limit {
		text = strings.Clone(cut(text, limit)) // lets go of the rest
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}

// shared is a text to keep that other rows have as well: it is in memory once.
func shared(text string) string { return unique.Make(kept(text, maxTextLen)).Value() }

// withoutSecrets takes user, password and query out of what resembles a URL, as where an image comes from may; other
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
