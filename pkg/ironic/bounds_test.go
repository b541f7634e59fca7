package ironic_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// What an Ironic without bounds sends is refused, and little of it is kept.
func TestListsWithoutAnEndAreRefused(t *testing.T) {
	narrow(t)
	long := func(most int) string { return strings.Repeat("e", most-10) } // no more than is kept
	for _, row := range []struct {
		name, want string
		write      func(io.Writer) error
		read       func(context.Context, *ironic.Client) error
	}{
		{"busy nodes with long errors", "bytes", pages(50, `"last_error": "%d`+long(ironic.MaxErrorLen)+`"`), list},
		{"all nodes, each in a group of its own", "bytes", pages(50, `"conductor_group": "%d`+long(ironic.MaxTextLen)+`"`), catalog},
		{"one row without an end", "one value is longer", endless(`{"nodes": [{"uuid": "u", "last_error": "`, "x"), list},
		{"one node without an end", "one value is longer", endless(`{"uuid": "u", "last_error": "`, "x"), alone},
		{"an unknown field without an end", "one value is longer", endless(`{"x": "`, "x"), list},
		{"fields without an end", "the answer is longer", endless(`{`, `"x": "`+strings.Repeat("x", 4<<10)+`",`), list},
		{"the name of a field", "one value is longer", endless(`{"`, "x"), list},
		{"more changes than were asked for", "were asked for", pages(1000, `"name": "%d"`), newest},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := client(t, says(func() *http.Response {
				out, in := io.Pipe()
				go func() { _ = in.CloseWithError(row.write(in)) }()
				resp := reply(http.StatusOK, "")
				resp.Body = out
				return resp
			}))
			err := row.read(t.Context(), c)
			if err == nil || !strings.Contains(err.Error(), row.want) || ironic.CauseOf(err) != ironic.CauseAnswer {
				t.Errorf("%v, want %q", err, row.want)
			}
		})
	}
}

// narrow makes bounds small that it would take long to come near to.
func narrow(t *testing.T) {
	t.Helper()
	for _, bound := range []*int64{ironic.MaxPageBytes, ironic.MaxValueBytes, ironic.MaxLookBytes} {
		was := *bound
		t.Cleanup(func() { *bound = was })
		*bound /= 256
	}
}

// The lists of one poll share their bound.
func TestListsOfAPollWithoutAnEndAreRefused(t *testing.T) {
	narrow(t)
	nodes := slices.Repeat([]ironic.Node{{UUID: "u", LastError: strings.Repeat("e", 1024)}}, int(*ironic.MaxLookBytes/1500))
	for _, lists := range []map[ironic.State][]ironic.Node{{ironic.CleanWait: nodes}, {ironic.CleanWait: nodes, ironic.Deploying: nodes}} {
		err := poller(t, &source{lists: lists}, &view{}).PollOnce(t.Context())
		if (err == nil) != (len(lists) == 1) || err != nil && !strings.Contains(err.Error(), "the lists of all busy nodes") {
			t.Errorf("%d lists: %v", len(lists), err)
		}
	}
}

// pages writes, each time, a page of so many nodes that it never wrote before, each with a field that has its number in it.
func pages(length int, field string) func(io.Writer) error {
	next := 0
	return func(w io.Writer) error {
		rows := make([]string, length)
		for i := range rows {
			next++
			rows[i] = fmt.Sprintf(`{"uuid": "u%d", "provision_state": "deploying", `+field+`}`, next, next)
		}
		_, err := io.WriteString(w, `{"nodes": [`+strings.Join(rows, ",")+`], "next": "more"}`)
		return err
	}
}

func endless(begin, more string) func(io.Writer) error {
	more = strings.Repeat(more, max(1, 64<<10/len(more)))
	return func(w io.Writer) error {
		_, err := io.WriteString(w, begin)
		for err == nil {
			_, err = io.WriteString(w, more)
		}
		return err
	}
}

func list(ctx context.Context, c *ironic.Client) error {
	_, err := c.List(ctx, ironic.Deploying)
	return err
}

func catalog(ctx context.Context, c *ironic.Client) error {
	_, err := c.Catalog(ctx)
	return err
}

func alone(ctx context.Context, c *ironic.Client) error {
	_, _, err := c.Node(ctx, "u")
	return err
}

func newest(ctx context.Context, c *ironic.Client) error {
	_, _, err := c.Newest(ctx)
	return err
}

// What is read of a list gives its part of the bound back, whether all of it came or not.
func TestAListGivesItsRoomBack(t *testing.T) {
	f := newFake(t, 1, node("a", ironic.Deploying), node("b", ironic.Deploying))
	c := client(t, f)
	if err := list(t.Context(), c); err != nil || c.Held() != 0 {
		t.Errorf("%v, the client still holds %d bytes", err, c.Held())
	}
	held := int64(0)
	f.before = func(int, *http.Request) (*http.Response, error) {
		if held = max(held, c.Held()); held > 0 {
			return nil, errors.New("broken off")
		}
		return nil, nil
	}
	if err := list(t.Context(), c); err == nil || held == 0 || c.Held() != 0 {
		t.Errorf("%v; the client held %d bytes, and still holds %d", err, held, c.Held())
	}
}

// 100,000 nodes at work, with all that a real one tells of itself, are no fault.
func TestListsOf100000NodesFit(t *testing.T) {
	n := ironic.Node{
		UUID: strings.Repeat("u", 36), Name: strings.Repeat("n", 60), ProvisionUpdatedAt: strings.Repeat("t", 32),
		AgentHeartbeat: strings.Repeat("t", 26), State: ironic.DeployWait, TargetState: "active", InstanceUUID: strings.Repeat("i", 36),
		LastError: strings.Repeat("e", 150), ConductorGroup: "rack-01", BootInterface: "redfish-virtual-media",
	}
	if all := 100_000 * n.Size(); all > *ironic.MaxLookBytes {
		t.Errorf("they take %d bytes", all)
	}
	if size := reflect.TypeFor[ironic.Node]().Size(); size > ironic.NodeBytes {
		t.Errorf("a Node takes %d bytes, not %d", size, ironic.NodeBytes)
	}
}
