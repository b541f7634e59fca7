package bmo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"
)

// firstPage is what gophercloud's pager makes of a list: it looks for
// nodes_links, Ironic sends next, so one page is all. The nodes must not be
// changed.
func (c *Client) firstPage(ctx context.Context, fields string) ([]node, error) {
	text, err := c.send(ctx, http.MethodGet, "/v1/nodes?fields="+url.QueryEscape(fields), nil)
	if err != nil {
		return nil, err
	}
	return c.list.decode(text)
}

// list remembers the last list of nodes. One is asked for with each check, and to
// decode each of them would cost more than the whole rest of a storm. It is safe
// for concurrent use.
type list struct {
	mu    sync.Mutex // guards all below
	text  []byte
	nodes []node // what text says
}

func (l *list) decode(text []byte) ([]node, error) {
	l.mu.Lock()
	nodes, same := l.nodes, len(l.text) > 0 && bytes.Equal(text, l.text)
	l.mu.Unlock()
	if same {
		return nodes, nil
	}
	var page struct {
		Nodes []node `json:"nodes"`
	}
	if err := json.Unmarshal(text, &page); err != nil {
		return nil, fmt.Errorf("list of nodes: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text, l.nodes = text, page.Nodes
	return page.Nodes, nil
}
