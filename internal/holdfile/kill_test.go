package holdfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

var (
	kills    = flag.Int("holdfile.kills", 8, "how often to kill a process that saves")
	killSeed = flag.Uint64("holdfile.seed", 1, "of the moments")
	killOf   = flag.Int("holdfile.hosts", 300, "how many hosts it saves, all of which have a record at first")
)

// envHosts is killOf for the child.
const envHosts = "HOLDFILE_TEST_HOSTS"

// childSaves saves what a Book has to save, and says so on stdout: a line for each record
// before it is given to Save, and "ok" after. It ends when its stdin does.
func childSaves() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Println("begin")
	f, err := Open("holds.db", nil)
	if err != nil {
		fmt.Println("error", err)
		return
	}
	records, _, _ := f.Load()
	cfg := holdoff.DefaultConfig()
	cfg.Timeout = 1000 * time.Hour
	b, err := holdoff.New(cfg, nil)
	if err != nil {
		fmt.Println("error", err)
		return
	}
	b.Restore(time.Now(), records)
	hosts, err := strconv.Atoi(os.Getenv(envHosts))
	if err != nil {
		fmt.Println("error", err)
		return
	}
	for n := 0; ; n++ {
		now := time.Now()
		for range 1 + rand.IntN(5) {
			uuid := fmt.Sprint("host-", rand.IntN(hosts))
			if rand.IntN(4) == 0 {
				b.Gone(uuid)
				continue
			}
			b.Failed(now, holdoff.Failure{
				UUID: uuid, Name: "metal3~" + uuid, State: "deploy failed", Token: fmt.Sprint(os.Getpid(), n),
				Cause: strings.Repeat("x", rand.IntN(300)), Kind: holdoff.Deployment,
			})
		}
		batch := b.Unsaved(now)
		for _, r := range batch.Puts {
			data, _ := json.Marshal(r)
			fmt.Printf("put %s\n", data)
		}
		for _, uuid := range batch.Deletes {
			fmt.Println("delete", uuid)
		}
		if rand.IntN(4) == 0 {
			f.most = 0 // it is written anew with this one
		}
		if err := f.Save(batch); err != nil {
			fmt.Println("error", err)
			return
		}
		b.Saved(batch)
		fmt.Println("ok")
	}
}

// told is what a child has said that it saves.
type told struct {
	saved map[string]holdoff.Record // for certain
	doubt map[string]bool           // what a Save was on its way with
	count int                       // records that were saved
}

// run runs a child, kills it after some saves, and takes in what it has said.
func (w *told) run(t *testing.T, path string, saves int) {
	t.Helper()
	c := startChild(t, "saves", path)
	c.Env = append(c.Env, envHosts+"="+strconv.Itoa(*killOf))
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	oks := 0
	puts, deletes := map[string]holdoff.Record{}, map[string]bool{}
	for lines.Scan() { // also what it said before it was killed
		verb, text, _ := strings.Cut(lines.Text(), " ")
		switch verb {
		case "begin":
		case "put":
			r, err := holdoff.ParseRecord([]byte(text))
			if err != nil {
				if oks < saves {
					t.Errorf("%s: %v", text, err)
				}
				continue // its last words
			}
			puts[r.UUID] = r
		case "delete":
			deletes[text] = true
		case "ok":
			oks++
			w.count += len(puts) + len(deletes)
			for uuid, r := range puts {
				w.saved[uuid] = r
			}
			for uuid := range deletes {
				delete(w.saved, uuid)
			}
			clear(puts)
			clear(deletes)
		default:
			t.Errorf("child: %s", lines.Text())
		}
		if oks == saves {
			_ = c.Process.Kill()
		}
	}
	_ = c.Wait() // it was killed
	clear(w.doubt)
	for uuid := range puts {
		w.doubt[uuid] = true
	}
	for uuid := range deletes {
		w.doubt[uuid] = true
	}
}

// kill -9 of a process that saves all the time, again and again: the file can be read
// each time, holds what was saved, and no hold has become shorter.
func TestBO16_Kill9(t *testing.T) {
	d := newDesk(t)
	random := rand.New(rand.NewPCG(*killSeed, 0))
	w := &told{saved: map[string]holdoff.Record{}, doubt: map[string]bool{}}
	f := d.open()
	var all []holdoff.Record
	for n := range *killOf {
		r := record(fmt.Sprint("host-", n), since)
		all, w.saved[r.UUID] = append(all, r), r
	}
	d.save(f, nil, all...)
	d.close(f)
	torn := 0
	first := map[string]time.Time{} // t0 of each episode, as it was said first
	for n := range *kills {
		w.run(t, d.path, random.IntN(60))
		d.log.Reset()
		f := d.open()
		if d.says("INFO", "that is cut off") {
			torn++
		}
		records, known, err := f.Load()
		if err != nil || !known {
			t.Fatalf("kill %d: known %v, %v", n, known, err)
		}
		d.close(f)
		got := map[string]holdoff.Record{}
		for _, r := range records {
			got[r.UUID] = r
			e := r.Episodes[0]
			if at, ok := first[r.UUID+e.ID]; ok && e.Since.Before(at.Add(-time.Second)) {
				t.Errorf("kill %d: the hold of %s was since %v and is since %v", n, r.UUID, at, e.Since)
			} else if !ok {
				first[r.UUID+e.ID] = e.Since
			}
		}
		for uuid := range w.doubt { // either
			delete(w.saved, uuid)
			if r, ok := got[uuid]; ok {
				w.saved[uuid] = r
			}
		}
		if !maps.EqualFunc(w.saved, got, same) {
			t.Fatalf("kill %d: %s", n, cmp.Diff(w.saved, got))
		}
		if len(d.beside()) > 0 {
			t.Fatalf("kill %d: beside: %v\n%s", n, d.beside(), &d.log)
		}
	}
	t.Logf("%d kills, %d of them in the midst of a line; %d records saved, %d there at last", *kills, torn, w.count, len(w.saved))
}

// same is faster than cmp.Equal.
func same(a, b holdoff.Record) bool {
	one, _ := a.Line()
	other, _ := b.Line()
	return bytes.Equal(one, other)
}
