package simulate

import (
	"bytes"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestGridNamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string
	}{
		{"--limit 0", []string{"--limit 0: must be 1 to 100000"}},
		{"--limit 5,5 --policy none", []string{"--limit 5: is given twice", `--policy "none": must be throttle or bmo`}},
		{"--policy=", []string{"--policy: must name at least one"}},
		{"--via x --hosts 0 --failing 2", []string{`--via "x": must be check or gateway`, "--hosts 0: must be 1 to 100000", "--failing 2: must be 0 to 1"}},
		{"--tenants 700", []string{"--tenants 700: must be 1 to 600"}},
		{"--work 5s-10s", []string{"--work 5s-10s: must be within 1m0s and 24h0m0s, or 0 for a whole life"}},
		{"--tenant-hosts 5,0", []string{"--tenant-hosts 0: must be at least 1 each"}},
		{"--trouble rain@1h+1m,bmo@1h", []string{`--trouble "rain@1h+1m": "rain" must be throttle, bmo or ironic`, `--trouble "bmo@1h": must be KIND@AT+FOR`}},
		{"--plot x.pdf", []string{"--plot x.pdf: must end in .svg or .html"}},
		{"--plot x.png", []string{"--plot x.png: must end in .svg or .html"}},
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
	err := errors.Join(fs.Parse(strings.Fields("--hosts 9 --limit 2,3 --policy throttle,bmo --seed 1 --seed 2 --speed 100 --keep --trouble bmo@1h+5m")), g.Validate())
	if err != nil {
		t.Fatal(err)
	}
	storms := g.Storms()
	if len(storms) != 8 || storms[0].Limit != 2 || storms[1].Seed != 2 || storms[2].Policy != measure.PolicyBMO || storms[7].Limit != 3 {
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
		{[]Result{held, above}, true},
		{[]Result{r(measure.PolicyThrottle, 10, "stopped")}, true},
	} {
		if got := Failed(c.results); got != c.want {
			t.Errorf("case %d: %v, want %v", i, got, c.want)
		}
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
