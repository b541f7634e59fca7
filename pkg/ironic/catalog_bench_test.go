//go:build unix

package ironic

import (
	"encoding/json"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// cpu is the processor time of this process so far, with that of its garbage collector:
// on a machine that others use as well, the clock tells little.
func cpu(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// What the list of all nodes costs us, beside the same bytes in encoding/json's general
// form, page by page in the same run.
func BenchmarkDecodeFullList(b *testing.B) {
	const nodes = 100_000
	pages := fullList(nodes)
	var size int64
	for _, page := range pages {
		size += int64(len(page))
	}
	b.SetBytes(size)
	b.ReportAllocs()
	var ours, general time.Duration
	for b.Loop() {
		start := cpu(b)
		if c := read(b, pages); c.Len() != nodes {
			b.Fatal(c.Len())
		}
		ours += cpu(b) - start

		b.StopTimer()
		runtime.GC() // neither pays for the other's litter
		start = cpu(b)
		for _, page := range pages {
			var all map[string]any
			if err := json.Unmarshal(page, &all); err != nil {
				b.Fatal(err)
			}
		}
		general += cpu(b) - start
		runtime.GC()
		b.StartTimer()
	}
	b.ReportMetric(float64(general)/float64(ours), "x-json")
	b.ReportMetric(ours.Seconds()*1e3/float64(b.N), "cpu-ms/list")
	b.ReportMetric(float64(read(b, pages).Bytes())/nodes, "B/node")
}

func BenchmarkCatalogWith(b *testing.B) {
	c := read(b, fullList(100_000))
	changes := make([]Seen, 200)
	for i := range changes {
		changes[i] = Seen{UUID: c.At(i * 499).UUID, State: CleanWait, Seq: 1000}
	}
	b.ReportAllocs()
	for b.Loop() {
		if c.With(changes).At(0).State != CleanWait {
			b.Fatal("not changed")
		}
	}
}

func BenchmarkCatalogFind(b *testing.B) {
	c := read(b, fullList(100_000))
	uuids := make([]string, 1024)
	for i := range uuids {
		uuids[i] = c.At(i * 97).UUID
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if _, ok := c.Find(uuids[n%1024]); !ok {
			b.Fatal("not found")
		}
		n++
	}
}
