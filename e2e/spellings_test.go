//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// The node of all spellings; each gets one of its own. A UUID is as long as any other, so lengths of bodies stay.
const spelledUUID, spelledName = "1be26c0b-03f2-4d2e-ae87-c02d7f33c123", "metal3~host-1"

// spelling is a way to write a provisioning request.
type spelling struct{ name, does, raw string }

// spellings are those of internal/gateway/classify, which says what Ironic does with each.
func spellings(t *testing.T) (all []spelling) {
	t.Helper()
	text, err := os.ReadFile("../internal/gateway/classify/testdata/spellings.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.Split(strings.TrimSpace(line), "\t")
		if strings.HasPrefix(line, "#") || len(parts) != 3 {
			continue
		}
		raw, err := strconv.Unquote(parts[2])
		if err != nil {
			t.Fatalf("%s: %v", parts[0], err)
		}
		all = append(all, spelling{parts[0], parts[1], raw})
	}
	if len(all) < 150 {
		t.Fatalf("%d spellings: the search is broken", len(all))
	}
	return all
}

// starts says whether Ironic starts work on a manageable node; sure where the node is named as it is.
func (s spelling) starts() (yes, sure bool) {
	node, target, _ := strings.Cut(s.does, " ")
	return slices.Contains([]string{"inspect", "provide", "clean"}, target), node == spelledUUID || node == spelledName
}

// spell makes a manageable node for each spelling, sends them all to an address, and tells which nodes have moved, and
// the first lines of the answers.
func (s *site) spell(all []spelling, prefix, address string) (uuids []string, moved []bool, answers []string) {
	s.Helper()
	prefix = "metal3~" + prefix
	batch := realironic.Batch{Count: len(all), Prefix: prefix, State: "manageable", Unmoved: true}
	if err := s.ironic.AddNodes(s.Context(), batch); err != nil {
		s.Fatal(err)
	}
	rows := func(what string) []string {
		return strings.Fields(sql(s.T, s.ironic, "SELECT "+what+" FROM nodes WHERE name LIKE '"+prefix+"%' ORDER BY name;"))
	}
	uuids, answers = rows("uuid"), make([]string, len(all))
	var sent sync.WaitGroup
	room := make(chan struct{}, 4)
	for i, one := range all {
		room <- struct{}{}
		sent.Go(func() {
			defer func() { <-room }()
			name := fmt.Sprintf("%s%06d", prefix, i+1)
			raw := strings.NewReplacer(spelledUUID, uuids[i], spelledName, name, strings.Replace(spelledName, "~", "%7E", 1), name,
				"ironic.example", strings.TrimPrefix(address, "http://")).Replace(one.raw)
			answers[i] = exchange(s.T, address, raw)
		})
	}
	sent.Wait()
	for _, untouched := range rows("provision_updated_at IS NULL AND provision_state = 'manageable'") {
		moved = append(moved, untouched != "1")
	}
	return uuids, moved, answers
}

// exchange writes bytes and reads until the other side has nothing more to say. Ironic moves a node before it answers.
func exchange(t *testing.T, address, raw string) (firstLine string) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Error(err)
		return ""
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, raw); err != nil {
		return err.Error() // hung up in the middle
	}
	var all bytes.Buffer
	chunk := make([]byte, 32<<10)
	for err == nil {
		var n int
		n, err = conn.Read(chunk)
		all.Write(chunk[:n])
		_ = conn.SetReadDeadline(time.Now().Add(time.Second)) // a second answer may come
	}
	line, _, _ := strings.Cut(all.String(), "\r\n")
	return line
}

// TestNoSpellingGetsRoundTheGate holds that nothing does that Ironic carries out, and that what internal/gateway/classify
// says of Ironic is so.
func TestNoSpellingGetsRoundTheGate(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"inspect_delay": "600"}) // so that the throttle sees who works
	all := spellings(t)
	_, carried, answers := s.spell(all, "d", s.ironic.URL)
	for i, one := range all {
		yes, sure := one.starts() // what else it is asked to do it may refuse
		if carried[i] && !yes || !carried[i] && yes && sure && !strings.Contains(answers[i], " 400 ") {
			t.Errorf("%s: that Ironic starts work is %v; it answers %s to %q", one.name, carried[i], answers[i], one.raw)
		}
	}
	t.Run("free slots", func(t *testing.T) { // what is carried out takes one
		s := &site{T: t, ironic: s.ironic}
		s.serve("MAX_CONCURRENT_PROVISIONING_HOSTS=1000")
		uuids, moved, answers := s.spell(all, "f", s.throttle.At.Gateway)
		polls := s.throttle.AwaitStatus("status", func(api.Status) bool { return true }).View.Polls
		st := s.throttle.AwaitStatus("two polls", func(st api.Status) bool { return st.View.Polls >= polls+2 })
		for i, one := range all {
			holds := slices.ContainsFunc(st.Slots.Occupants, func(o api.Occupant) bool { return o.NodeUUID == uuids[i] && o.Kind == "granted" })
			if moved[i] && !holds && strings.HasSuffix(one.does, " inspect") { // other work is soon over
				t.Errorf("%s was carried out without a slot; the answer was %q to %q", one.name, answers[i], one.raw)
			}
		}
		for _, i := range []int{0, 1} { // who writes clearly is not refused
			if !moved[i] {
				t.Errorf("%s was refused: %s", all[i].name, answers[i])
			}
		}
	})
	t.Run("no slot", func(t *testing.T) {
		s := &site{T: t, ironic: s.ironic}
		s.serve("MAX_CONCURRENT_PROVISIONING_HOSTS=1") // there are busy nodes enough
		_, moved, answers := s.spell(all, "n", s.throttle.At.Gateway)
		for i, one := range all {
			if moved[i] {
				t.Errorf("%s got round the gate; the answer was %q to %q", one.name, answers[i], one.raw)
			}
		}
	})
}
