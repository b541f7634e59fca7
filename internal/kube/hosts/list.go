package hosts

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	// pageLimit is the number of hosts that a page may have, some 5 MB of them. It is for
	// the API server's sake; we hold one host of a page at a time.
	pageLimit = 250
	// pageTimeout bounds one page, client-go's pauses for a server that is busy included.
	pageTimeout = time.Minute
)

// list reads all hosts of the namespace, page by page, and shows each one in the directory
// as it is read: a host that is there, is there, even if the list comes to nothing later.
// Those that went are found by Replace, after the last page.
//
// Of the options nothing is used. The resource version is always "", for a page limit
// counts nowhere else: asked for "0" or for one of its own, the server sends all hosts in
// one answer. It also makes the list newer than all that was seen before, so it may be
// shown while it is read.
//
// A continue token that expired fails the list, and the Reflector begins a new one. The
// API offers to go on with what is there now; but then no resource version would tell from
// where to watch, and what changed between the two would be lost.
func (w *watcher) list(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	w.listing.Lock()
	defer w.listing.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w.lists++
	if !w.checks { // else this is the same check, of which a part was read
		w.checks, w.news = w.pulse.due(), false
	}
	answer := &metav1.PartialObjectMetadataList{} // no items, on purpose
	for next := ""; ; {
		page, err := w.page(ctx, next)
		if err == nil && page.next != "" && page.next == next {
			err = errors.New("a page of the list of BareMetalHosts refers to itself")
		}
		if err != nil {
			if ctx.Err() == nil {
				w.health.fails(err)
			}
			return nil, err
		}
		answer.ResourceVersion = page.version
		if next = page.next; next == "" {
			return answer, nil
		}
	}
}

// page is what a page says about the list.
type page struct{ version, next string }

func (w *watcher) page(ctx context.Context, next string) (page, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	ask := w.request().Param("limit", strconv.Itoa(pageLimit))
	if next != "" {
		ask = ask.Param("continue", next)
	}
	stream, err := ask.Stream(ctx)
	if err != nil {
		return page{}, err
	}
	defer stream.Close()
	p, err := w.readPage(newBody(stream))
	if err != nil {
		return page{}, fmt.Errorf("list of BareMetalHosts: %w", err)
	}
	return p, nil
}

// readPage shows the hosts of a page while it reads it. What is not a whole page of
// BareMetalHosts is an error: it must not pass for a list on which many are missing.
func (w *watcher) readPage(b *body) (page, error) {
	var p page
	var kind string
	items := false
	parser := newParser()
	dec := jsontext.NewDecoder(b, lenient...)
	err := eachField(dec, func(name []byte) error {
		switch string(name) {
		case "kind":
			raw, err := dec.ReadValue()
			kind = string(bytes.Trim(raw, `"`))
			return err
		case "metadata":
			raw, err := dec.ReadValue()
			if err != nil {
				return err
			}
			p, err = parser.readPageMeta(raw)
			return err
		case "items":
			items = true
			return w.readItems(b, dec, parser)
		}
		return dec.SkipValue()
	})
	if err != nil {
		return page{}, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return page{}, errors.New("something follows the JSON")
	}
	if kind != listKind || !items || p.version == "" {
		return page{}, fmt.Errorf("the answer is no list of BareMetalHosts: kind %q, resourceVersion %q, items %v", short(kind), p.version, items)
	}
	return p, nil
}

func (w *watcher) readItems(b *body, dec *jsontext.Decoder, parser *parser) error {
	if dec.PeekKind() == 'n' { // how Go writes a list of none
		return dec.SkipValue()
	}
	if err := expect(dec, '['); err != nil {
		return err
	}
	for dec.PeekKind() != ']' {
		b.part()
		raw, err := dec.ReadValue()
		if err != nil {
			return err
		}
		o, err := parser.read(raw)
		if err != nil {
			return err
		}
		w.show(o)
	}
	b.part()
	return expect(dec, ']')
}

func (p *parser) readPageMeta(raw []byte) (meta page, err error) {
	p.start(raw)
	err = p.object("metadata", func(name []byte) (err error) {
		switch string(name) {
		case "resourceVersion":
			meta.version, err = p.text("metadata.resourceVersion")
		case "continue":
			meta.next, err = p.text("metadata.continue")
		default:
			err = p.skip()
		}
		return err
	})
	return meta, cmp.Or(err, p.fault)
}
