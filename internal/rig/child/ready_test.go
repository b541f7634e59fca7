package child

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestReadyFile(t *testing.T) {
	for name, tc := range map[string]struct{ line, want string }{
		"there later": {`echo up >&3; sleep 0.1; echo '{"api": "here"}' >$FILE; exec sleep 1000`, ""},
		"no JSON":     {`echo '{' >$FILE; echo up >&3; exec sleep 1000`, "not ready: context deadline exceeded (last: unexpected end of JSON input)"},
		"ended":       {`echo up >&3; exit 3`, "sh ended before it was ready: exit status 3\n"},
		"good end":    {`echo up >&3; exit 0`, "sh ended before it was ready: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "ready.json")
			p, _, _ := script(t, "FILE="+file+"; "+tc.line)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if name == "no JSON" {
				ctx, cancel = context.WithTimeout(ctx, 200*time.Millisecond)
				defer cancel()
			}
			var at struct{ API string }
			err := p.ReadyFile(ctx, file, &at)
			if tc.want == "" {
				if err != nil || at.API != "here" {
					t.Errorf("%+v, %v", at, err)
				}
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("error %v, want %s", err, tc.want)
			}
		})
	}
}
