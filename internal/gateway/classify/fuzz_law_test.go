package classify_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/classify"
)

// law is for all that a client may write into a connection: nothing goes
// round the gate, and the gate reads what Ironic will read.
func (w *passage) law(seen []passed, raw []byte) error {
	direct := messagesOf(raw)
	for i, p := range seen {
		if i == 0 && len(direct) > 0 {
			// What the client wrote counts too, if it is not what goes out.
			if err := p.judge(p.to.Ident, claimsOf(direct[0])); err != nil {
				return fmt.Errorf("as the client wrote it: %w", err)
			}
		}
		if p.upstream == nil {
			continue
		}
		out := messagesOf(p.upstream)
		if len(out) > 1 {
			return fmt.Errorf("one request became %d for Ironic:\n%q", len(out), p.upstream)
		}
		for _, m := range out {
			if !strings.HasPrefix(m.target, w.prefix) {
				return fmt.Errorf("it goes to %q", m.target)
			}
			m.target = strings.TrimPrefix(m.target, w.prefix)
			for _, field := range m.header {
				if strings.Contains(field[0], "_") || strings.EqualFold(field[0], "Upgrade") {
					return fmt.Errorf("Ironic gets the field %q", field)
				}
			}
			if err := p.judge(p.goesTo(), claimsOf(m)); err != nil {
				return fmt.Errorf("as Ironic gets it: %w\n%q", err, p.upstream)
			}
			if p.class == classify.Suspect && p.goesTo() == granted && !p.renames(m.target) {
				return fmt.Errorf("%q goes on as %q: more than the node is another", p.uri, m.target)
			}
		}
	}
	return nil
}

// renames reports whether a target is the one that came, but for the node.
func (p passed) renames(target string) bool {
	before, after, ok := strings.Cut(target, granted)
	return ok && strings.HasPrefix(p.uri, before) && strings.HasSuffix(p.uri[len(before):], after) &&
		unquote(p.uri[len(before):len(p.uri)-len(after)]) == p.to.Ident
}

// goesTo is the node that it may name when it goes on: of what starts no work, the one that it
// came with.
func (p passed) goesTo() string {
	if p.read.Free && p.read.Target != "unhold" {
		return p.to.Ident
	}
	return granted
}

// judge compares what the gate made of a request for a node with what it could start.
func (p passed) judge(node string, claims []claim) error {
	for _, c := range claims {
		switch {
		case p.class == classify.Passes:
			return fmt.Errorf("it passes, but may start %+v", c)
		case p.class == classify.Obscure:
			continue
		case node != c.node:
			return fmt.Errorf("gated as node %q, but may start %+v", node, c)
		case c.sure && p.read.Target != "" && string(p.read.Target) != c.targets[0]:
			return fmt.Errorf("gated as %+v, but Ironic takes %+v", p.read, c)
		}
		harmful := func(target string) bool { return !slices.Contains(harmless, target) }
		if p.read.Free && slices.ContainsFunc(c.targets, harmful) {
			return fmt.Errorf("let go as %+v, but may start %+v", p.read, c)
		}
	}
	return nil
}

// harmless are the targets that end work, or do not begin it.
var harmless = []string{"abort", "manage", "adopt", "unhold"}

// spelling is a request of which it is known what a real Ironic does with it.
type spelling struct {
	name         string
	node, target string // "" = nothing
	raw          []byte
}

func spellings(tb testing.TB) []spelling {
	tb.Helper()
	text, err := os.ReadFile("testdata/spellings.txt")
	if err != nil {
		tb.Fatal(err)
	}
	var all []spelling
	for line := range strings.Lines(string(text)) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || len(parts) != 3 {
			continue
		}
		raw, err := strconv.Unquote(parts[2])
		if err != nil {
			tb.Fatalf("%s: %v", parts[0], err)
		}
		s := spelling{name: parts[0], raw: []byte(raw)}
		s.node, s.target, _ = strings.Cut(strings.TrimPrefix(parts[1], "-"), " ")
		all = append(all, s)
	}
	if len(all) < 150 {
		tb.Fatalf("only %d spellings", len(all))
	}
	return all
}

// captured are requests recorded with a real Ironic.
func captured(tb testing.TB) [][]byte {
	tb.Helper()
	files, err := filepath.Glob("../../../testdata/ironic/*.http")
	if err != nil || len(files) < 20 {
		tb.Fatal(len(files), err)
	}
	var all [][]byte
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		_, text, _ = bytes.Cut(text, []byte("# request\n"))
		text, _, _ = bytes.Cut(text, []byte("\n# response"))
		head, body, _ := bytes.Cut(text, []byte("\n\n"))
		head = bytes.ReplaceAll(head, []byte("\n"), []byte("\r\n"))
		all = append(all, slices.Concat(head, []byte("\r\n\r\n"), bytes.TrimSpace(body)))
	}
	return all
}

// The reference is worth something only if it knows what a real Ironic does.
func TestReferenceKnowsTheRealIronic(t *testing.T) {
	for _, s := range spellings(t) {
		t.Run(s.name, func(t *testing.T) {
			messages := messagesOf(s.raw)
			if len(messages) == 0 && s.node == "" {
				return
			}
			if len(messages) == 0 {
				t.Fatal("no message")
			}
			var claims []claim
			for _, m := range messages {
				claims = append(claims, claimsOf(m)...)
			}
			matches := func(c claim) bool {
				return (c.node == s.node || c.node == "") &&
					(slices.Contains(c.targets, s.target) || slices.Contains(c.targets, unknowable))
			}
			if s.node != "" && slices.Contains(verbs, s.target) && !slices.ContainsFunc(claims, matches) {
				t.Errorf("Ironic does %s on %s; claims %+v", s.target, s.node, claims)
			}
			for _, c := range claims {
				if c.sure && (c.node != s.node || c.targets[0] != s.target) {
					t.Errorf("Ironic does %q on %q; sure is %+v", s.target, s.node, c)
				}
			}
		})
	}
}

func TestNoSpellingGoesRoundTheGate(t *testing.T) {
	for _, prefix := range []string{"", "/baremetal", "/a~b/nodes"} {
		w := newPassageTo(t, prefix)
		for _, s := range spellings(t) {
			t.Run(prefix+" "+s.name, func(t *testing.T) { w.spelled(t, s) })
		}
	}
}

func (w *passage) spelled(t *testing.T, s spelling) {
	t.Helper()
	seen := w.send(s.raw)
	if err := w.law(seen, s.raw); err != nil {
		t.Errorf("%q:\n%v", s.raw, err)
	}
	for _, p := range seen {
		if s.node == "" || p.class == classify.Obscure || strings.HasPrefix(s.name, "smuggled") {
			continue
		}
		if p.class == classify.Passes || p.to.Ident != s.node || p.read.Free && !slices.Contains(harmless, s.target) {
			t.Errorf("%q:\n%+v, but Ironic does %s on %s", s.raw, p, s.target, s.node)
		}
	}
}

// FuzzConnection gives the gate whatever a client may write.
func FuzzConnection(f *testing.F) {
	for _, s := range spellings(f) {
		f.Add(s.raw)
	}
	for _, raw := range captured(f) {
		f.Add(raw)
	}
	// No path, but Ironic looks behind the first slash.
	f.Add(wireText("PUT", "http:v1/nodes/x/states/provision", `{"target":"active"}`))
	// Decoded three times, by somebody to whom %% is no mistake.
	f.Add(wireText("PUT", "/v1/nodes/x%25%2532fstates/provision", `{"target":"active"}`))
	w := newPassage(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 32<<10 {
			return
		}
		if err := w.law(w.send(raw), raw); err != nil {
			t.Fatalf("%q:\n%v", raw, err)
		}
	})
}
