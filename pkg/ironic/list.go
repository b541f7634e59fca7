package ironic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// List returns all nodes in one provision state, each once and in Ironic's
// order, over as many pages as it takes. Any failure is a failure of the whole
// list: a part of it is never returned (GC-14).
//
// The pages are ours to turn (LH-37). gophercloud's pager looks for nodes_links
// and stops after the first page, Ironic's own next link forgets the filter;
// so each page is asked for with the filter and the last uuid as marker.
func (c *Client) List(ctx context.Context, state State) ([]Node, error) {
	nodes, err := c.listOnce(ctx, state)
	if errors.Is(err, errMarkerGone) {
		nodes, err = c.listOnce(ctx, state)
	}
	if err != nil {
		return nil, err
	}
	return nodes, nil
}

// errMarkerGone marks a list that broke because the last node of a page was
// deleted before the next page was read.
var errMarkerGone = errors.New("the node with which the last page ended is gone")

// listOnce reads the pages of one list.
func (c *Client) listOnce(ctx context.Context, state State) ([]Node, error) {
	v, err := c.negotiate(ctx)
	if err != nil {
		return nil, err
	}
	var nodes []Node
	at := make(map[string]int) // uuid → index in nodes
	marker := ""
	for {
		p, r, err := c.page(ctx, v, state, marker)
		if err != nil {
			if marker != "" && isStatus(err, http.StatusNotFound) {
				return nil, fmt.Errorf("%w: %w", errMarkerGone, err)
			}
			return nil, err
		}
		known := len(nodes)
		for _, n := range p.nodes {
			if n.State == "" { // unreadable; it is in this list because of its state
				n.State = state
			}
			if i, ok := at[n.UUID]; ok {
				nodes[i] = n
				continue
			}
			at[n.UUID] = len(nodes)
			nodes = append(nodes, n)
		}
		// A page is short when it has fewer rows than we asked for and nothing
		// is said to follow: Ironic's max_limit may be lower than ours, and a
		// next link may be missing.
		if p.rows < pageLimit && !p.more {
			return nodes, nil
		}
		if len(nodes) == known {
			c.count.list.errors.Add(1)
			return nil, answerError(r.what(), errors.New("a page that goes on brings no new node"))
		}
		marker = p.last
	}
}

// page reads one page of a list.
func (c *Client) page(ctx context.Context, v Version, state State, marker string) (page, request, error) {
	// %20 and not +, which is how every client of Ironic writes a space.
	filter := strings.ReplaceAll(url.QueryEscape(string(state)), "+", "%20")
	query := "provision_state=" + filter + "&limit=" + strconv.Itoa(pageLimit)
	if marker != "" {
		query += "&marker=" + url.QueryEscape(marker)
	}
	r := request{
		tally: &c.count.list, version: v.String(),
		path: "nodes?" + query + "&fields=" + v.fields(c.more...),
	}
	var p page
	err := c.get(ctx, r, func(_ http.Header, body io.Reader) (err error) {
		p, err = decodePage(body)
		return err
	})
	if err == nil && p.skipped > 0 {
		// Somebody is at work there, and we cannot tell who: such a list is none.
		c.count.list.errors.Add(1)
		err = answerError(r.what(), fmt.Errorf("%d of %d rows name no node", p.skipped, p.rows))
	}
	return p, r, err
}
