package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
)

// touch is what a write may change of what is read of nodes: that of one node, by its UUID,
// of all, or of none that there is.
type touch struct {
	node string
	all  bool
}

// uuidForm is the one spelling of a UUID that names a node for sure.
var uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)

// touched tells what a write may change: all, unless it is known to be less. Names do not
// tell, for they move from node to node. prefix is the path of the endpoint, escaped.
// testdata/bmo-requests.txt has what BMO writes.
func touched(r *http.Request, prefix string) touch {
	all := touch{all: true}
	if r.Method == http.MethodPost && r.URL.RawQuery == "" && r.URL.Opaque == "" {
		switch strings.TrimPrefix(r.URL.EscapedPath(), prefix) {
		case "/v1/ports":
			if node, ok := bodyField(r, "node_uuid"); ok && uuidForm.MatchString(node) {
				return touch{node: node}
			}
			return all
		case "/v1/nodes": // the new node's; without a UUID it gets one that nobody has asked for
			node, ok := bodyField(r, "uuid")
			if !ok || node != "" && !uuidForm.MatchString(node) {
				return all
			}
			return touch{node: node}
		}
	}
	if node := writtenNode(r, prefix); node != "" {
		return touch{node: node}
	}
	return all
}

// writtenNode is the UUID of the node that a path names, "" where it names none for sure.
func writtenNode(r *http.Request, prefix string) string {
	path := strings.TrimPrefix(r.URL.EscapedPath(), prefix)
	if r.URL.Opaque != "" || strings.Contains(path, "%") {
		return ""
	}
	parts := strings.Split(path, "/")
	if len(parts) < 4 || parts[0] != "" || parts[1] != "v1" || parts[2] != "nodes" && parts[2] != "heartbeat" || !uuidForm.MatchString(parts[3]) {
		return ""
	}
	for _, part := range parts[4:] {
		if part == "." || part == ".." {
			return ""
		}
	}
	return parts[3]
}

// bodyField returns a text at the top of the JSON object in a small body, "" where it has
// none of that name; false where the body cannot be read, or others could read it otherwise.
func bodyField(r *http.Request, name string) (text string, ok bool) {
	if r.GetBody == nil || r.ContentLength <= 0 || r.ContentLength > spoolMemory || mediaType(r.Header) != jsonType {
		return "", false
	}
	body, err := r.GetBody()
	if err != nil {
		return "", false
	}
	defer func() { _ = body.Close() }()
	whole, err := io.ReadAll(io.LimitReader(body, spoolMemory))
	if err != nil || int64(len(whole)) != r.ContentLength {
		return "", false
	}
	found := false
	err = members(whole, func(key string, value json.RawMessage) error {
		if key != name {
			return nil
		}
		if found || value[0] != '"' {
			return errNotJSON
		}
		found = true
		return json.Unmarshal(value, &text)
	})
	return text, err == nil
}

// members calls each with what a JSON object has at its top.
func members(text []byte, each func(key string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errNotJSON
	}
	for d.More() {
		t, err := d.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return errNotJSON
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return errNotJSON
		}
		if err := each(key, value); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return errNotJSON
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errNotJSON // something follows
	}
	return nil
}
