package ironic

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
)

// bounded cuts every answer off at its bound: gophercloud reads the body of an error whole, and a page is read by us.
// What counts is the unpacked length.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxPageBytes)
		return resp, nil
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxErrorBytes), resp.Body}
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

// size is what n takes.
func (n Node) size() int64 {
	return int64(nodeBytes + len(n.UUID) + len(n.Name) + len(n.ProvisionUpdatedAt) + len(n.AgentHeartbeat) +
		len(n.State) + len(n.TargetState) + len(n.ConductorGroup) + len(n.BootInterface) + len(n.Fault) +
		len(n.LastError) + len(n.InstanceUUID))
}

// hold adds nodes to what is held of lists so far: an Ironic that answers without end must not fill our memory.
func hold(held *atomic.Int64, nodes ...Node) error {
	for _, n := range nodes {
		if held.Add(n.size()) > maxLookBytes {
			return fmt.Errorf("the nodes take more than %d bytes", maxLookBytes)
		}
	}
	return nil
}
