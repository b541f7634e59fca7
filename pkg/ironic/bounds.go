package ironic

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
)

var (
	errTooLong   = errors.New("the answer is longer than is allowed")
	errLongValue = fmt.Errorf("one value is longer than %d bytes", maxValueBytes)
)

// bound fails with err, rather than ends, when more than left bytes come.
type bound struct {
	io.Reader
	left int64
	err  error
}

// Read implements io.Reader.
func (b *bound) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, b.err
	}
	// One byte more than is left tells a body of just that length from a longer one.
	n, err := b.Reader.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return n - 1, b.err
	}
	return n, err
}

// bounded cuts every answer off at its bound: gophercloud reads the body of an error whole, and a page is read by us.
// What counts is the unpacked length.
type bounded struct {
	next http.RoundTripper
	page int64 // bytes of a success
}

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body := io.LimitReader(resp.Body, maxErrorBytes)
	if resp.StatusCode == http.StatusOK {
		body = &bound{Reader: resp.Body, left: b.page, err: errTooLong}
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{body, resp.Body}
	return resp, nil
}

// CloseIdleConnections passes the wish on to the network.
func (b bounded) CloseIdleConnections() {
	if c, ok := b.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// nodeBytes is what a Node takes without its texts.
const nodeBytes = 224

// holding is what lists hold together so far: an Ironic that answers without end must not fill our memory. Lists that
// are read side by side share one. Safe for concurrent use.
type holding struct{ nodes, bytes atomic.Int64 }

// portion is what one list adds to a holding.
type portion struct {
	of   *holding
	mine holding
}

// alone is a list's portion that it shares with none.
func alone() *portion { return &portion{of: new(holding)} }

// add takes more nodes; the error names the bound that they break.
func (p *portion) add(more ...Node) error {
	var size int64
	for _, n := range more {
		size += int64(nodeBytes + len(n.UUID) + len(n.Name) + len(n.ProvisionUpdatedAt) + len(n.AgentHeartbeat) +
			len(n.State) + len(n.TargetState) + len(n.ConductorGroup) + len(n.BootInterface) + len(n.Fault) +
			len(n.LastError) + len(n.InstanceUUID) + len(n.Image))
	}
	p.mine.nodes.Add(int64(len(more)))
	p.mine.bytes.Add(size)
	switch nodes, bytes := p.of.nodes.Add(int64(len(more))), p.of.bytes.Add(size); {
	case nodes > maxNodes:
		return fmt.Errorf("more than %d nodes", maxNodes)
	case bytes > maxLookBytes:
		return fmt.Errorf("%d nodes take more than %d bytes", nodes, maxLookBytes)
	}
	return nil
}

// end takes it out again: the list is read, or given up.
func (p *portion) end() {
	p.of.nodes.Add(-p.mine.nodes.Load())
	p.of.bytes.Add(-p.mine.bytes.Load())
}
