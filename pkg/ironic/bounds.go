package ironic

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
)

// bounded bounds the body of every answer, after unpacking: gophercloud reads the body of an error as a whole.
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

// CloseIdleConnections closes those of the RoundTripper behind b.
func (b bounded) CloseIdleConnections() {
	if c, ok := b.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// nodeBytes is the memory of a Node without its texts.
const nodeBytes = 224

// size returns the memory of n, in bytes.
func (n Node) size() int64 {
	return int64(nodeBytes + len(n.UUID) + len(n.Name) + len(n.ProvisionUpdatedAt) + len(n.AgentHeartbeat) +
		len(n.State) + len(n.TargetState) + len(n.ConductorGroup) + len(n.BootInterface) + len(n.Fault) +
		len(n.LastError) + len(n.InstanceUUID))
}

// hold adds the size of nodes to held, the size of all lists so far, and returns an error if it is too large: an Ironic
// whose answers never end must not fill our memory.
func hold(held *atomic.Int64, nodes ...Node) error {
	for _, n := range nodes {
		if held.Add(n.size()) > maxLookBytes {
			return fmt.Errorf("the nodes take more than %d bytes", maxLookBytes)
		}
	}
	return nil
}
