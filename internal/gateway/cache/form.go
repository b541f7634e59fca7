package cache

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/request"
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
		if f.base, ok = strings.CutSuffix(n.Links[0].Href, "/v1/nodes/"+n.UUID); !ok || f.base == "" || !request.PlainText(f.base) {
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
	if !request.PlainText(n.UUID) || !request.PlainText(n.Name) || !request.PlainText(string(n.State)) || !request.PlainText(n.BootInterface) {
		return b, false
	}
	b = appendText(add(b, `{"uuid": "`, n.UUID, `", "name": `), n.Name)
	b = appendText(add(b, `, "provision_state": `), string(n.State))
	b = appendText(add(b, `, "boot_interface": `), n.BootInterface)
	return add(b, `, "links": [{"href": "`, f.base, "/v1/nodes/", n.UUID, `", "rel": "self"}, {"href": "`,
		f.base, "/nodes/", n.UUID, `", "rel": "bookmark"}]}`), true
}

// next appends the link to the page behind the node with that UUID.
func (f form) next(b []byte, limit int, uuid string) []byte {
	return add(b, `, "next": "`, f.base, "/v1/nodes?sort_key=id&sort_dir=asc&fields="+capacityFields+"&limit=",
		strconv.Itoa(limit), "&marker=", uuid, `"`)
}

// appendText appends a text that stands for itself, or null.
func appendText(b []byte, text string) []byte {
	if text == "" {
		return append(b, "null"...)
	}
	return add(b, `"`, text, `"`)
}

func add(b []byte, texts ...string) []byte {
	for _, text := range texts {
		b = append(b, text...)
	}
	return b
}

// clients remembers for kindMaxAge which kinds of clients Ironic lets in, and how it
// writes lists for them. The zero value is ready. Safe for concurrent use.
type clients struct {
	mu    sync.Mutex // guards known, not the knocks in it once they are done
	known map[clientKind]*knock
}

// clientKind is all on which it depends.
type clientKind struct {
	who   request.Credentials
	host  string // that they call us; Ironic builds its links from it
	tls   bool   // they reach us so, which may be told to Ironic
	minor int    // API version 1.minor
}

// knock is one question to Ironic, and its answer for all who wait for it.
type knock struct {
	at   time.Time
	done chan struct{} // closed at the end; the rest is set then
	form form
	ok   bool
}

// worth reports whether nothing needs to be asked anew. A no is good for less long.
func (k *knock) worth(now time.Time) bool {
	select {
	case <-k.done:
	default:
		return true // on its way
	}
	age := now.Sub(k.at)
	return age >= 0 && (k.ok && age <= kindMaxAge || !k.ok && age <= noMaxAge)
}

// formFor is how Ironic writes lists for the client of r, once it has let it in within
// kindMaxAge; false if it has not, or writes them otherwise.
func (l *Lists) formFor(ctx context.Context, r *http.Request, minor int) (form, bool) {
	kind := clientKind{who: request.CredentialsOf(r.Header), host: r.Host, tls: r.TLS != nil, minor: minor}
	k, mine := l.clients.knockOf(time.Now(), kind)
	if mine {
		l.ask(ctx, r, kind, k)
	}
	select {
	case <-k.done:
		return k.form, k.ok
	case <-ctx.Done():
		return form{}, false
	}
}

// knockOf returns the question about a kind of clients, and whether the caller must ask it.
func (c *clients) knockOf(now time.Time, kind clientKind) (k *knock, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.known[kind]; k != nil && k.worth(now) {
		return k, false
	}
	if _, ok := c.known[kind]; c.known == nil || !ok && len(c.known) >= maxKinds {
		c.known = map[clientKind]*knock{}
	}
	k = &knock{at: now, done: make(chan struct{})}
	c.known[kind] = k
	return k, true
}

// ask knocks for all who wait, so whoever asked first may go away meanwhile.
func (l *Lists) ask(ctx context.Context, r *http.Request, kind clientKind, k *knock) {
	defer close(k.done)
	ctx, cancel := l.proxy.Bound(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	answer, err := l.proxy.AskAs(ctx, r, "fields="+capacityFields+"&limit=1")
	if err != nil || answer.Status != http.StatusOK {
		return // the client's own request gets the answer
	}
	l.proxy.Admit(k.at, kind.who)
	k.form, k.ok = learnForm(answer.Header, answer.Body)
	if k.ok {
		return
	}
	if more, tell := l.unlike.Tell(k.at); tell {
		l.log.Info("gateway: this Ironic writes lists in another form, so capacity checks are not answered from the cache", "before", more)
	}
}
