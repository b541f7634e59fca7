//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// spelling is one way of writing the request that starts work on a node.
type spelling struct {
	name string
	// state is where the node is before; "" is manageable, from where inspect
	// starts.
	state string
	// canonical are those that name the node and the target without any doubt: with
	// a free slot they must be carried out.
	canonical bool
	write     func(to) string // the whole request, for a node
	half      bool            // the client closes its side after the last byte
	// smuggled: the gateway reads another message than Ironic, so that Ironic must not
	// get it as it is, in no mode.
	smuggled bool
}

// to is whom a request is about, and where it goes.
type to struct{ id, name, host string }

// fill writes the names of t for $ID, $NAME and $HOST.
func (t to) fill(text string) string {
	return strings.NewReplacer("$ID", t.id, "$NAME", t.name, "$HOST", t.host).Replace(text)
}

// request is an ordinary one: what stands before the version in its first line, a
// Content-Type or "", a body, and more lines for the head.
func request(line, contentType, body string, more ...string) func(to) string {
	return func(t to) string {
		var b strings.Builder
		b.WriteString(t.fill(line) + " HTTP/1.1\r\nHost: " + t.host + "\r\nConnection: close\r\nX-OpenStack-Ironic-API-Version: 1.82\r\n")
		if contentType != "" {
			b.WriteString("Content-Type: " + contentType + "\r\n")
		}
		for _, header := range more {
			b.WriteString(t.fill(header) + "\r\n")
		}
		text := t.fill(body)
		if text != "" {
			fmt.Fprintf(&b, "Content-Length: %d\r\n", len(text))
		}
		return b.String() + "\r\n" + text
	}
}

// verbatim is a request that is not an ordinary one; lines end as they are written.
func verbatim(text string) func(to) string {
	return func(t to) string { return t.fill(text) }
}

// pass is one run over all spellings, each with a node of its own.
type pass struct {
	*lab
	prefix string // of the nodes' names
	uuids  []string
}

// newPass makes a node for each spelling, in its state and never changed since.
func (l *lab) newPass(prefix string) *pass {
	l.Helper()
	p := &pass{lab: l, prefix: prefix}
	batch := realironic.Batch{Count: len(spellings), Prefix: prefix, State: "manageable", Unmoved: true}
	if err := l.ironic.AddNodes(l.Context(), batch); err != nil {
		l.Fatal(err)
	}
	var others strings.Builder
	for i, s := range spellings {
		if s.state != "" {
			fmt.Fprintf(&others, "UPDATE nodes SET provision_state = '%s' WHERE name = '%s';\n", s.state, p.name(i))
		}
	}
	p.uuids = p.query(others.String() + "SELECT uuid FROM nodes WHERE name LIKE '" + prefix + "%' ORDER BY name;")
	return p
}

func (p *pass) name(i int) string { return fmt.Sprintf("%s%06d", p.prefix, i+1) }

// query returns rows of Ironic's database, as sqlite3 prints them.
func (l *lab) query(sql string) []string {
	l.Helper()
	out, err := l.ironic.SQL(l.Context(), sql)
	if err != nil {
		l.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(out, "\n"), "\n")
}

// spell sends those spellings that are wanted to an address and returns the first
// lines of the answers.
func (p *pass) spell(url string, wanted func(i int) bool) []string {
	p.Helper()
	const atOnce = 4
	answers := make([]string, len(spellings))
	var sent sync.WaitGroup
	next := make(chan int)
	for range atOnce {
		sent.Go(func() {
			for i := range next {
				answers[i] = p.send(url, i)
			}
		})
	}
	for i := range spellings {
		if wanted(i) {
			next <- i
		}
	}
	close(next)
	sent.Wait()
	return answers
}

func everyOne(int) bool { return true }

// bytesOf is what spelling i looks like on the wire.
func (p *pass) bytesOf(url string, i int) string {
	return spellings[i].write(to{id: p.uuids[i], name: p.name(i), host: hostOf(url)})
}

// send writes the bytes of a spelling and reads until the other side has nothing
// more to say. Ironic moves a node before it answers.
func (p *pass) send(url string, i int) string {
	const patience, silence = 10 * time.Second, time.Second
	conn, err := net.DialTimeout("tcp", hostOf(url), patience)
	if err != nil {
		p.Error(err)
		return ""
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, p.bytesOf(url, i)); err != nil {
		return err.Error() // hung up in the middle
	}
	if spellings[i].half {
		_ = conn.(*net.TCPConn).CloseWrite()
	}
	var all bytes.Buffer
	chunk := make([]byte, 32<<10)
	for {
		n, err := conn.Read(chunk)
		all.Write(chunk[:n])
		if err != nil {
			break
		}
		// A connection that stays open may bring a second answer.
		_ = conn.SetReadDeadline(time.Now().Add(silence))
	}
	line, _, _ := strings.Cut(all.String(), "\r\n")
	return line
}

// moved tells of each spelling whether Ironic has carried it out.
func (p *pass) moved() (moved []bool) {
	p.Helper()
	rows := p.query("SELECT provision_state, provision_updated_at IS NULL FROM nodes WHERE name LIKE '" + p.prefix + "%' ORDER BY name;")
	if len(rows) != len(spellings) {
		p.Fatalf("%d nodes, want %d", len(rows), len(spellings))
	}
	for i, row := range rows {
		state, untouched, _ := strings.Cut(row, "|")
		want := spellings[i].state
		if want == "" {
			want = "manageable"
		}
		moved = append(moved, untouched != "1" || state != want)
	}
	return moved
}

// soon lets a throttle settle in a moment: nothing changes while it starts.
var soon = []string{"IRONIC_THROTTLE_LINGER=1s"}

// TestSpellings holds that nothing gets round the gate that Ironic would
// carry out. What Ironic does with a spelling is found by trying it, so the test
// cannot pass by sending nonsense.
func TestSpellings(t *testing.T) {
	t.Parallel()
	// Inspections that last can be seen by the throttle.
	l := newLab(t, realironic.Options{Settings: map[string]map[string]string{"fake": {"inspect_delay": "600"}}})
	direct := l.newPass("direct~")
	plain := direct.spell(l.ironic.URL, everyOne)
	carried := direct.moved()
	count := 0
	for i, yes := range carried {
		if yes {
			count++
		} else if spellings[i].canonical {
			t.Errorf("%s is meant to be canonical, but Ironic does not carry it out: %s", spellings[i].name, plain[i])
		}
	}
	if count < 15 {
		t.Errorf("Ironic carries out %d spellings, want at least 15: the table is nonsense", count)
	}
	t.Logf("Ironic carries out %d of %d spellings", count, len(spellings))
	if len(spellings) < 100 {
		t.Errorf("%d spellings, want at least 100", len(spellings))
	}
	t.Run("NoSlot", func(t *testing.T) { spellNoSlot(t, l, carried, plain) })
	t.Run("FreeSlots", func(t *testing.T) { spellFreeSlots(t, l, carried) })
	t.Run("Observe", func(t *testing.T) { spellObserve(t, l, carried) })
}

// on is the same lab for a subtest.
func (l *lab) on(t *testing.T) *lab { return &lab{t, l.ironic, l.client} }

// spellNoSlot holds that without a free slot no node moves, however it is asked.
func spellNoSlot(t *testing.T, l *lab, carried []bool, plain []string) {
	l = l.on(t)
	taken := key("taken-")
	if err := l.ironic.AddNodes(t.Context(), realironic.Batch{Count: 1, Prefix: taken, State: "clean wait", AgentURL: true}); err != nil {
		t.Fatal(err)
	}
	full := serveGateway(t, l.ironic, append(soon, limitOne)...).settled()
	defer full.kill()
	p := l.newPass("full~")
	answers := p.spell(full.url, everyOne)
	for i, moved := range p.moved() {
		if moved {
			t.Errorf("%s got round the gate; the answer was %q to\n%q", spellings[i].name, answers[i], p.bytesOf(full.url, i))
		}
		if testing.Verbose() {
			t.Logf("%-40s Ironic: %-5v %-34q gateway: %q", spellings[i].name, carried[i], plain[i], answers[i])
		}
	}
	for _, o := range full.status().Slots.Occupants {
		if o.Kind == "granted" {
			t.Errorf("somebody got a slot that was not free: %+v", o)
		}
	}
}

// spellFreeSlots holds that with slots free, whatever is carried out takes one,
// and that nobody who writes clearly is refused.
func spellFreeSlots(t *testing.T, l *lab, carried []bool) {
	l = l.on(t)
	free := serveGateway(t, l.ironic, append(soon, roomForAll)...).settled()
	defer free.kill()
	p := l.newPass("free~")
	answers := p.spell(free.url, everyOne)
	free.awaitPolls(2, 0)
	shown := free.status().Slots.Occupants
	for i, moved := range p.moved() {
		s := spellings[i]
		holds := slices.ContainsFunc(shown, func(o api.Occupant) bool { return o.NodeUUID == p.uuids[i] && o.Kind == "granted" })
		if moved && !holds && s.state == "" {
			t.Errorf("%s was carried out without a slot; the answer was %q to\n%q", s.name, answers[i], p.bytesOf(free.url, i))
		}
		if s.canonical && carried[i] && !moved {
			t.Errorf("%s was not carried out though slots are free; the answer was %q to\n%q", s.name, answers[i], p.bytesOf(free.url, i))
		}
	}
}

// spellObserve holds that in mode observe all is carried out that Ironic would
// carry out, but for what no HTTP server of Go lets through.
func spellObserve(t *testing.T, l *lab, carried []bool) {
	l = l.on(t)
	observe := serveGateway(t, l.ironic, append(soon, limitOne, "IRONIC_THROTTLE_MODE=observe")...).settled()
	defer observe.kill()
	wanted := func(i int) bool { return carried[i] && !spellings[i].canonical && !spellings[i].smuggled }
	p := l.newPass("observe~")
	answers := p.spell(observe.url, wanted)
	for i, moved := range p.moved() {
		if wanted(i) && !moved && !unreadable(answers[i]) {
			t.Errorf("%s was not carried out; the answer was %q to\n%q", spellings[i].name, answers[i], p.bytesOf(observe.url, i))
		}
	}
}

// unreadable are the answers of Go's HTTP server to what is no HTTP, or more of it
// than it knows.
func unreadable(answer string) bool {
	return slices.ContainsFunc([]string{"400 Bad Request", "417 Expectation Failed", "501 Not Implemented", "505 HTTP Version Not Supported"},
		func(status string) bool { return strings.HasPrefix(answer, "HTTP/1.1 "+status) })
}
