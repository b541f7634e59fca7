package ironic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unique"
)

// page is what the answer to a list has beside its nodes.
type page struct {
	rows int
	more bool // it has a next link
}

// decodePage reads a list of nodes, one row at a time, and passes each to take. It accepts unknown fields, nulls,
// values of another type, and texts of any length. It returns an error unless the JSON is complete and has a list named
// nodes: half a list must never count as a whole one.
func decodePage(r io.Reader, take func(Node) error) (p page, err error) {
	d := newDocument(r)
	found := false
	d.expect(json.Delim('{'))
	for d.more() {
		switch d.token() {
		case "nodes":
			found = true
			d.expect(json.Delim('['))
			for d.more() {
				if n := d.node(); d.err == nil {
					p.rows++
					d.err = take(n)
				}
			}
			d.expect(json.Delim(']'))
		case "next":
			var next any
			d.value(&next)
			text, _ := next.(string)
			p.more = text != ""
		default:
			d.value(&struct{}{})
		}
	}
	d.expect(json.Delim('}'))
	if d.end(); d.err == nil && !found {
		d.err = errors.New("no list named nodes")
	}
	if d.err != nil {
		return page{}, d.err
	}
	return p, nil
}

// decodeNode reads a single node.
func decodeNode(r io.Reader) (Node, error) {
	d := newDocument(r)
	n := d.node()
	d.end()
	return n, d.err
}

// document reads JSON value by value. Each value is in memory as a whole, so its length is bounded. After an error, all
// methods do nothing.
type document struct {
	dec  *json.Decoder
	left *io.LimitedReader // bounds one value
	err  error
	row  nodeRow // the last row; one for all saves memory
}

func newDocument(r io.Reader) *document {
	left := &io.LimitedReader{R: r}
	return &document{dec: json.NewDecoder(left), left: left}
}

// more reports whether the list or the object has another value.
func (d *document) more() bool {
	d.left.N = maxValueBytes
	return d.err == nil && d.dec.More()
}

// token reads one token.
func (d *document) token() json.Token {
	if d.err != nil {
		return nil
	}
	d.left.N = maxValueBytes
	t, err := d.dec.Token()
	d.fail(err)
	return t
}

// expect reads one token, which must be want.
func (d *document) expect(want json.Delim) {
	if t := d.token(); d.err == nil && t != want {
		d.err = fmt.Errorf("%v is missing", want)
	}
}

// value reads a value into v, without the parts whose types differ.
func (d *document) value(v any) {
	if d.err != nil {
		return
	}
	d.left.N = maxValueBytes
	err := d.dec.Decode(v)
	if _, other := errors.AsType[*json.UnmarshalTypeError](err); !other {
		d.fail(err)
	}
}

// end checks that the document ends here.
func (d *document) end() {
	if d.err != nil {
		return
	}
	if _, err := d.dec.Token(); err == nil {
		d.err = errors.New("more text follows the JSON")
	} else if !errors.Is(err, io.EOF) {
		d.err = err
	}
}

// fail keeps err, or the error that it means.
func (d *document) fail(err error) {
	switch {
	case err == nil:
	case d.left.N <= 0:
		d.err = fmt.Errorf("one value is longer than %d bytes", maxValueBytes)
	default:
		d.err = err
	}
}

// nodeRow is a node as Ironic writes it.
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
}

// node reads a row and returns what the throttle keeps of it. A row without a UUID is an error: a node may be at work,
// and nobody knows which.
func (d *document) node() Node {
	d.row = nodeRow{}
	d.value(&d.row)
	r := &d.row
	if d.err == nil && (len(r.UUID) > maxKeyLen || strings.TrimSpace(r.UUID) == "") {
		d.err = errors.New("a row names no node")
	}
	n := Node{
		UUID: kept(r.UUID, maxKeyLen), Name: kept(r.Name, maxTextLen),
		State: State(shared(r.State)), TargetState: State(shared(r.TargetState)),
		ProvisionUpdatedAt: kept(r.UpdatedAt, maxTextLen),
		AgentURL:           strings.TrimSpace(r.Internal.AgentURL) != "",
		AgentHeartbeat:     kept(r.Internal.Heartbeat, maxTextLen),
		Locked:             r.Reservation != nil,
		ConductorGroup:     shared(r.Group), BootInterface: shared(r.Boot),
		Maintenance: r.Maintenance, Fault: shared(r.Fault), LastError: kept(r.LastError, maxErrorLen),
		InstanceUUID: kept(r.InstanceUUID, maxTextLen),
	}
	return n
}

// kept returns text, cut to at most limit bytes, with a blank for each unprintable character: texts of Ironic end up in
// logs, terminals and metrics, where control characters have effects.
func kept(text string, limit int) string {
	if len(text) > limit {
		text = strings.Clone(cut(text, limit)) // frees the memory of the rest
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}

// shared returns text as kept does. Equal texts are in memory once.
func shared(text string) string { return unique.Make(kept(text, maxTextLen)).Value() }
