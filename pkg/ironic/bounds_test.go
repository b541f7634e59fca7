package ironic

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// hostile is a Client of an Ironic that answers every list with what write writes.
func hostile(t *testing.T, write func(w io.Writer)) *Client {
	t.Helper()
	return client(t, always(func() *http.Response {
		out, in := io.Pipe()
		go func() {
			write(in)
			_ = in.Close()
		}()
		resp := reply(http.StatusOK, "")
		resp.Body = out
		return resp
	}))
}

// writeRows writes so many nodes that it never wrote before, from *next on.
func writeRows(w io.Writer, next *int, n int, more string) {
	var b bytes.Buffer
	b.WriteString(`{"nodes": [`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		*next++
		head, tail, _ := strings.Cut(more, "#")
		id := strconv.Itoa(*next)
		b.WriteString(`{"uuid": "u` + id + `", "provision_state": "deploying"` + head)
		if tail != "" {
			b.WriteString(id + tail)
		}
		b.WriteByte('}')
	}
	b.WriteString(`], "next": "more"}`)
	_, _ = w.Write(b.Bytes())
}

// What an Ironic without bounds sends is refused, and little of it is kept.
func TestListsWithoutAnEndAreRefused(t *testing.T) {
	whole(t)
	long := strings.Repeat("e", maxErrorLen-10)
	for _, row := range []struct {
		name, want string
		write      func(io.Writer)
		read       func(*Client) error
	}{
		{"busy nodes with long errors", "bytes", pagesOf(`, "last_error": "#` + long + `"`), listAll},
		{"all nodes, each in a group of its own", "bytes", pagesOf(`, "conductor_group": "#` + long + `"`), catalogAll},
		{"one row without an end", "one value is longer", endlessText(`{"nodes": [{"uuid": "u", "last_error": "`), listAll},
		{"one node without an end", "one value is longer", endlessText(`{"uuid": "u", "last_error": "`), nodeAlone},
		{"the same of all nodes", "one value is longer", endlessText(`{"nodes": [{"name": "`), catalogAll},
		{"an unknown field without an end", "one value is longer", endlessText(`{"x": "`), listAll},
		{"fields without an end", "the answer is longer", endless(`{`, `"x": "`+strings.Repeat("x", 64<<10)+`",`), listAll},
		{"the name of a field", "one value is longer", endlessText(`{"`), listAll},
		{"more changes than were asked for", "were asked for", pagesOf(""), func(c *Client) error {
			_, _, err := c.Newest(t.Context())
			return err
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := row.read(hostile(t, row.write))
			if err == nil || !strings.Contains(err.Error(), row.want) || CauseOf(err) != CauseAnswer {
				t.Errorf("%v, want %q", err, row.want)
			}
		})
	}
}

// whole skips what reads very many nodes where a part is wanted: one goroutine decodes them, which the
// race detector makes ten times slower. make test reads them without it.
func whole(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("many nodes")
	}
}

func pagesOf(more string) func(io.Writer) {
	next := 0
	return func(w io.Writer) { writeRows(w, &next, 1000, more) }
}

func endlessText(begin string) func(io.Writer) { return endless(begin, strings.Repeat("x", 64<<10)) }

func endless(begin, block string) func(io.Writer) {
	return func(w io.Writer) {
		_, err := io.WriteString(w, begin)
		for err == nil {
			_, err = io.WriteString(w, block)
		}
	}
}

func listAll(c *Client) error {
	_, err := c.List(context.Background(), Deploying)
	return err
}

func nodeAlone(c *Client) error {
	_, _, err := c.Node(context.Background(), "u")
	return err
}

func catalogAll(c *Client) error {
	_, err := c.Catalog(context.Background())
	return err
}

// Lists that are read side by side hold no more together than one alone. What is read gives its part back.
func TestListsSideBySideShareTheirBound(t *testing.T) {
	var held atomic.Int64
	node := Node{UUID: strings.Repeat("u", 36), LastError: strings.Repeat("e", maxErrorLen)}
	var nodes []Node
	for err := error(nil); err == nil; err = hold(&held, node) {
		nodes = append(nodes, node)
	}
	if each := maxLookBytes / maxErrorLen; len(nodes) > each {
		t.Errorf("%d nodes of 4 KiB and more fit, %d would be the bound", len(nodes), each)
	}
	c := client(t, newWire(row("a", Deploying)))
	if err := listAll(c); err != nil || c.reading.Load() != 0 {
		t.Errorf("%v, the client still holds %d bytes", err, c.reading.Load())
	}
}

// 100,000 nodes at work, with all that a real one tells of itself, are no fault.
func TestListsOf100000NodesFit(t *testing.T) {
	n := Node{
		UUID: strings.Repeat("u", 36), Name: strings.Repeat("n", 60), ProvisionUpdatedAt: strings.Repeat("t", 32),
		AgentHeartbeat: strings.Repeat("t", 26), State: DeployWait, TargetState: "active", InstanceUUID: strings.Repeat("i", 36),
		LastError: strings.Repeat("e", 150), ConductorGroup: "rack-01", BootInterface: "redfish-virtual-media",
	}
	if all := 100_000 * n.size(); all > maxLookBytes {
		t.Errorf("they take %d bytes", all)
	}
	if size := reflect.TypeFor[Node]().Size(); size > nodeBytes {
		t.Errorf("a Node takes %d bytes, not %d", size, nodeBytes)
	}
}
