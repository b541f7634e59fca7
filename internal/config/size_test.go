package config

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestSizesAsText(t *testing.T) {
	for _, row := range []struct {
		text, shown string
		want        int64
	}{
		{"64MiB", "64MiB", 64 << 20},
		{"1KiB", "1KiB", 1024},
		{"1024", "1KiB", 1024},
		{"1025", "1025", 1025},
		{"512KiB", "512KiB", 512 << 10},
		{"1024KiB", "1MiB", 1 << 20},
		{"1048576", "1MiB", 1 << 20},
		{"1GiB", "1GiB", 1 << 30},
		{"1023MiB", "1023MiB", 1023 << 20},
		{" 0064MiB ", "64MiB", 64 << 20},
	} {
		c, _, err := load(t, "IRONIC_THROTTLE_GATEWAY_MAX_BODY="+row.text)
		if shown := c.Effective()["gatewayMaxBody"]; err != nil || int64(c.Gateway.MaxBody) != row.want || shown != row.shown {
			t.Errorf("%q: %d shown as %q (%v), want %d as %q", row.text, c.Gateway.MaxBody, shown, err, row.want, row.shown)
		}
	}
}

func TestSizesThatAreRefused(t *testing.T) {
	for _, text := range []string{
		"64MB", "64M", "64m", "64mib", "64Mib", "64 MiB", "64MiBs", "MiB", "MiBMiB", "64MiBKiB", "64B",
		"1.5MiB", "0.5GiB", "1e6", "0x10000", "1_000_000", "-1", "-0", "-64MiB", "+64MiB", "64,000", "٦٤MiB", "auto",
		"0", "1023", "1025MiB", "1TiB", "1073741825",
		"9223372036854775808", "8388608TiB", "16777216TiB", "18014398509481984KiB", strings.Repeat("9", 99),
	} {
		_, _, err := load(t, "IRONIC_THROTTLE_GATEWAY_MAX_BODY="+text)
		want := fmt.Sprintf("IRONIC_THROTTLE_GATEWAY_MAX_BODY=%s (environment): "+
			"must be a whole number of bytes, KiB, MiB, GiB or TiB, such as 65536 or 64MiB, 1KiB..1GiB", oneLine(quote(text)))
		if got := faults(err); !slices.Equal(got, []string{want}) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A size is a number or a text in every kind of file.
func TestSizesInFiles(t *testing.T) {
	const want = 96 << 20
	for _, row := range []struct{ path, body string }{
		{"f.yaml", "gatewayMaxBody: 100663296"},
		{"f.yaml", "gatewayMaxBody: 96MiB"},
		{"f.yaml", `gatewayMaxBody: "98304KiB"`},
		{"f.json", `{"gatewayMaxBody": 100663296}`},
		{"f.json", `{"gatewayMaxBody": "96MiB"}`},
		{"f.json", "{\n\t\"gatewayMaxBody\":\t\"96\\u004diB\"\n}\n"},
		{"f.toml", "gatewayMaxBody = 100_663_296"},
		{"f.toml", `gatewayMaxBody = "96MiB"`},
	} {
		c, _, err := loadFile(t, row.path, row.body)
		if c.Gateway.MaxBody != want || err != nil {
			t.Errorf("%s: %d, %v; want %d", row.body, c.Gateway.MaxBody, err, want)
		}
	}
	for _, row := range []struct{ path, body string }{
		{"f.yaml", "gatewayMaxBody: 100663296.5"},
		{"f.yaml", "gatewayMaxBody: [1]"},
		{"f.json", `{"gatewayMaxBody": 100663296.5}`},
		{"f.json", `{"gatewayMaxBody": 1e300}`},
		{"f.json", `{"gatewayMaxBody": -100663296}`},
		{"f.toml", "gatewayMaxBody = true"},
	} {
		_, _, err := loadFile(t, row.path, row.body)
		if got := faults(err); len(got) != 1 || !strings.HasPrefix(got[0], "IRONIC_THROTTLE_GATEWAY_MAX_BODY") {
			t.Errorf("%s: faults %q, want one of IRONIC_THROTTLE_GATEWAY_MAX_BODY", row.body, got)
		}
	}
}

// loadFile runs Load with a file of that name and body.
func loadFile(t *testing.T, path, body string) (Config, []string, error) {
	t.Helper()
	src := Sources{ReadFile: func(string) ([]byte, error) { return []byte(body), nil }}
	return loadFrom(t, src, endpoint, "IRONIC_THROTTLE_CONFIG="+path)
}

// The same grammar, read with numbers that cannot overflow.
var sizeText = regexp.MustCompile(`^([0-9]+)(|KiB|MiB|GiB|TiB)$`)

func bigSize(text string) *big.Int {
	m := sizeText.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	n, _ := new(big.Int).SetString(m[1], 10)
	n.Lsh(n, uint(10*slices.Index([]string{"", "KiB", "MiB", "GiB", "TiB"}, m[2])))
	if n.Cmp(big.NewInt(math.MaxInt64)) > 0 {
		return nil
	}
	return n
}

func FuzzSize(f *testing.F) {
	for _, text := range []string{
		"64MiB", "1048576", "0", "1023KiB", "64MB", "-1", "+1", "1.5GiB", "8388607TiB", "8388608TiB", "9223372036854775807",
		"9223372036854775808", "KiB", "", " 1", "00",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got byteSize
		ok := got.UnmarshalText([]byte(text)) == nil
		want := bigSize(text)
		if ok != (want != nil) || ok && want.Cmp(big.NewInt(int64(got))) != 0 {
			t.Fatalf("%q: %d, %t; want %v", text, got, ok, want)
		}
		if !ok {
			return
		}
		shown := got.String()
		var again byteSize
		if err := again.UnmarshalText([]byte(shown)); err != nil || again != got {
			t.Errorf("%d is shown as %q, which is %d, %v", int64(got), shown, int64(again), err)
		}
		for _, u := range sizeUnits {
			// The first unit that divides it is the largest.
			if got != 0 && got%u.bytes == 0 {
				if !strings.HasSuffix(shown, u.name) {
					t.Errorf("%d is shown as %q and not in %s", int64(got), shown, u.name)
				}
				break
			}
		}
	})
}
