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

// page is what an answer to a list tells besides its nodes.
type page struct {
	rows int
	more bool // there was a next link
}

// decodePage reads a list of nodes as it comes, one row at a time. It tolerates whatever is not needed: unknown
// fields, nulls, values of another type, texts of any length. What it does need are whole JSON and a list named nodes;
// an answer without them is an error, because half a list must never be taken for a whole one.
func decodePage(r io.Reader, take func(Node) error) (p page, err error) {
	in := newDocument(r)
	found := false
	in.expect(json.Delim('{'))
	for in.more() {
		switch in.token() {
		case "nodes":
			found = true
			in.expect(json.Delim('['))
			for in.more() {
				if n := in.node(); in.err == nil {
					p.rows++
					in.err = take(n)
				}
			}
			in.expect(json.Delim(']'))
		case "next":
			var next any
			in.value(&next)
			text, _ := next.(string)
			p.more = text != ""
		default:
			in.value(&struct{}{})
		}
	}
	in.expect(json.Delim('}'))
	if in.end(); in.err == nil && !found {
		in.err = errors.New("no list named nodes")
	}
	if in.err != nil {
		return page{}, in.err
	}
	return p, nil
}

// decodeNode reads a single node.
func decodeNode(r io.Reader) (Node, error) {
	in := newDocument(r)
	n := in.node()
	in.end()
	return n, in.err
}

// document is JSON that is read value by value. Each value is in memory as a whole, so it is bounded. After an error
// nothing more is read.
type document struct {
	dec  *json.Decoder
	left *io.LimitedReader // of one value
	err  error
	row  nodeRow // one for all, which spares memory
}

func newDocument(r io.Reader) *document {
	left := &io.LimitedReader{R: r}
	return &document{dec: json.NewDecoder(left), left: left}
}

// more reports whether a list or an object goes on.
func (in *document) more() bool {
	in.left.N = maxValueBytes
	return in.err == nil && in.dec.More()
}

// token takes one token.
func (in *document) token() json.Token {
	if in.err != nil {
		return nil
	}
	in.left.N = maxValueBytes
	t, err := in.dec.Token()
	in.fail(err)
	return t
}

// expect takes one delimiter.
func (in *document) expect(want json.Delim) {
	if t := in.token(); in.err == nil && t != want {
		in.err = fmt.Errorf("no %v where one must be", want)
	}
}

// value takes a value as far as it has the types of v.
func (in *document) value(v any) {
	if in.err != nil {
		return
	}
	in.left.N = maxValueBytes
	err := in.dec.Decode(v)
	if _, other := errors.AsType[*json.UnmarshalTypeError](err); !other {
		in.fail(err)
	}
}

// end checks that nothing follows.
func (in *document) end() {
	if in.err != nil {
		return
	}
	if _, err := in.dec.Token(); err == nil {
		in.err = errors.New("something follows the JSON")
	} else if !errors.Is(err, io.EOF) {
		in.err = err
	}
}

// fail keeps an error, and names that of an answer that stops too early by what it means.
func (in *document) fail(err error) {
	switch {
	case err == nil:
	case in.left.N <= 0:
		in.err = fmt.Errorf("one value is longer than %d bytes", maxValueBytes)
	case errors.Is(err, io.EOF):
		in.err = io.ErrUnexpectedEOF
	default:
		in.err = err
	}
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
}

// node takes a row and returns what the throttle keeps of it. A row that names no node is an error: somebody is there,
// and we cannot tell who.
func (in *document) node() Node {
	in.row = nodeRow{}
	in.value(&in.row)
	r := &in.row
	if in.err == nil && (len(r.UUID) > maxKeyLen || strings.TrimSpace(r.UUID) == "") {
		in.err = errors.New("a row names no node")
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
