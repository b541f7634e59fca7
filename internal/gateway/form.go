package gateway

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/internal/inventory"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// form is how this Ironic writes the capacity list for a kind of client, learnt from an
// answer of its own.
type form struct {
	base   string // of links: scheme and host, or what Ironic puts instead; "" = not known yet
	header http.Header
}

// formHeaders are those of a list that are the same in the next one.
var formHeaders = []string{
	"Content-Type", "X-Openstack-Ironic-Api-Version",
	"X-Openstack-Ironic-Api-Minimum-Version", "X-Openstack-Ironic-Api-Maximum-Version",
}

// learnForm reads Ironic's answer to a capacity list of at most one node. It is believed
// only where the same answer, written anew from what it says, is the same to the byte:
// an Ironic that writes otherwise, or whose links go by another rule, answers for itself.
func learnForm(header http.Header, body []byte) (form, bool) {
	f := form{header: http.Header{}}
	for _, name := range formHeaders {
		if values, ok := header[name]; ok {
			f.header[name] = values
		}
	}
	var list struct {
		Nodes []struct {
			UUID  string `json:"uuid"`
			Name  string `json:"name"`
			State string `json:"provision_state"`
			Boot  string `json:"boot_interface"`
			Links []struct{ Href string }
		}
	}
	if json.Unmarshal(body, &list) != nil || len(list.Nodes) > 1 || header.Get("Content-Encoding") != "" {
		return form{}, false
	}
	again := append([]byte(nil), listBegin...)
	if len(list.Nodes) == 1 {
		n := list.Nodes[0]
		if len(n.Links) == 0 {
			return form{}, false
		}
		var ok bool
		if f.base, ok = strings.CutSuffix(n.Links[0].Href, "/v1/nodes/"+n.UUID); !ok || f.base == "" || !plainText(f.base) {
			return form{}, false
		}
		entry := ironic.Entry{UUID: n.UUID, Name: n.Name, State: ironic.State(n.State), BootInterface: n.Boot}
		if again, ok = f.row(again, entry); !ok {
			return form{}, false
		}
		again = append(again, ']')
		again = f.next(again, 1, n.UUID)
	} else {
		again = append(again, ']')
	}
	return f, bytes.Equal(append(again, '}'), body)
}

const listBegin = `{"nodes": [`

// write appends a page as Ironic would write it; false where that cannot be told.
func (f form) write(b []byte, nodes inventory.View, p page) ([]byte, bool) {
	if f.base == "" && p.to > p.from {
		return b, false
	}
	b = append(b, listBegin...)
	for i := p.from; i < p.to; i++ {
		if i > p.from {
			b = append(b, ", "...)
		}
		var ok bool
		if b, ok = f.row(b, nodes.At(i)); !ok {
			return b, false
		}
	}
	b = append(b, ']')
	if p.next > 0 {
		b = f.next(b, p.next, nodes.At(p.to-1).UUID)
	}
	return append(b, '}'), true
}

// row appends one node; false where Ironic might write one of its texts otherwise.
func (f form) row(b []byte, n ironic.Entry) ([]byte, bool) {
	if !plainText(n.UUID) || !plainText(n.Name) || !plainText(string(n.State)) || !plainText(n.BootInterface) {
		return b, false
	}
	b = append(b, `{"uuid": "`...)
	b = append(b, n.UUID...)
	b = append(b, `", "name": `...)
	b = appendText(b, n.Name)
	b = append(b, `, "provision_state": `...)
	b = appendText(b, string(n.State))
	b = append(b, `, "boot_interface": `...)
	b = appendText(b, n.BootInterface)
	b = append(b, `, "links": [{"href": "`...)
	b = append(b, f.base...)
	b = append(b, "/v1/nodes/"...)
	b = append(b, n.UUID...)
	b = append(b, `", "rel": "self"}, {"href": "`...)
	b = append(b, f.base...)
	b = append(b, "/nodes/"...)
	b = append(b, n.UUID...)
	return append(b, `", "rel": "bookmark"}]}`...), true
}

// next appends the link to the page behind the node with that UUID.
func (f form) next(b []byte, limit int, uuid string) []byte {
	b = append(b, `, "next": "`...)
	b = append(b, f.base...)
	b = append(b, "/v1/nodes?sort_key=id&sort_dir=asc&fields="+capacityFields+"&limit="...)
	b = strconv.AppendInt(b, int64(limit), 10)
	b = append(b, "&marker="...)
	b = append(b, uuid...)
	return append(b, '"')
}

// appendText appends a text that stands for itself, or null.
func appendText(b []byte, text string) []byte {
	if text == "" {
		return append(b, "null"...)
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}

// plainText reports whether a text stands for itself in everybody's JSON. Names of nodes,
// states and interfaces always do.
func plainText(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
