package ironic

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// fullList writes the pages of a list of n nodes as Ironic answers what a Catalog asks.
func fullList(n int) [][]byte {
	states := []State{Available, Active, Cleaning, Manageable}
	var pages [][]byte
	for from := 0; from < n; from += 1000 {
		b := bytes.NewBufferString(`{"nodes": [`)
		for i := from; i < min(n, from+1000); i++ {
			if i > from {
				b.WriteString(", ")
			}
			uuid := fmt.Sprintf("%08x-5e1d-4e90-8a3b-%012x", i*2654435761%(1<<32), i)
			fmt.Fprintf(b, `{"uuid": "%s", "name": "metal3~host-%06d", "provision_state": "%s", "boot_interface": "ipxe", "conductor_group": "rack%d", `+
				`"links": [{"href": "http://127.0.0.1:6385/v1/nodes/%s", "rel": "self"}, {"href": "http://127.0.0.1:6385/nodes/%s", "rel": "bookmark"}]}`,
				uuid, i, states[i%len(states)], i%40, uuid, uuid)
		}
		b.WriteString(`], "next": "http://127.0.0.1:6385/v1/nodes?marker=x"}`)
		pages = append(pages, b.Bytes())
	}
	return pages
}

// read takes pages into a Catalog as Client.Catalog does.
func read(tb testing.TB, pages [][]byte) *Catalog {
	tb.Helper()
	r := newRoll()
	for i, page := range pages {
		r.seq = uint64(i + 1)
		if _, err := decodeList(bytes.NewReader(page), r.row); err != nil {
			tb.Fatal(err)
		}
	}
	return r.done(0)
}

// entries returns all of a Catalog.
func entries(c *Catalog) []Entry {
	all := []Entry{}
	for i := range c.Len() {
		all = append(all, c.At(i))
	}
	return all
}

func TestCatalogTakesLittleMemory(t *testing.T) {
	whole(t)
	const nodes = 100_000
	pages := fullList(nodes)
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, most := heap(), int64(0)
	r := newRoll()
	for i, page := range pages {
		if _, err := decodeList(bytes.NewReader(page), r.row); err != nil {
			t.Fatal(err)
		}
		if i%10 == 9 {
			most = max(most, heap()-before)
		}
	}
	c := r.done(1000)
	most = max(most, heap()-before)
	r = nil //nolint:wastedassign // lets go of it
	own := heap() - before
	t.Logf("%d bytes a node, %d by its own count; at most %d KiB while it was read", own/nodes, c.Bytes()/nodes, most>>10)
	if own/nodes > 120 || c.Bytes()/nodes > 120 {
		t.Errorf("%d bytes a node, %d by its own count; want at most 120", own/nodes, c.Bytes()/nodes)
	}
	if d := own - c.Bytes(); d > own/10 || -d > own/10 {
		t.Errorf("it counts %d bytes, and takes %d", c.Bytes(), own)
	}
	if most-own > 40<<20 {
		t.Errorf("reading it took %d MiB more than it keeps", (most-own)>>20)
	}
	if n := testing.AllocsPerRun(100, func() { _ = c.At(4711) }); n != 0 {
		t.Errorf("At allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { c.Find("9B49C330-5E1D-4E90-8A3B-47485FD5DCB0") }); n != 0 {
		t.Errorf("Find allocates %v times", n)
	}
	runtime.KeepAlive(pages)
}

// Whatever is listed and seen, in whatever order, a Catalog shows what a list and a map
// would tell, and the Catalogs before it stay as they were.
func TestCatalogIsWhatWasListedAndObservedLater(t *testing.T) {
	states := rapid.SampledFrom([]State{"", Available, Active, Deploying, CleanWait, "state of 2030"})
	rapid.Check(t, func(rt *rapid.T) {
		uuid := rapid.Custom(func(rt *rapid.T) string {
			u := fmt.Sprintf("%08x-5e1d-4e90-8a3b-47485fd5dcb0", rapid.IntRange(0, 40).Draw(rt, "uuid")*0x0a0b0c0d%(1<<32))
			if rapid.Bool().Draw(rt, "upper") {
				u = strings.ToUpper(u)
			}
			return u
		})
		r := newRoll()
		var want []Entry
		at, seq := map[string]int{}, map[string]uint64{}
		for page := range rapid.IntRange(0, 4).Draw(rt, "pages") {
			r.seq = uint64(10 * (page + 1))
			var nodes []Node
			for range rapid.IntRange(0, 30).Draw(rt, "rows") {
				e := Entry{
					UUID: uuid.Draw(rt, "u"), Name: rapid.SampledFrom([]string{"", "a", "b~ä", "host-1"}).Draw(rt, "name"),
					State: states.Draw(rt, "state"), BootInterface: rapid.SampledFrom([]string{"", "ipxe"}).Draw(rt, "boot"),
					ConductorGroup: rapid.SampledFrom([]string{"", "rack1", "ipxe"}).Draw(rt, "group"),
				}
				nodes = append(nodes, Node{UUID: e.UUID, Name: e.Name, State: e.State, BootInterface: e.BootInterface, ConductorGroup: e.ConductorGroup})
				key := strings.ToLower(e.UUID)
				seq[key] = r.seq
				if i, ok := at[key]; ok {
					want[i] = e
					continue
				}
				at[key] = len(want)
				want = append(want, e)
			}
			if l, err := decodeList(bytes.NewReader(pageOf(nodes)), r.row); err != nil || l.rows != len(nodes) {
				rt.Fatal(l, err)
			}
		}
		c := r.done(0)
		for range rapid.IntRange(0, 3).Draw(rt, "patches") {
			before, old, words := entries(c), c, len(c.words.texts)
			var changes []Seen
			for range rapid.IntRange(0, 10).Draw(rt, "changes") {
				s := Seen{UUID: uuid.Draw(rt, "u"), State: states.Draw(rt, "state"), Seq: uint64(rapid.IntRange(0, 60).Draw(rt, "seq"))}
				changes = append(changes, s)
				if i, ok := at[strings.ToLower(s.UUID)]; ok && s.Seq > seq[strings.ToLower(s.UUID)] {
					want[i].State, seq[strings.ToLower(s.UUID)] = s.State, s.Seq
				}
			}
			c = old.With(changes)
			if diff := cmp.Diff(entries(c), entries(old.With(changes))); diff != "" || len(old.words.texts) != words {
				rt.Fatalf("the same changes lead elsewhere the second time (-first +second):\n%s", diff)
			}
			if diff := cmp.Diff(before, entries(old)); diff != "" {
				rt.Fatalf("a Catalog changed (-before +after):\n%s", diff)
			}
		}
		if diff := cmp.Diff(append([]Entry{}, want...), entries(c)); diff != "" {
			rt.Fatalf("(-want +got):\n%s", diff)
		}
		for key, i := range at {
			for _, u := range []string{key, strings.ToUpper(key)} {
				if got, ok := c.Find(u); !ok || got != i {
					rt.Fatalf("%s is at %d, %v; want %d", u, got, ok, i)
				}
			}
		}
		for _, name := range []string{"", "a", "b~ä", "host-1", "A", "nobody"} {
			got, ok := c.FindName(name)
			i := -1
			for k, e := range want {
				if name != "" && e.Name == name {
					i = k
					break
				}
			}
			if ok != (i >= 0) || ok && got != i {
				rt.Fatalf("name %q is at %d, %v; want %d", name, got, ok, i)
			}
		}
		if _, ok := c.Find("ffffffff-0000-0000-0000-000000000000"); ok {
			rt.Fatal("a stranger was found")
		}
	})
}
