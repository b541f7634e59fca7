package simulate

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/measure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestGridNamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string
	}{
		{"--limit 0", []string{"--limit 0: must be 1 to 100000"}},
		{"--limit 5,5 --policy none", []string{"--limit 5: is given twice", `--policy "none": must be throttle, bmo, proposal or fifo`}},
		{"--policy=", []string{"--policy: must name at least one"}},
		{"--via x --hosts 0 --failing 2", []string{`--via "x": must be check or gateway`, "--hosts 0: must be 1 to 100000", "--failing 2: must be 0 to 1"}},
		{"--tenants 700", []string{"--tenants 700: must be 1 to 600"}},
		{"--work 5s-10s", []string{"--work 5s-10s: must be within 1m0s and 24h0m0s, or 0 for a whole life"}},
		{"--tenant-hosts 5,0", []string{"--tenant-hosts 0: must be at least 1 each"}},
		{"--trouble rain@1h+1m,bmo@1h", []string{`--trouble "rain@1h+1m": "rain" must be throttle, bmo or ironic`, `--trouble "bmo@1h": must be KIND@AT+FOR`}},
		{"--plot x.pdf", []string{"--plot x.pdf: must end in .svg, .png or .html"}},
		{"--plot nowhere/x.svg", []string{"--plot nowhere/x.svg: its folder must be there"}},
		{"--boot-capacity -2 --workers 0 --duration -1s", []string{"--boot-capacity -2", "--workers 0", "--duration -1s"}},
		{"--fail-tries 99 --errors-known 10 --old-errors -1", []string{"--fail-tries 99", "--errors-known 10", "--old-errors -1"}},
	} {
		g := DefaultGrid()
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		g.Flags(fs)
		if err := fs.Parse(strings.Fields(c.args)); err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		err := g.Validate()
		if err == nil {
			t.Errorf("%s: taken", c.args)
			continue
		}
		for _, want := range c.want {
			if strings.Count(err.Error(), want) != 1 {
				t.Errorf("%s: %q is not once in\n%v", c.args, want, err)
			}
		}
	}
}

func TestGridTakesDemosFlags(t *testing.T) {
	g := DefaultGrid()
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	g.Flags(fs)
	err := errors.Join(fs.Parse(strings.Fields("--hosts 9 --limit 2,3 --policy throttle,fifo --seed 1 --seed 2 --speed 100 --keep --trouble bmo@1h+5m")), g.Validate())
	if err != nil {
		t.Fatal(err)
	}
	storms := g.Storms()
	if len(storms) != 8 || storms[0].Limit != 2 || storms[1].Seed != 2 || storms[2].Policy != measure.PolicyFIFO || storms[7].Limit != 3 {
		t.Errorf("storms: %+v", storms)
	}
	if got := storms[0].Troubles; len(got) != 1 || got[0].String() != "bmo@1h0m0s+5m0s" {
		t.Errorf("troubles: %v", got)
	}
}

func TestTroubleReadsWhatItWrites(t *testing.T) {
	want := Trouble{Kind: TroubleIronic, At: 90 * time.Minute, For: 30 * time.Second}
	if got, err := ParseTrouble(want.String()); err != nil || got != want {
		t.Errorf("%v, %v", got, err)
	}
}

func TestFailedGoesByTheThrottle(t *testing.T) {
	r := func(p measure.Policy, peak int, why string) Result {
		return Result{Summary: measure.Summary{Policy: p, Limit: 10, PeakWorking: peak, Why: why}}
	}
	held, above := r(measure.PolicyThrottle, 10, ""), r(measure.PolicyThrottle, 11, "")
	bmo := r(measure.PolicyBMO, 12, "stopped")
	for i, c := range []struct {
		results []Result
		want    bool
	}{
		{[]Result{held}, false},
		{[]Result{held, bmo}, false},
		{[]Result{bmo}, true},
		{[]Result{r(measure.PolicyFIFO, 10, "")}, false},
		{[]Result{held, above}, true},
		{[]Result{r(measure.PolicyThrottle, 10, "stopped")}, true},
	} {
		if got := Failed(c.results); got != c.want {
			t.Errorf("case %d: %v, want %v", i, got, c.want)
		}
	}
}

func TestPictures(t *testing.T) {
	g := DefaultGrid()
	g.Hosts, g.Limits, g.Failing, g.Policies = 30, []int{3, 6}, 0.2, []string{"throttle", "proposal"}
	g.Plot = filepath.Join(t.TempDir(), "a.svg")
	results, err := g.Run(t.Context(), Output{Stdout: io.Discard, Stderr: io.Discard, Version: "v1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	draw := func(name string, results []Result) []byte {
		path := filepath.Join(t.TempDir(), name)
		g.Plot = path
		if err := g.writePicture("v1.2.3", results); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	svg, err := os.ReadFile(g.Plot)
	if err != nil {
		t.Fatal(err)
	}
	for in := xml.NewDecoder(bytes.NewReader(svg)); ; {
		if _, err := in.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("svg: %v", err)
		}
	}
	page := draw("a.html", results)
	for _, want := range []string{"Slots in use over time, limit 3, seed 1 (30 hosts", "Mean wait by tenant", "Mean wait by errors", "Makespan against limit", "ironic-throttle v1.2.3 simulate --hosts=30 --limit=3,6 --failing=0.2 --policy=throttle,proposal",
		"20 % of the hosts broken", "a network made for the limit", "each limit has a network made for it", "hosts gather errors", "limit 6", "proposal: really working", "hours"} {
		if !bytes.Contains(svg, []byte(want)) || !bytes.Contains(page, []byte(want)) {
			t.Errorf("%q is not in both pictures", want)
		}
	}
	for _, want := range []string{"<table>", "<svg", "ABOVE"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("%q is not in the page", want)
		}
	}
	one := results[:1] // a bitmap takes long under the race detector
	bitmap := draw("a.png", one)
	img, err := png.DecodeConfig(bytes.NewReader(bitmap))
	if err != nil || img.Width < 1000 || img.Height < 500 {
		t.Errorf("png: %+v, %v", img, err)
	}
	if !bytes.Equal(svg, draw("b.svg", results)) || !bytes.Equal(page, draw("b.html", results)) || !bytes.Equal(bitmap, draw("b.png", one)) {
		t.Error("drawn twice, and different")
	}
}

func TestPictureOfNothing(t *testing.T) {
	g := DefaultGrid()
	g.Hosts, g.Limits, g.Tenants, g.Duration = 1, []int{1}, 1, time.Nanosecond
	g.Plot = filepath.Join(t.TempDir(), "a.svg")
	if _, err := g.Run(t.Context(), Output{Stdout: io.Discard, Stderr: io.Discard}); err != nil {
		t.Fatal(err)
	}
}

func TestTableHasALimitBelowTheOther(t *testing.T) {
	var results []Result
	for limit := 1; limit <= 2; limit++ {
		for range 4 {
			results = append(results, Result{Summary: measure.Summary{Policy: measure.PolicyBMO, Limit: limit, PeakWorking: 2}})
		}
	}
	var out strings.Builder
	if err := WriteTable(&out, results); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Count(got, "policy") != 2 || strings.Count(got, "2 ABOVE") != 4 {
		t.Errorf("table:\n%s", got)
	}
}

func TestProgressLeavesShortRunsInPeace(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			var through atomic.Int64
			p := newProgress(Output{Stderr: &out, Terminal: terminal}, []Options{small()}, &through)
			<-time.After(quietFor - time.Millisecond)
			synctest.Wait()
			if out.Len() > 0 {
				t.Errorf("terminal %v: says %q", terminal, out.String())
			}
			through.Store(10)
			<-time.After(lineEvery)
			p.end()
			got := out.String()
			if !strings.Contains(got, " 25 %  10 of 40 hosts through") || strings.Contains(got, "█") != terminal {
				t.Errorf("terminal %v: says %q", terminal, got)
			}
			if terminal != strings.HasSuffix(got, "\r\x1b[K") {
				t.Errorf("terminal %v: leaves %q", terminal, got)
			}
		})
	}
}

// TestHeadingFits: the lines above a picture are within it, and play it again.
func TestHeadingFits(t *testing.T) {
	g, err := parse("--hosts 50 --limit 5,10 --seed 1,2 --tenant-weights tenant-1=3,tenant-2=0.5 --failing-cap 2 --work 10m-60m --errors-untold " +
		"--boot-capacity -1 --trouble bmo@1h+5m,throttle@2h+30s,ironic@3h+10m,bmo@4h+5m,throttle@5h+30s,ironic@6h+10m,bmo@7h+5m --plot x.svg --speed 3")
	if err != nil {
		t.Fatal(err)
	}
	results := []Result{{Seed: 1}, {Seed: 2}}
	lines := g.heading("", results)
	again, err := parse(strings.TrimPrefix(lines[0], "ironic-throttle dev simulate "))
	if err != nil {
		t.Fatalf("%v: %q", err, lines[0])
	}
	if diff := cmp.Diff(g.Storms(), func() []Options { again.Plot = g.Plot; return again.Storms() }()); diff != "" {
		t.Errorf("the flags of the heading play another storm:\n%s", diff)
	}
	style := headStyle()
	whole := strings.Join(wrapped(lines), " ")
	for _, line := range wrapped(lines) {
		if style.Width(line) > panelWidth-2*margin {
			t.Errorf("too wide: %q", line)
		}
	}
	for _, want := range []string{"Curves over time: seed 1.", "the mean of 2 seeds", "boots any number at once", "and 1 more"} {
		if !strings.Contains(whole, want) {
			t.Errorf("%q is not in %q", want, whole)
		}
	}
}
